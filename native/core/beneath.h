// Opens directories below another one, never through a symlink.
#pragma once

#include <string>

#include "core/unique_fd.h"

namespace sallyport {

// `path` is relative, without `..`. openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; where
// it is missing, component by component with O_NOFOLLOW. A symlink on the way is ELOOP in both.
// `flags` beyond O_DIRECTORY, O_CLOEXEC and O_NOFOLLOW. -1 with errno set.
UniqueFd OpenDirectoryBeneath(int root, const std::string& path, int flags);

// Everything before the last `/`, and after it.
std::string ParentOf(const std::string& path);
std::string NameOf(const std::string& path);

}  // namespace sallyport
