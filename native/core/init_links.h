// The parent's side of the control sockets to inits: commands go out, reports come in.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/reaper.h"
#include "core/unique_fd.h"
#include "core/watched_fd.h"
#include "launcher/instructions.h"

namespace sallyport {

// Told on the reactor's thread. Must not block for long and must not throw. Who launches no init
// need not listen.
class InitListener {
 public:
  virtual ~InitListener() = default;
  virtual void InitReported(ChildId, const LauncherReport&) {}
  virtual void InitSilent(ChildId) {}  // nothing more comes
};

// One per process, never destroyed. A link that is closed ends what is left of its run: the init
// takes it for the end of its parent.
class InitLinks {
 public:
  static InitLinks& Instance();

  void Add(ChildId init, UniqueFd control, std::shared_ptr<InitListener> listener);
  void Send(ChildId init, LauncherCommand command);
  // Ends its run, whoever listens; nobody hears more of it. Nothing happens where it is not there.
  void Close(ChildId init);
  void CloseAll(const InitListener* listener);

  InitLinks(const InitLinks&) = delete;
  InitLinks& operator=(const InitLinks&) = delete;

 private:
  struct Link {
    WatchedFd control;
    std::shared_ptr<InitListener> listener;
    LauncherReport partial;  // bytes of a report that has not come whole
    size_t received = 0;
  };

  InitLinks() = default;
  void Receive(ChildId init);

  std::mutex mutex_;  // guards the field below
  std::unordered_map<ChildId, std::unique_ptr<Link>> links_;
};

}  // namespace sallyport
