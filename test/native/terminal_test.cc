// The controlling terminal and job control, on a pseudo-terminal, each in a session of its own.
#include "core/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "core/unique_fd.h"

namespace sallyport {
namespace {

// The checks run in a child that leads a session with the terminal: it may give the terminal away
// and be stopped. Its exit code is the number of the line that failed, modulo 256.
#define EXPECT(condition) \
  if (!(condition)) return __LINE__ % 256

int InSession(const std::function<int(int terminal)>& body) {
  const UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY));
  if (!master.valid() || grantpt(master.get()) != 0 || unlockpt(master.get()) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    const int terminal = open(ptsname(master.get()), O_RDWR);
    signal(SIGHUP, SIG_IGN);
    _exit(terminal < 0 ? 255 : body(terminal));
  }
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// A child in a group of its own that waits to be ended.
pid_t StartGroup() {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    for (;;) pause();
  }
  setpgid(pid, pid);
  return pid;
}

int WaitForStop(pid_t pid) {
  siginfo_t info = {};
  // WNOWAIT leaves the stop for TakeStop.
  return waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT);
}

int End(pid_t pid) {
  kill(pid, SIGKILL);
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

TEST_CASE("a terminal is the controlling one of its session only") {
  CHECK(InSession([](int terminal) {
          EXPECT(IsControllingTerminal(terminal));
          EXPECT(!IsControllingTerminal(open("/dev/null", O_RDWR)));
          EXPECT(!IsControllingTerminal(-1));
          const int other = posix_openpt(O_RDWR | O_NOCTTY);
          EXPECT(grantpt(other) == 0 && unlockpt(other) == 0);
          EXPECT(!IsControllingTerminal(open(ptsname(other), O_RDWR | O_NOCTTY)));
          return 0;
        }) == 0);
}

TEST_CASE("the keyboard is given, and taken back from the background") {
  CHECK(InSession([](int terminal) {
          EXPECT(ForegroundGroup(terminal).value() == ProcessGroup());
          const pid_t child = StartGroup();
          EXPECT(SetForegroundGroup(terminal, child) == 0);
          EXPECT(ForegroundGroup(terminal).value() == child);
          EXPECT(SetForegroundGroup(terminal, ProcessGroup()) == 0);
          EXPECT(ForegroundGroup(terminal).value() == ProcessGroup());
          EXPECT(End(child) == SIGKILL);
          EXPECT(SetForegroundGroup(terminal, child) == ESRCH);
          EXPECT(!ForegroundGroup(-1).ok());
          return 0;
        }) == 0);
}

TEST_CASE("modes are restored, from the background too") {
  CHECK(InSession([](int terminal) {
          const Result<termios> before = SaveTerminalModes(terminal);
          EXPECT(before.ok());
          EXPECT((before.value().c_lflag & ECHO) != 0);
          termios silent = before.value();
          silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
          const pid_t child = StartGroup();
          EXPECT(SetForegroundGroup(terminal, child) == 0);
          EXPECT(RestoreTerminalModes(terminal, silent) == 0);
          EXPECT((SaveTerminalModes(terminal).value().c_lflag & ECHO) == 0);
          EXPECT(RestoreTerminalModes(terminal, before.value()) == 0);
          EXPECT((SaveTerminalModes(terminal).value().c_lflag & ECHO) != 0);
          EXPECT(End(child) == SIGKILL);
          EXPECT(RestoreTerminalModes(-1, silent) == EBADF);
          return 0;
        }) == 0);
}

TEST_CASE("SIGTTOU stays as it was in the calling thread") {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  CHECK(SetForegroundGroup(-1, getpgrp()) == EBADF);
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  CHECK(sigismember(&before, SIGTTOU) == sigismember(&after, SIGTTOU));
}

TEST_CASE("a stop is seen once, an exit is left to the reaper") {
  const pid_t child = StartGroup();
  CHECK(TakeStop(child) == 0);
  kill(child, SIGSTOP);
  REQUIRE(WaitForStop(child) == 0);
  CHECK(TakeStop(child) == SIGSTOP);
  CHECK(TakeStop(child) == 0);

  kill(child, SIGKILL);
  siginfo_t info = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(TakeStop(child) == 0);
  CHECK(End(child) == SIGKILL);
  CHECK(TakeStop(child) == 0);  // not our child any more
}

volatile sig_atomic_t handled = 0;
void Count(int) { handled = handled + 1; }

TEST_CASE("the default action happens beside a handler, which is there again afterwards") {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    struct sigaction action = {};
    action.sa_handler = Count;
    sigaction(SIGTSTP, &action, nullptr);
    RaiseDefault(SIGTSTP, SignalScope::kProcess);
    if (handled != 0) _exit(1);
    raise(SIGTSTP);
    if (handled != 1) _exit(2);
    RaiseDefault(SIGTERM, SignalScope::kGroup);
    _exit(3);
  }
  setpgid(child, child);
  REQUIRE(WaitForStop(child) == 0);
  CHECK(TakeStop(child) == SIGTSTP);
  kill(child, SIGCONT);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("ends with the code") {
  const pid_t child = fork();
  if (child == 0) ExitNow(42);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 42);
}

}  // namespace
}  // namespace sallyport
