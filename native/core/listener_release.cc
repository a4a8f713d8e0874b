// Frees the port of a listener that another process holds, without ending that process.
#include "core/listener_release.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "core/process_scan.h"
#include "core/system_calls.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

SysError Refused(const char* step, int errno_value) {
  return SysError{"release", errno_value, step};
}

// A duplicate of this socket of the process that started then.
Result<UniqueFd> TakeSocket(pid_t pid, uint64_t start_time, int fd, uint64_t inode) {
  const UniqueFd process(MoveAboveStandard(PidfdOpen(pid)));
  if (!process.valid()) return Refused("pidfd_open", errno);
  // Read after the pidfd was opened: if it is the process that we mean, the pidfd is its.
  ScanRequest request;
  request.pids = {pid};
  request.facts_only = true;
  const ScannedProcess now = ScanProcesses(request).front();
  if (now.refusal != ScanRefusal::kNone) return Refused("pidfd_open", now.errno_value);
  if (now.facts.start_time != start_time) return Refused("pidfd_open", ESRCH);
  UniqueFd copy(MoveAboveStandard(PidfdGetfd(process.get(), fd)));
  if (!copy.valid()) return Refused("pidfd_getfd", errno);
  struct stat info;
  if (fstat(copy.get(), &info) != 0) return Refused("fstat", errno);
  if (info.st_ino != inode || !S_ISSOCK(info.st_mode)) return Refused("fstat", ENOENT);
  return copy;
}

}  // namespace

Result<bool> ShutDownListener(int fd) {
  int listens = 0;
  socklen_t length = sizeof listens;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) {
    return Refused("getsockopt", errno);
  }
  if (listens == 0) return Refused("getsockopt", EINVAL);
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) {
    return Refused("setsockopt", errno);
  }
  if (shutdown(fd, SHUT_RDWR) != 0) return Refused("shutdown", errno);
  return true;
}

Result<bool> ReleaseListener(pid_t pid, uint64_t start_time, int fd, uint64_t inode) {
  const Result<UniqueFd> copy = TakeSocket(pid, start_time, fd, inode);
  return copy.ok() ? ShutDownListener(copy.value().get()) : Result<bool>(copy.error());
}

Result<bool> ReusesAddress(pid_t pid, uint64_t start_time, int fd, uint64_t inode) {
  const Result<UniqueFd> copy = TakeSocket(pid, start_time, fd, inode);
  if (!copy.ok()) return copy.error();
  int reuses = 0;
  socklen_t length = sizeof reuses;
  if (getsockopt(copy.value().get(), SOL_SOCKET, SO_REUSEADDR, &reuses, &length) != 0) {
    return Refused("getsockopt", errno);
  }
  return reuses != 0;
}

}  // namespace sallyport
