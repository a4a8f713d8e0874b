// The reaper: waits for children by pidfd, reaps each exactly once, and tells who asked.
#include "core/reaper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>
#include <vector>

#include "core/system_calls.h"
#include "core/thread.h"

#ifndef P_PIDFD  // kernel 5.4; glibc's header has it as an enumerator since 2.36
#define P_PIDFD 3
#endif

namespace sallyport {

namespace {

ExitStatus FromSiginfo(const siginfo_t& info, const struct rusage& usage) {
  ExitStatus status;
  status.usage = usage;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
    status.core_dumped = info.si_code == CLD_DUMPED;
  }
  return status;
}

ExitStatus FromWaitStatus(int wait_status) {
  ExitStatus status;
  if (WIFEXITED(wait_status)) {
    status.code = WEXITSTATUS(wait_status);
  } else {
    status.signal = WTERMSIG(wait_status);
    status.core_dumped = WCOREDUMP(wait_status);
  }
  return status;
}

// How long an init may take over ending what it has started, in milliseconds.
constexpr int kInitMayTake = 250;

void KillAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) == -1 && errno == EINTR) {
  }
}

// Killed at once, it would leave the program that it has started.
void EndInit(pid_t pid, UniqueFd* link) {
  link->reset();
  for (int i = 0; i < kInitMayTake; ++i) {
    if (waitpid(pid, nullptr, WNOHANG) != 0) return;
    // Its program may have stopped it.
    kill(pid, SIGCONT);
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  KillAndReap(pid);
}

}  // namespace

void EnsureChildrenWaitable() {
  struct sigaction action;
  if (sigaction(SIGCHLD, nullptr, &action) != 0) return;
  if (action.sa_handler == SIG_IGN) {
    action.sa_handler = SIG_DFL;
  } else if ((action.sa_flags & SA_NOCLDWAIT) == 0) {
    return;
  }
  action.sa_flags &= ~SA_NOCLDWAIT;
  sigaction(SIGCHLD, &action, nullptr);
}

Reaper& Reaper::Instance() {
  static Reaper* const instance = new Reaper;
  return *instance;
}

Result<ChildId> Reaper::Watch(pid_t pid, bool leads_group, bool keeps_zombie,
                              std::shared_ptr<ExitListener> listener, UniqueFd* init_link) {
  auto child = std::make_shared<Child>();
  child->pid = pid;
  child->leads_group = leads_group;
  child->keeps_zombie = keeps_zombie;
  child->listener = std::move(listener);
  // The pid cannot have been reused: only we may reap it, and we have not.
  child->pidfd = WatchedFd(UniqueFd(MoveAboveStandard(PidfdOpen(pid))));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    child->id = next_id_++;
    children_[child->id] = child;
  }
  if (child->pidfd.valid() && WatchByPidfd(child)) return child->id;
  child->pidfd.reset();
  if (WatchByThread(child)) return child->id;

  const int refused = errno;
  Forget(child->id);
  if (init_link != nullptr) {
    EndInit(pid, init_link);
  } else {
    KillAndReap(pid);
  }
  return SysError{"process", refused, ""};
}

bool Reaper::WatchByPidfd(const std::shared_ptr<Child>& child) {
  // Held until it is watched: the child may have ended already, and Reap() lets go of it.
  const std::lock_guard<std::mutex> lock(child->mutex);
  return child->pidfd.Watch([this, child] { Reap(child); });
}

bool Reaper::WatchByThread(const std::shared_ptr<Child>& child) {
  const bool started = StartThread("sallyport-wait", [this, child] {
    siginfo_t info;
    do {
      // Without reaping, so that Signal() and SignalGroup() still hold a valid pid meanwhile.
    } while (waitid(P_PID, static_cast<id_t>(child->pid), &info, WEXITED | WNOWAIT) != 0 &&
             errno == EINTR);
    Reap(child);
  });
  if (!started) errno = EAGAIN;
  return started;
}

void Reaper::Reap(const std::shared_ptr<Child>& child) {
  ExitStatus status;
  bool keeps_zombie = false;
  {
    const std::lock_guard<std::mutex> lock(child->mutex);
    if (child->told) return;
    const int options = WEXITED | WNOHANG | (child->keeps_zombie ? WNOWAIT : 0);
    siginfo_t info = {};
    struct rusage usage = {};
    int result = -1;
    errno = EINVAL;
    if (child->pidfd.valid()) {
      result = WaitidWithUsage(static_cast<idtype_t>(P_PIDFD),
                               static_cast<id_t>(child->pidfd.get()), &info, options, &usage);
    }
    // Kernel 5.3 has pidfd_open but not P_PIDFD; a container profile may refuse it too.
    if (result != 0 && errno != ECHILD) {
      result = WaitidWithUsage(P_PID, static_cast<id_t>(child->pid), &info, options, &usage);
    }
    if (result == 0 && info.si_pid == 0) return;

    int wait_status = 0;
    if (result == 0) {
      status = FromSiginfo(info, usage);
    } else if (child->pidfd.valid() && PidfdExitStatus(child->pidfd.get(), &wait_status) == 0) {
      status = FromWaitStatus(wait_status);
    } else {
      status.lost = true;
    }
    child->told = true;
    // A child that was lost leaves no zombie.
    keeps_zombie = child->keeps_zombie && result == 0;
    child->reaped = !keeps_zombie;
    child->pidfd.reset();
  }
  if (!keeps_zombie) Forget(child->id);
  child->listener->ChildExited(child->id, status);
}

void Reaper::Release(ChildId id) {
  const std::shared_ptr<Child> child = Find(id);
  if (child != nullptr) Release(child);
}

void Reaper::ReleaseAll(const ExitListener* listener) {
  std::vector<std::shared_ptr<Child>> children;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, child] : children_) {
      if (child->listener.get() == listener) children.push_back(child);
    }
  }
  for (const std::shared_ptr<Child>& child : children) Release(child);
}

void Reaper::Release(const std::shared_ptr<Child>& child) {
  {
    const std::lock_guard<std::mutex> lock(child->mutex);
    child->keeps_zombie = false;
    if (!child->told || child->reaped) return;
    siginfo_t info;
    while (waitid(P_PID, static_cast<id_t>(child->pid), &info, WEXITED) != 0 && errno == EINTR) {
    }
    child->reaped = true;
  }
  Forget(child->id);
}

int Reaper::Signal(ChildId id, int signal) {
  const std::shared_ptr<Child> child = Find(id);
  if (child == nullptr) return ESRCH;
  const std::lock_guard<std::mutex> lock(child->mutex);
  if (child->reaped) return ESRCH;
  if (child->pidfd.valid()) {
    if (PidfdSendSignal(child->pidfd.get(), signal) == 0) return 0;
    if (!IsUnavailable(errno)) return errno;
  }
  // The lock keeps the pid ours: it is not reaped while we hold it.
  return kill(child->pid, signal) == 0 ? 0 : errno;
}

int Reaper::SignalGroup(ChildId id, int signal) {
  const std::shared_ptr<Child> child = Find(id);
  if (child == nullptr) return ESRCH;
  const std::lock_guard<std::mutex> lock(child->mutex);
  // After the leader is reaped its number may name a group of strangers.
  if (child->reaped) return ESRCH;
  if (!child->leads_group) return EINVAL;
  return kill(-child->pid, signal) == 0 ? 0 : errno;
}

bool Reaper::Watches(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, child] : children_) {
    if (child->pid == pid) return true;
  }
  return false;
}

std::shared_ptr<Reaper::Child> Reaper::Find(ChildId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = children_.find(id);
  return found == children_.end() ? nullptr : found->second;
}

void Reaper::Forget(ChildId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  children_.erase(id);
}

}  // namespace sallyport
