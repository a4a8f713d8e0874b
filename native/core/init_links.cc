// The parent's side of the control sockets to inits: commands go out, reports come in.
#include "core/init_links.h"

#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

namespace sallyport {

InitLinks& InitLinks::Instance() {
  static InitLinks* const instance = new InitLinks;
  return *instance;
}

void InitLinks::Add(ChildId init, UniqueFd control, std::shared_ptr<InitListener> listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto link = std::make_unique<Link>();
  link->control = WatchedFd(std::move(control));
  link->listener = std::move(listener);
  // Where the reactor cannot watch it nothing could be heard: closed, it ends the run.
  if (link->control.Watch([this, init] { Receive(init); })) links_[init] = std::move(link);
}

void InitLinks::Send(ChildId init, LauncherCommand command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = links_.find(init);
  if (found == links_.end()) return;
  // Eight bytes into an empty buffer: whole, or the init is gone.
  send(found->second->control.get(), &command, sizeof command, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void InitLinks::Receive(ChildId init) {
  std::vector<LauncherReport> reports;
  std::shared_ptr<InitListener> listener;
  bool silent = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = links_.find(init);
    if (found == links_.end()) return;
    Link& link = *found->second;
    listener = link.listener;
    for (;;) {
      const ssize_t size =
          recv(link.control.get(), reinterpret_cast<char*>(&link.partial) + link.received,
               sizeof link.partial - link.received, MSG_DONTWAIT);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) break;
      if (size <= 0) {
        silent = true;
        break;
      }
      link.received += static_cast<size_t>(size);
      if (link.received < sizeof link.partial) continue;
      reports.push_back(link.partial);
      link.received = 0;
    }
    if (silent) links_.erase(found);
  }
  for (const LauncherReport& report : reports) listener->InitReported(init, report);
  if (silent) listener->InitSilent(init);
}

void InitLinks::Close(ChildId init) {
  const std::lock_guard<std::mutex> lock(mutex_);
  links_.erase(init);
}

void InitLinks::CloseAll(const InitListener* listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = links_.begin(); it != links_.end();) {
    it = it->second->listener.get() == listener ? links_.erase(it) : std::next(it);
  }
}

}  // namespace sallyport
