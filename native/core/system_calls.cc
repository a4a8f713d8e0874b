// System calls that the C library of the oldest supported system (glibc 2.28) does not wrap.
#include "core/system_calls.h"

#include <linux/kcmp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

// The numbers are the same on every architecture since they were added (asm-generic/unistd.h).
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace sallyport {

namespace {

// struct pidfd_info of linux/pidfd.h (kernel 6.13, exit_code used since 6.15), absent from older
// headers. 64 bytes: PIDFD_INFO_SIZE_VER0, which every later kernel accepts.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroupid;
  uint32_t pid, tgid, ppid;
  uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64, "PIDFD_INFO_SIZE_VER0");

// struct open_how and the flags of linux/openat2.h, absent from older headers.
struct OpenHow {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};

constexpr uint64_t kResolveNoMagicLinks = 0x02;
constexpr uint64_t kResolveNoSymlinks = 0x04;
constexpr uint64_t kResolveBeneath = 0x08;

constexpr uint64_t kPidfdInfoExit = 1u << 3;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

}  // namespace

int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int PidfdSendSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

int WaitidWithUsage(idtype_t type, id_t id, siginfo_t* info, int options, struct rusage* usage) {
  return static_cast<int>(syscall(SYS_waitid, type, id, info, options, usage));
}

int PidfdExitStatus(int pidfd, int* status) {
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (ioctl(pidfd, kPidfdGetInfo, &info) != 0 || (info.mask & kPidfdInfoExit) == 0) return -1;
  *status = info.exit_code;
  return 0;
}

int PidfdGetfd(int pidfd, int fd) {
  return static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
}

int CompareTables(pid_t left, pid_t right) {
  return static_cast<int>(syscall(SYS_kcmp, left, right, KCMP_FILES, 0, 0));
}

int CompareFiles(pid_t left, int left_fd, pid_t right, int right_fd) {
  return static_cast<int>(syscall(SYS_kcmp, left, right, KCMP_FILE, left_fd, right_fd));
}

int OpenBeneath(int root, const char* path, int flags) {
  OpenHow how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = kResolveBeneath | kResolveNoSymlinks | kResolveNoMagicLinks;
  return static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
}

bool IsUnavailable(int errno_value) { return errno_value == ENOSYS || errno_value == EPERM; }

bool WaitIfPassing(int errno_value) {
  if (errno_value == EINTR) return true;
  if (errno_value != ENOMEM && errno_value != ENOBUFS) return false;
  const timespec pause = {0, 1'000'000};
  nanosleep(&pause, nullptr);
  return true;
}

}  // namespace sallyport
