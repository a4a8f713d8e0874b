// Makes and removes directories for one owner below a directory that others may have filled.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace sallyport {

struct DirectoryIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
};

struct PrivateDirectory {
  DirectoryIdentity identity;
  // False: it was there before, and was ours.
  bool made = false;
};

// First the identity of `root`, then one for each name, in their order.
struct PrivateDirectories {
  DirectoryIdentity root;
  std::vector<PrivateDirectory> directories;
};

// `root` is followed as a path is; `names` (relative, a parent before what is in it) never through
// a symlink. Each is then a directory of mode 0700 that belongs to `owner` and `group`. One that is
// there must belong to `owner` or to us. Where one is refused, those that were made are removed
// again.
Result<PrivateDirectories> MakePrivateDirectories(const std::string& root,
                                                  const std::vector<std::string>& names,
                                                  uid_t owner, gid_t group);

// Removes what is in the directory and then itself, if it is still the same. Follows no symlink and
// enters no mount. At most about `budget` entries: false where there are more, to be called again.
Result<bool> RemovePrivateDirectory(const std::string& root, const DirectoryIdentity& root_identity,
                                    const std::string& name, const DirectoryIdentity& identity,
                                    int budget);

}  // namespace sallyport
