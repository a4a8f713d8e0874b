// Files without a name that live in memory, memfd_create(2).
#pragma once

#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

// Close-on-exec and above 2, for reading and writing. Stage "descriptor".
Result<UniqueFd> OpenMemoryFile(const char* name);

}  // namespace sallyport
