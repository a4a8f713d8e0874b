// Reads one descriptor table in /proc: of a process, or of a thread that has its own.
#include "core/table_scan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "core/proc_directory.h"

namespace sallyport {

namespace {

// An epoll with ten thousand sockets prints 700 KB; what goes on for longer is cut off.
constexpr size_t kFdinfoLimit = size_t{1} << 21;

// What a descriptor permits, from the mode of its link: for a reader who may not see its flags.
ObjectAccess AccessFromLink(mode_t mode) {
  const bool reads = (mode & S_IRUSR) != 0;
  const bool writes = (mode & S_IWUSR) != 0;
  if (reads && writes) return ObjectAccess::kBoth;
  return reads ? ObjectAccess::kRead : writes ? ObjectAccess::kWrite : ObjectAccess::kNone;
}

bool HasName(ObjectKind kind) {
  return kind == ObjectKind::kFile || kind == ObjectKind::kDirectory ||
         kind == ObjectKind::kSymlink || kind == ObjectKind::kFifo ||
         kind == ObjectKind::kCharDevice || kind == ObjectKind::kTty ||
         kind == ObjectKind::kBlockDevice;
}

}  // namespace

int TableScan::Read(int directory, pid_t thread, std::vector<ScannedDescriptor>* descriptors) {
  const UniqueFd links = OpenDirectoryAt(directory, "fd");
  if (!links.valid()) return errno;
  const UniqueFd details = OpenDirectoryAt(directory, "fdinfo");
  if (!details.valid() && details_refused_ == 0) details_refused_ = errno;
  std::vector<int> numbers;
  const int refused = ListNumbers(links.get(), &numbers);
  // A process that has ended meanwhile lists nothing; the caller looks whether it has.
  if (refused != 0) return refused;
  std::sort(numbers.begin(), numbers.end());
  // A thread that has its own table has none of ours in it.
  const std::vector<int> none;
  const std::vector<int>& skipped = thread == 0 ? ours_ : none;
  if (!ours_.empty()) {
    ours_.push_back(links.get());
    ours_.push_back(details.get());
  }
  if (only_->empty()) descriptors->reserve(descriptors->size() + numbers.size());
  for (int number : numbers) {
    if (std::find(skipped.begin(), skipped.end(), number) != skipped.end()) continue;
    ScannedDescriptor descriptor;
    descriptor.fd = number;
    descriptor.thread = thread;
    const std::string name = std::to_string(number);
    if (ReadOne({links.get(), details.get()}, name.c_str(), &descriptor)) {
      descriptors->push_back(std::move(descriptor));
    }
    // Some systems list the numbers to a reader who may not see what they are.
    if (link_refused_ != 0) return link_refused_;
  }
  return 0;
}

// False: it is not open (any more), or none of those that were asked for.
bool TableScan::ReadOne(const Directories& directories, const char* name,
                        ScannedDescriptor* descriptor) {
  // Link and details are two reads, and between them the number may come to mean something else.
  // Where both tell the inode, they must agree.
  constexpr int kAttempts = 3;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    if (!ReadObject(directories.fd, name, descriptor)) return false;
    descriptor->locks.clear();
    descriptor->epoll_targets.clear();
    if (ReadDetails(directories, name, descriptor)) return true;
  }
  return false;
}

bool TableScan::ReadObject(int directory, const char* name, ScannedDescriptor* descriptor) {
  const int refused = ReadLinkAt(directory, name, &descriptor->target);
  if (refused != 0) {
    if (refused != ENOENT && refused != ESRCH) link_refused_ = refused;
    return false;
  }
  const std::string& target = descriptor->target;
  struct stat info = {};
  const bool is_socket = ParseInode(target, "socket:[", &descriptor->inode);
  if (is_socket || ParseInode(target, "pipe:[", &descriptor->inode)) {
    if (!only_->empty() && only_->count(descriptor->inode) == 0) return false;
    uint64_t& dev = is_socket ? socket_dev_ : pipe_dev_;
    if (dev == 0) {
      if (fstatat(directory, name, &info, 0) != 0) return false;
      dev = info.st_dev;
    }
    descriptor->dev = dev;
    descriptor->kind = is_socket ? ObjectKind::kSocket : ObjectKind::kPipe;
    return true;
  }
  if (!only_->empty()) return false;
  if (fstatat(directory, name, &info, 0) != 0) {
    if (errno == ENOENT || errno == ESRCH) return false;
    // A server that a network filesystem has lost answers nothing: the link is all there is.
    return true;
  }
  descriptor->dev = info.st_dev;
  descriptor->inode = info.st_ino;
  descriptor->kind = ClassifyObject(info.st_mode, target, info.st_nlink == 0);
  if (descriptor->kind == ObjectKind::kCharDevice && IsTerminalDevice(info.st_rdev)) {
    descriptor->kind = ObjectKind::kTty;
  }
  descriptor->deleted = info.st_nlink == 0 && HasName(descriptor->kind);
  return true;
}

bool TableScan::ReadDetails(const Directories& directories, const char* name,
                            ScannedDescriptor* descriptor) {
  FdinfoFacts facts;
  const int refused = ReadFileAt(directories.fdinfo, name, kFdinfoLimit, &text_);
  if (refused == ENOENT || refused == ESRCH) return false;
  if (refused != 0 || !ParseFdinfo(text_, &facts)) {
    if (details_refused_ == 0) details_refused_ = refused != 0 ? refused : EBADMSG;
    struct stat link = {};
    if (fstatat(directories.fd, name, &link, AT_SYMLINK_NOFOLLOW) != 0) return false;
    descriptor->access = AccessFromLink(link.st_mode);
    return true;
  }
  const bool tells_inode =
      descriptor->kind == ObjectKind::kSocket || descriptor->kind == ObjectKind::kPipe;
  if (tells_inode && facts.inode != 0 && facts.inode != descriptor->inode) return false;
  descriptor->close_on_exec = (facts.flags & O_CLOEXEC) != 0 ? 1 : 0;
  descriptor->flags = facts.flags & ~O_CLOEXEC;
  descriptor->access = AccessFromFlags(facts.flags);
  descriptor->offset = facts.offset;
  descriptor->pidfd_target = facts.pidfd_target;
  descriptor->locks = std::move(facts.locks);
  descriptor->epoll_targets = std::move(facts.epoll_targets);
  return true;
}

}  // namespace sallyport
