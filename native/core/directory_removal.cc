// Removes a directory with all that is in it: no symlink is followed and no mount entered.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/beneath.h"
#include "core/private_directories.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { closedir(stream); }
};

// 0, or the errno.
int ListNames(int directory, std::vector<std::string>* names) {
  UniqueFd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return errno;
  const std::unique_ptr<DIR, CloseDirectory> stream(fdopendir(own.get()));
  if (stream == nullptr) return errno;
  static_cast<void>(own.release());
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names->emplace_back(name);
    errno = 0;
  }
  return errno;
}

bool SaysDirectory(int errno_value) { return errno_value == EISDIR || errno_value == EPERM; }

// Its owner may take a directory's permissions away from itself.
void Unlock(int parent, const std::string& name) {
  const UniqueFd directory(
      openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return;
  // fchmod(2) does not take an O_PATH descriptor.
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", directory.get());
  static_cast<void>(chmod(path, 0700));
}

/*
 * Flattens instead of descending: a directory that is found is moved up to the top, so that three
 * descriptors are enough for any depth, and no path grows. A mount point cannot be moved (EBUSY),
 * nor anything across filesystems (EXDEV), so neither is ever entered.
 */
class Removal {
 public:
  Removal(int top, int budget) : top_(top), budget_(budget) {}

  // 0: empty. EAGAIN: the budget is used up. Otherwise the errno of what would not go.
  int Run() {
    for (;;) {
      std::vector<std::string> names;
      const int failed = ListNames(top_, &names);
      if (failed != 0) return failed;
      if (names.empty()) return 0;
      progress_ = false;
      for (const std::string& name : names) {
        if (budget_ > 0) RemoveTopEntry(name);
      }
      // With nothing but refusals another call would see the same.
      if (budget_ <= 0) return progress_ || refused_ == 0 ? EAGAIN : refused_;
      if (!progress_) return refused_ == 0 ? ENOTEMPTY : refused_;
      refused_ = 0;
    }
  }

 private:
  void RemoveTopEntry(const std::string& name) {
    if (Unlink(top_, name)) return;
    // Moved once more, although it is at the top: a mount point refuses that, and is not entered.
    const std::string moved = MoveToTop(top_, name);
    if (moved.empty()) return;
    Unlock(top_, moved);
    const UniqueFd directory = OpenDirectoryBeneath(top_, moved, O_RDONLY);
    if (!directory.valid()) {
      refused_ = errno;
      return;
    }
    std::vector<std::string> names;
    const int failed = ListNames(directory.get(), &names);
    if (failed != 0) refused_ = failed;
    for (const std::string& below : names) {
      if (budget_ <= 0) return;
      if (!Unlink(directory.get(), below) && !MoveToTop(directory.get(), below).empty())
        progress_ = true;
    }
    if (unlinkat(top_, moved.c_str(), AT_REMOVEDIR) == 0) {
      progress_ = true;
    } else if (refused_ == 0) {
      refused_ = errno;
    }
  }

  // True where there is nothing more to do about it, for better or worse; false: a directory.
  bool Unlink(int parent, const std::string& name) {
    --budget_;
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) {
      progress_ = true;
      return true;
    }
    const int failed = errno;
    struct stat info;
    const bool is_directory = SaysDirectory(failed) &&
                              fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                              S_ISDIR(info.st_mode);
    if (!is_directory) refused_ = failed;
    return !is_directory;
  }

  // The new name; "" where it was refused.
  std::string MoveToTop(int parent, const std::string& name) {
    for (int tries = 0; tries < 1000; ++tries) {
      std::string moved = ".removed-" + std::to_string(next_++);
      // Onto its own name nothing is moved, a mount point neither.
      if (moved == name) continue;
      if (renameat(parent, name.c_str(), top_, moved.c_str()) == 0) return moved;
      if (errno == EACCES && tries == 0) {
        Unlock(parent, name);  // its `..` changes, which is a write to it
        continue;
      }
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR && errno != EINVAL) break;
    }
    refused_ = errno;
    return "";
  }

  const int top_;
  int budget_;
  long next_ = 0;
  int refused_ = 0;
  bool progress_ = false;
};

SysError Refusal(int errno_value, const std::string& path) {
  return SysError{"workspace", errno_value, path};
}

bool IsSame(int fd, const DirectoryIdentity& identity) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_dev == identity.device && info.st_ino == identity.inode;
}

}  // namespace

Result<bool> RemovePrivateDirectory(const std::string& root, const DirectoryIdentity& root_identity,
                                    const std::string& name, const DirectoryIdentity& identity,
                                    int budget) {
  const std::string path = root + "/" + name;
  const UniqueFd base(MoveAboveStandard(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
  if (!base.valid()) return Refusal(errno, root);
  if (!IsSame(base.get(), root_identity)) return Refusal(ESTALE, root);
  const UniqueFd parent = OpenDirectoryBeneath(base.get(), ParentOf(name), O_PATH);
  if (!parent.valid()) return Refusal(errno, path);
  const std::string leaf = NameOf(name);
  {
    const UniqueFd found = OpenDirectoryBeneath(parent.get(), leaf, O_PATH);
    if (!found.valid()) return Refusal(errno, path);
    if (!IsSame(found.get(), identity)) return Refusal(ESTALE, path);
  }
  Unlock(parent.get(), leaf);
  const UniqueFd directory = OpenDirectoryBeneath(parent.get(), leaf, O_RDONLY);
  if (!directory.valid()) return Refusal(errno, path);
  if (!IsSame(directory.get(), identity)) return Refusal(ESTALE, path);
  const int failed = Removal(directory.get(), budget).Run();
  if (failed == EAGAIN) return false;
  if (failed != 0) return Refusal(failed, path);
  if (unlinkat(parent.get(), leaf.c_str(), AT_REMOVEDIR) != 0) return Refusal(errno, path);
  return true;
}

}  // namespace sallyport
