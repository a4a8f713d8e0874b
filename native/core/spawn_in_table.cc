// Starts a request's program out of the calling thread's table, by itself or through the launcher.
#include "core/spawn_in_table.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <vector>

#include "core/death_signal.h"
#include "core/launcher_instructions.h"
#include "core/posix_spawner.h"
#include "core/process_look.h"
#include "core/system_calls.h"
#include "core/verify_child.h"
#include "launcher/instructions.h"

namespace sallyport {

namespace {

// A descriptor of the calling thread's table, which need not be the process's: closed by a raw
// call.
class TableFd {
 public:
  explicit TableFd(long fd) : fd_(static_cast<int>(fd)) {}
  TableFd(const TableFd&) = delete;
  TableFd& operator=(const TableFd&) = delete;
  ~TableFd() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

std::vector<DescriptorStep> OrderSteps(const LaunchRequest& request,
                                       const std::vector<DescriptorMove>& moves,
                                       TableOrigin origin) {
  return origin == TableOrigin::kLane ? OrderLaneSteps(moves, request.null_targets)
                                      : OrderDescriptorSteps(moves, request.null_targets);
}

// The two lowest numbers from 3 that the child's table does not use.
std::pair<int, int> FreeTargets(const LaunchRequest& request) {
  std::vector<int> used(request.null_targets);
  for (const DescriptorMove& move : request.descriptors) used.push_back(move.target);
  int found[2];
  int candidate = 3;
  for (int& number : found) {
    while (std::find(used.begin(), used.end(), candidate) != used.end()) ++candidate;
    number = candidate++;
  }
  return {found[0], found[1]};
}

Result<bool> WriteAll(int fd, const std::string& data) {
  for (size_t written = 0; written < data.size();) {
    const long count = syscall(SYS_write, fd, data.data() + written, data.size() - written);
    if (count < 0 && errno != EINTR) return SysError{"launcher", errno, ""};
    if (count > 0) written += static_cast<size_t>(count);
  }
  return true;
}

// What a step failed on, where that is not plain from its name: which limit, which id.
std::string Detail(const LauncherRefusal& refusal) {
  switch (refusal.step) {
    case STEP_LIMIT:
    case STEP_TERMINAL:
    case STEP_GROUP:
    case STEP_USER:
      return std::to_string(refusal.detail);
    default:
      return "";
  }
}

// A pipe; where the launcher is to hold it must also hear: a socket.
int OpenStatus(bool holds, int ends[2]) {
  return static_cast<int>(
      holds ? syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)
            : syscall(SYS_pipe2, ends, O_CLOEXEC));
}

// Nothing comes when the program runs: its exec closes the launcher's end.
bool ReadRefusal(int status, LauncherRefusal* refusal) {
  long count;
  do {
    count = syscall(SYS_read, status, refusal, sizeof *refusal);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<long>(sizeof *refusal);
}

// Signals the program to be, while its init is alive and only by a descriptor: nobody else is hit.
void EndHeld(pid_t started, const HeldChild& held) {
  if (held.pid == started) {
    kill(started, SIGKILL);
    return;
  }
  const TableFd pidfd(syscall(SYS_pidfd_open, held.pid, 0));
  if (pidfd.valid() && ParentOf(held.pid) == started) {
    syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
  // Without its init it hears the end of its status, and ends by that.
  kill(started, SIGKILL);
}

// Looks at the child that holds, and lets it go. On a refusal it has been ended.
Result<bool> LetGo(const LaunchRequest& request, const std::string& instructions, pid_t started,
                   int status, const LauncherRefusal& said,
                   const std::vector<DescriptorMove>& moves, std::string* evidence) {
  const HeldChild held = {said.errno_value, request.init ? started : getpid(), said.detail};
  Result<Verdict> verdict = VerifyHeld(request, instructions, held, moves);
  if (verdict.ok() && verdict.value().matches) {
    if (evidence != nullptr) *evidence = std::move(verdict.value().evidence);
    const char go = LAUNCHER_GO;
    // Without it the child would wait for ever. Where it has ended, its status says so.
    while (syscall(SYS_sendto, status, &go, 1, MSG_NOSIGNAL, nullptr, 0) < 0 &&
           WaitIfPassing(errno)) {
    }
    return true;
  }
  EndHeld(started, held);
  if (!verdict.ok()) return verdict.error();
  return SysError{"verify", 0, std::move(verdict.value().evidence)};
}

void Reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<pid_t> SpawnLauncher(const LaunchRequest& request, std::vector<DescriptorMove> moves,
                            TableOrigin origin, std::string* evidence) {
  const TableFd instructions(syscall(SYS_memfd_create, "sallyport-launch", 1u /* MFD_CLOEXEC */));
  if (!instructions.valid()) return SysError{"launcher", errno, ""};
  const std::string block = BuildInstructions(request);
  const Result<bool> written = WriteAll(instructions.get(), block);
  if (!written.ok()) return written.error();
  const bool holds = request.verification.when == Verification::When::kAtExec;
  int ends[2];
  if (OpenStatus(holds, ends) != 0) return SysError{"descriptor", errno, ""};
  const TableFd status(ends[0]);
  TableFd their_status(ends[1]);

  const auto [instructions_target, status_target] = FreeTargets(request);
  moves.push_back({instructions.get(), instructions_target});
  moves.push_back({their_status.get(), status_target});

  LaunchRequest launcher;
  launcher.executable = request.launcher;
  std::string arguments = "sallyport-launcher";
  for (int number : {instructions_target, status_target}) {
    arguments.push_back('\0');
    arguments += std::to_string(number);
  }
  arguments.push_back('\0');
  launcher.arguments = StringList(std::move(arguments));
  launcher.working_directory = request.working_directory;
  launcher.session = request.session;
  // An init gives the terminal to the program itself.
  if (!request.init) launcher.foreground_terminal = request.foreground_terminal;
  const Result<pid_t> pid = PosixSpawn(launcher, OrderSteps(request, moves, origin));
  if (!pid.ok()) {
    const SysError& error = pid.error();
    return SysError{
        error.errno_value != E2BIG && std::string(error.stage) == "exec" ? "launcher" : error.stage,
        error.errno_value, error.path};
  }
  their_status.Close();

  LauncherRefusal refusal;
  bool said = ReadRefusal(status.get(), &refusal);
  if (holds) {
    if (!said) {
      // It ended before it could hold.
      kill(pid.value(), SIGKILL);
      Reap(pid.value());
      return SysError{"launcher", ECHILD, ""};
    }
    if (refusal.step == STEP_HELD) {
      const Result<bool> gone =
          LetGo(request, block, pid.value(), status.get(), refusal, moves, evidence);
      if (!gone.ok()) {
        Reap(pid.value());
        return gone.error();
      }
      said = ReadRefusal(status.get(), &refusal);
    }
  }
  if (!said) return pid.value();
  // It ends by itself, and nobody else knows of it.
  Reap(pid.value());
  return SysError{StepStage(refusal.step), refusal.errno_value, Detail(refusal)};
}

}  // namespace

Result<pid_t> SpawnInTable(const LaunchRequest& request, const std::vector<DescriptorMove>& moves,
                           TableOrigin origin, std::string* evidence) {
  const bool looks_later = request.verification.when == Verification::When::kAfterExec;
  const auto look = [&](const Result<pid_t>& pid) {
    if (looks_later && pid.ok() && evidence != nullptr) {
      *evidence = LookAfterExec(request, pid.value());
    }
    return pid;
  };
  if (request.launcher.empty()) {
    return look(PosixSpawn(request, OrderSteps(request, moves, origin)));
  }
  if (!MaySignalAtDeath(request.steps)) return SysError{"dieWithParent", EPERM, ""};
  // As PosixSpawn does for a program that it starts itself: 1 + 2 + … + 32 ms.
  for (long wait_ms = 1;; wait_ms *= 2) {
    Result<pid_t> pid = SpawnLauncher(request, moves, origin, evidence);
    if (pid.ok() || pid.error().errno_value != ETXTBSY || wait_ms > 32) return look(pid);
    const timespec pause = {0, wait_ms * 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace sallyport
