// The controlling terminal and job control: what a shell does for its jobs, for the command line.
#include "core/terminal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport {

namespace {

// The kernel stops a background process that changes the terminal (SIGTTOU), unless the calling
// thread blocks the signal.
class TtouBlocked {
 public:
  TtouBlocked() {
    sigset_t ttou;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &ttou, &before_);
  }
  ~TtouBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  TtouBlocked(const TtouBlocked&) = delete;
  TtouBlocked& operator=(const TtouBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool IsControllingTerminal(int fd) {
  // tcgetsid(3) answers for the controlling terminal of the caller only.
  return tcgetsid(fd) == getsid(0);
}

Result<pid_t> ForegroundGroup(int fd) {
  const pid_t group = tcgetpgrp(fd);
  if (group < 0) return SysError{"terminal", errno, ""};
  return group;
}

int SetForegroundGroup(int fd, pid_t group) {
  const TtouBlocked blocked;
  return tcsetpgrp(fd, group) == 0 ? 0 : errno;
}

Result<termios> SaveTerminalModes(int fd) {
  termios modes;
  if (tcgetattr(fd, &modes) != 0) return SysError{"terminal", errno, ""};
  return modes;
}

int RestoreTerminalModes(int fd, const termios& modes) {
  const TtouBlocked blocked;
  // Not TCSADRAIN: after ^S there may be output that never drains.
  while (tcsetattr(fd, TCSANOW, &modes) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int TerminalColumns(int fd) {
  winsize size;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

ssize_t WriteTerminal(int fd, const void* bytes, size_t size) {
  const TtouBlocked blocked;
  return write(fd, bytes, size);
}

pid_t ProcessGroup() { return getpgrp(); }

int TakeStop(pid_t pid) {
  siginfo_t info;
  info.si_pid = 0;
  // Without WEXITED: an exit is the reaper's.
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG) != 0) return 0;
  return info.si_pid == 0 ? 0 : info.si_status;
}

void RaiseDefault(int signal, SignalScope scope) {
  struct sigaction before;
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  // Fails for SIGSTOP and SIGKILL, which cannot have a handler.
  const bool replaced = sigaction(signal, &standard, &before) == 0;
  sigset_t only;
  sigset_t mask;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, &mask);
  if (scope == SignalScope::kGroup) {
    // One call for all, so that a SIGCONT that answers the first stop cannot come before the last.
    kill(0, signal);
  } else {
    // To this thread: taken before the call returns.
    raise(signal);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (replaced) sigaction(signal, &before, nullptr);
}

void ExitNow(int code) { _exit(code); }

}  // namespace sallyport
