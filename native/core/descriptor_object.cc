// What a descriptor is: the one classifier of the objects behind descriptors.
#include "core/descriptor_object.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/socket_facts.h"

namespace sallyport {

namespace {

constexpr std::array<const char*, 22> kKindNames = {
    "file",     "directory",   "symlink",   "pipe",         "fifo",    "socket",
    "listener", "char-device", "tty",       "block-device", "memfd",   "pidfd",
    "eventfd",  "epoll",       "inotify",   "fanotify",     "timerfd", "signalfd",
    "io_uring", "bpf",         "namespace", "other",
};
static_assert(kKindNames.size() == static_cast<size_t>(ObjectKind::kOther) + 1);

// Names of anonymous inodes as the kernel's own sources give them to anon_inode_getfd().
constexpr std::array<std::pair<std::string_view, ObjectKind>, 9> kAnonymousInodes = {{
    {"[pidfd]", ObjectKind::kPidfd},
    {"[eventfd]", ObjectKind::kEventfd},
    {"[eventpoll]", ObjectKind::kEpoll},
    {"inotify", ObjectKind::kInotify},
    {"[fanotify]", ObjectKind::kFanotify},
    {"[timerfd]", ObjectKind::kTimerfd},
    {"[signalfd]", ObjectKind::kSignalfd},
    {"[io_uring]", ObjectKind::kIoUring},
    {"bpf", ObjectKind::kBpf},  // bpf-map, bpf-prog, bpf-link, bpf_link …
}};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

ObjectKind ClassifyAnonymous(std::string_view target) {
  constexpr std::string_view kPrefix = "anon_inode:";
  if (StartsWith(target, kPrefix)) {
    const std::string_view name = target.substr(kPrefix.size());
    for (const auto& [known, kind] : kAnonymousInodes) {
      if (StartsWith(name, known)) return kind;
    }
  }
  return ObjectKind::kOther;
}

// "net:[4026531840]": nsfs files are regular by their mode and have no path.
bool IsNamespaceLink(std::string_view target) {
  const size_t colon = target.find(":[");
  return colon != std::string_view::npos && target.front() != '/' && target.back() == ']' &&
         !StartsWith(target, "anon_inode:");
}

std::string ReadLink(const char* path) {
  std::array<char, PATH_MAX> buffer;
  const ssize_t length = readlink(path, buffer.data(), buffer.size());
  return length < 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(length));
}

// statx(2); its number of the mount since kernel 5.8. 0 where it is not told.
uint64_t MountOf(int fd) {
#ifdef STATX_MNT_ID
  struct statx info = {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) != 0) return 0;
  return (info.stx_mask & STATX_MNT_ID) != 0 ? info.stx_mnt_id : 0;
#else
  static_cast<void>(fd);
  return 0;
#endif
}

}  // namespace

const char* KindName(ObjectKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

const char* AccessName(ObjectAccess access) {
  switch (access) {
    case ObjectAccess::kRead:
      return "read";
    case ObjectAccess::kWrite:
      return "write";
    case ObjectAccess::kBoth:
      return "both";
    case ObjectAccess::kNone:
      break;
  }
  return "none";
}

ObjectKind ClassifyObject(mode_t mode, const std::string& target, bool unlinked) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return ObjectKind::kDirectory;
    case S_IFLNK:
      return ObjectKind::kSymlink;
    case S_IFIFO:
      return StartsWith(target, "pipe:[") ? ObjectKind::kPipe : ObjectKind::kFifo;
    case S_IFSOCK:
      return ObjectKind::kSocket;
    case S_IFCHR:
      // The device itself can be asked only through a descriptor: see DescribeDescriptor().
      return StartsWith(target, "/dev/pts/") || StartsWith(target, "/dev/tty")
                 ? ObjectKind::kTty
                 : ObjectKind::kCharDevice;
    case S_IFBLK:
      return ObjectKind::kBlockDevice;
    case S_IFREG:
      // A memfd has no name in any directory; a file named "memfd:x" in the root has.
      if (unlinked && StartsWith(target, "/memfd:")) return ObjectKind::kMemfd;
      // pidfds have been regular files of their own filesystem since kernel 6.9.
      if (StartsWith(target, "anon_inode:") || StartsWith(target, "pidfd:")) {
        return StartsWith(target, "pidfd:") ? ObjectKind::kPidfd : ClassifyAnonymous(target);
      }
      return !target.empty() && IsNamespaceLink(target) ? ObjectKind::kNamespace
                                                        : ObjectKind::kFile;
    default:
      return ClassifyAnonymous(target);  // anonymous inodes have no type in their mode
  }
}

ObjectAccess AccessFromFlags(int flags) {
  if ((flags & O_PATH) != 0) return ObjectAccess::kNone;
  switch (flags & O_ACCMODE) {
    case O_RDONLY:
      return ObjectAccess::kRead;
    case O_WRONLY:
      return ObjectAccess::kWrite;
    default:
      return ObjectAccess::kBoth;
  }
}

bool IsTerminalDevice(dev_t device) {
  // Documentation/admin-guide/devices.txt of the kernel: tty, console and ptmx, pseudo-terminals,
  // serial lines by USB, by the processor itself and of hypervisors.
  const unsigned number = major(device);
  return number == 4 || number == 5 || (number >= 136 && number <= 143) || number == 166 ||
         number == 188 || number == 204 || number == 229;
}

Result<DescriptorObject> DescribeDescriptor(int fd) {
  DescriptorObject object;
  struct stat info;
  if (fstat(fd, &info) != 0) return SysError{"descriptor", errno, ""};
  object.flags = fcntl(fd, F_GETFL);
  if (object.flags < 0) return SysError{"descriptor", errno, ""};
  object.dev = info.st_dev;
  object.inode = info.st_ino;
  object.mount = MountOf(fd);
  object.access = AccessFromFlags(object.flags);
  char path[64];
  // The thread's own table, which differs from the process's on a spawner lane.
  snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
  object.target = ReadLink(path);
  object.kind = ClassifyObject(info.st_mode, object.target, info.st_nlink == 0);
  if (object.kind == ObjectKind::kCharDevice && (object.flags & O_PATH) == 0 && isatty(fd) == 1) {
    object.kind = ObjectKind::kTty;
  }
  if (object.kind == ObjectKind::kSocket) {
    object.socket = ReadSocketFacts(fd);
    if (object.socket->listening) object.kind = ObjectKind::kListener;
  }
  return object;
}

}  // namespace sallyport
