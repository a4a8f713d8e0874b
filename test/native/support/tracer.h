// Stops a thread of this process, or the next child that it starts before that runs at all.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/unique_fd.h"

namespace sallyport {

// By ptrace(2), from a process of its own: a process cannot trace its own threads.
class Tracer {
 public:
  Tracer() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
    ours_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    tracer_ = fork();
    if (tracer_ == 0) Serve(theirs.get());
    prctl(PR_SET_PTRACER, tracer_);  // where Yama is on; elsewhere it is refused and not needed
  }
  // Lets go of what is still stopped.
  ~Tracer() {
    ours_.reset();
    while (waitpid(tracer_, nullptr, 0) == -1 && errno == EINTR) {
    }
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // False when the system does not allow it.
  bool Stop(pid_t thread) { return Ask({Kind::kStop, thread}) == thread; }
  bool StopNextChild(pid_t thread) { return Ask({Kind::kStopNextChild, thread}) == thread; }
  // The child that is stopped now; waits for it. After StopNextChild().
  pid_t StoppedChild() { return Ask({Kind::kWaitForChild, 0}); }
  bool LetGo(pid_t thread_or_child) { return Ask({Kind::kLetGo, thread_or_child}) >= 0; }

 private:
  enum class Kind { kStop, kStopNextChild, kWaitForChild, kLetGo };
  struct Order {
    Kind kind;
    pid_t pid;
  };

  pid_t Ask(Order order) {
    pid_t answer = -1;
    if (send(ours_.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order) return -1;
    if (recv(ours_.get(), &answer, sizeof answer, 0) != sizeof answer) return -1;
    return answer;
  }

  [[noreturn]] static void Serve(int connection) {
    // Copies of the parent's would keep its pipes and sockets open.
    dup2(connection, 3);
    syscall(436, 4u, ~0u, 0u);  // close_range
    pid_t traced = -1;
    Order order;
    while (recv(3, &order, sizeof order, 0) == sizeof order) {
      pid_t answer = -1;
      switch (order.kind) {
        case Kind::kStop:
          if (ptrace(PTRACE_SEIZE, order.pid, nullptr, nullptr) == 0 &&
              ptrace(PTRACE_INTERRUPT, order.pid, nullptr, nullptr) == 0 &&
              waitpid(order.pid, nullptr, __WALL) == order.pid) {
            answer = order.pid;
          }
          break;
        case Kind::kStopNextChild: {
          const long options = PTRACE_O_TRACEVFORK | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE;
          if (ptrace(PTRACE_SEIZE, order.pid, nullptr, options) == 0) {
            traced = answer = order.pid;
          }
          break;
        }
        case Kind::kWaitForChild: {
          // The thread stops at the event; the child is traced from its first instruction.
          unsigned long child = 0;
          if (waitpid(traced, nullptr, __WALL) == traced &&
              ptrace(PTRACE_GETEVENTMSG, traced, nullptr, &child) == 0 &&
              waitpid(static_cast<pid_t>(child), nullptr, __WALL) == static_cast<pid_t>(child)) {
            ptrace(PTRACE_DETACH, traced, nullptr, nullptr);
            answer = static_cast<pid_t>(child);
          }
          break;
        }
        case Kind::kLetGo:
          answer = ptrace(PTRACE_DETACH, order.pid, nullptr, nullptr) == 0 ? order.pid : -1;
          break;
      }
      send(3, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    _exit(0);
  }

  UniqueFd ours_;
  pid_t tracer_ = -1;
};

}  // namespace sallyport
