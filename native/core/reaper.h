// The reaper: waits for children by pidfd, reaps each exactly once, and tells who asked.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/result.h"
#include "core/watched_fd.h"

namespace sallyport {

using ChildId = uint64_t;  // never reused, unlike a pid

struct ExitStatus {
  int code = -1;   // exit status, or -1 when a signal ended the child
  int signal = 0;  // the signal that ended the child, or 0
  bool core_dumped = false;
  bool lost = false;         // somebody else reaped the child and its status is unknown
  struct rusage usage = {};  // zero where the status did not come from our own wait
};

// Told on a native thread. Must not block for long and must not throw.
class ExitListener {
 public:
  virtual ~ExitListener() = default;
  virtual void ChildExited(ChildId id, const ExitStatus& status) = 0;
};

// One per process, never destroyed: its callers' threads may outlive static destructors.
// Reaping depends on no JavaScript object: a listener that has gone away only hears nothing.
class Reaper {
 public:
  static Reaper& Instance();

  // Takes charge of a child of this process that nobody else waits for. `leads_group`: the child is
  // the leader of a process group of its own. `keeps_zombie`: once it has ended it is not reaped
  // before Release(), so that its pid, and the group and session of that number, can name nobody
  // else. On failure the child has been killed and reaped; an init, whose link to us is given then,
  // has been told to end by the end of that, and given the time to end its program first.
  Result<ChildId> Watch(pid_t pid, bool leads_group, bool keeps_zombie,
                        std::shared_ptr<ExitListener> listener, UniqueFd* init_link = nullptr);

  // Its number is not needed any longer: reaps the child, now or when it ends.
  void Release(ChildId id);
  // The same for all children of one listener.
  void ReleaseAll(const ExitListener* listener);

  // Whether this process has a child of that pid in its charge.
  bool Watches(pid_t pid);

  // Each returns 0 or an errno value; ESRCH once the child has been reaped. A pid that was reused
  // is never signalled.
  int Signal(ChildId id, int signal);
  int SignalGroup(ChildId id, int signal);

  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

 private:
  struct Child {
    ChildId id;
    pid_t pid;
    bool leads_group;
    std::shared_ptr<ExitListener> listener;
    bool keeps_zombie;
    std::mutex mutex;   // guards keeps_zombie and below, and that the pid is ours while it is held
    WatchedFd pidfd;    // invalid: the system refuses pidfds, a thread waits for this child
    bool told = false;  // the listener has heard; a zombie may still be kept
    bool reaped = false;
  };

  Reaper() = default;
  bool WatchByPidfd(const std::shared_ptr<Child>& child);
  bool WatchByThread(const std::shared_ptr<Child>& child);
  // Tells of the end of the child and reaps it, where it has ended.
  void Reap(const std::shared_ptr<Child>& child);
  void Release(const std::shared_ptr<Child>& child);
  std::shared_ptr<Child> Find(ChildId id);
  void Forget(ChildId id);

  std::mutex mutex_;  // guards the fields below
  std::unordered_map<ChildId, std::shared_ptr<Child>> children_;
  ChildId next_id_ = 1;
};

// A process that ignores SIGCHLD (a disposition that survives exec) has its children reaped by the
// kernel, their statuses gone. Called before the first launch.
void EnsureChildrenWaitable();

}  // namespace sallyport
