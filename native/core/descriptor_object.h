// What a descriptor is: the one classifier of the objects behind descriptors.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"

namespace sallyport {

// The names of src/objects/kind.ts, by KindName().
enum class ObjectKind {
  kFile,
  kDirectory,
  kSymlink,
  kPipe,
  kFifo,
  kSocket,
  kListener,
  kCharDevice,
  kTty,
  kBlockDevice,
  kMemfd,
  kPidfd,
  kEventfd,
  kEpoll,
  kInotify,
  kFanotify,
  kTimerfd,
  kSignalfd,
  kIoUring,
  kBpf,
  kNamespace,
  kOther,
};

enum class ObjectAccess { kRead, kWrite, kBoth, kNone };  // kNone: O_PATH

const char* KindName(ObjectKind kind);
const char* AccessName(ObjectAccess access);

struct SocketFacts {
  int family = 0;    // AF_*, socket(7)
  int type = 0;      // SOCK_*
  int protocol = 0;  // IPPROTO_*
  bool listening = false;
  std::string local;   // "127.0.0.1:80", "[::1]:80", "/run/x.sock", "@abstract", "" when unnamed
  std::string remote;  // likewise
};

struct DescriptorObject {
  ObjectKind kind = ObjectKind::kOther;
  ObjectAccess access = ObjectAccess::kNone;
  std::string target;  // what /proc/self/fd/N links to, proc_pid_fd(5)
  uint64_t dev = 0;
  uint64_t inode = 0;
  uint64_t mount = 0;  // which mount it is on, as in /proc/self/mountinfo; 0: not known
  int flags = 0;       // open file status flags, fcntl(2) F_GETFL
  std::optional<SocketFacts> socket;
};

// Pure: from the mode (stat(2)) and the text of the /proc link. A socket comes out as kSocket: only
// the socket itself, or the network's tables, can tell that it listens. `unlinked`: st_nlink is 0.
ObjectKind ClassifyObject(mode_t mode, const std::string& target, bool unlinked);

ObjectAccess AccessFromFlags(int flags);

// Whether a character device is a terminal, from its number: for a device that cannot be asked
// itself, as isatty(3) does.
bool IsTerminalDevice(dev_t device);

// Describes a descriptor of the calling thread's own table. Stage "descriptor"; EBADF.
Result<DescriptorObject> DescribeDescriptor(int fd);

}  // namespace sallyport
