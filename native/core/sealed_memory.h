// Memory as a file that can be executed and, once sealed, not changed by anybody.
#pragma once

#include <string>

#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

// memfd_create(2); close-on-exec, above 2. Stage "descriptor".
Result<UniqueFd> OpenMemory(const std::string& name);

// F_ADD_SEALS, fcntl(2): no writing, shrinking, growing, and no unsealing. 0 or an errno value.
int SealMemory(int fd);

}  // namespace sallyport
