// Makes directories for one owner below a directory that others may have filled.
#include "core/private_directories.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/beneath.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

constexpr mode_t kOwnerOnly = 0700;

SysError Refusal(int errno_value, const std::string& root, const std::string& name) {
  return SysError{"workspace", errno_value, name.empty() ? root : root + "/" + name};
}

bool IsSame(const struct stat& info, const DirectoryIdentity& identity) {
  return info.st_dev == identity.device && info.st_ino == identity.inode;
}

// 0, or the errno.
int MakeOne(int root, const std::string& name, uid_t owner, gid_t group, PrivateDirectory* result) {
  const UniqueFd parent = OpenDirectoryBeneath(root, ParentOf(name), O_PATH);
  if (!parent.valid()) return errno;
  const std::string leaf = NameOf(name);
  if (mkdirat(parent.get(), leaf.c_str(), kOwnerOnly) == 0) {
    result->made = true;
  } else if (errno != EEXIST) {
    return errno;
  }
  // From here on by descriptor: the name may come to mean something else at any moment.
  const UniqueFd directory = OpenDirectoryBeneath(parent.get(), leaf, O_RDONLY);
  if (!directory.valid()) return errno;
  struct stat info;
  if (fstat(directory.get(), &info) != 0) return errno;
  result->identity = {info.st_dev, info.st_ino};
  if (info.st_uid != owner && info.st_uid != geteuid()) return EPERM;
  const bool changes = info.st_uid != owner || (result->made && info.st_gid != group);
  if (changes && fchown(directory.get(), owner, group) != 0) return errno;
  const bool is_open = (info.st_mode & 07777) != kOwnerOnly;
  if (is_open && fchmod(directory.get(), kOwnerOnly) != 0) return errno;
  return 0;
}

// Only what is still empty and still ours: best effort.
void TakeBack(int root, const std::vector<std::string>& names,
              const std::vector<PrivateDirectory>& made) {
  for (size_t i = made.size(); i-- > 0;) {
    if (!made[i].made) continue;
    const UniqueFd parent = OpenDirectoryBeneath(root, ParentOf(names[i]), O_PATH);
    struct stat info;
    const std::string leaf = NameOf(names[i]);
    if (!parent.valid() || fstatat(parent.get(), leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (IsSame(info, made[i].identity)) unlinkat(parent.get(), leaf.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

Result<PrivateDirectories> MakePrivateDirectories(const std::string& root,
                                                  const std::vector<std::string>& names,
                                                  uid_t owner, gid_t group) {
  const UniqueFd base(MoveAboveStandard(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  struct stat info;
  if (!base.valid() || fstat(base.get(), &info) != 0) return Refusal(errno, root, "");
  PrivateDirectories result;
  result.root = {info.st_dev, info.st_ino};
  for (const std::string& name : names) {
    PrivateDirectory directory;
    const int failed = MakeOne(base.get(), name, owner, group, &directory);
    result.directories.push_back(directory);
    if (failed != 0) {
      TakeBack(base.get(), names, result.directories);
      return Refusal(failed, root, name);
    }
  }
  // What was made first may have been exchanged while the others were made.
  for (size_t i = 0; i < names.size(); ++i) {
    const UniqueFd again = OpenDirectoryBeneath(base.get(), names[i], O_PATH);
    int failed = 0;
    if (!again.valid() || fstat(again.get(), &info) != 0) {
      failed = errno;
    } else if (!IsSame(info, result.directories[i].identity)) {
      failed = ESTALE;
    }
    if (failed == 0) continue;
    TakeBack(base.get(), names, result.directories);
    return Refusal(failed, root, names[i]);
  }
  return result;
}

}  // namespace sallyport
