// Our ends of pipes, read and written without blocking; says when it is worth trying again. For
// runtimes whose own sockets do not take a pipe.
#include "core/watched_pipes.h"

#include <cerrno>
#include <iterator>
#include <utility>

namespace sallyport {

WatchedPipes& WatchedPipes::Instance() {
  static WatchedPipes* const instance = new WatchedPipes;
  return *instance;
}

WatchId WatchedPipes::Add(UniqueFd fd, PipeDirection direction,
                          std::shared_ptr<PipeListener> listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const WatchId id = next_id_++;
  const auto watch = std::make_shared<Watch>();
  watch->fd = WatchedFd(std::move(fd));
  watch->listener = std::move(listener);
  const Reactor::Interest interest = direction == PipeDirection::kToChild
                                         ? Reactor::Interest::kWritable
                                         : Reactor::Interest::kReadable;
  if (!watch->fd.Watch([this, id] { Tell(id); }, interest)) return 0;
  watches_[id] = watch;
  return id;
}

void WatchedPipes::Tell(WatchId id) {
  std::shared_ptr<PipeListener> listener;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = watches_.find(id);
    // A child that writes byte by byte must not fill its listener's queue.
    if (found == watches_.end() || std::exchange(found->second->told, true)) return;
    listener = found->second->listener;
  }
  listener->PipeReady(id);
}

// Before the try: what becomes ready after it has failed is told then.
std::shared_ptr<WatchedPipes::Watch> WatchedPipes::BeginTry(WatchId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = watches_.find(id);
  if (found == watches_.end()) return nullptr;
  found->second->told = false;
  return found->second;
}

int64_t WatchedPipes::Read(WatchId id, void* buffer, size_t size) {
  const std::shared_ptr<Watch> watch = BeginTry(id);
  return watch == nullptr ? -EBADF : ReadSome(watch->fd.get(), buffer, size);
}

int64_t WatchedPipes::Write(WatchId id, const void* bytes, size_t size) {
  const std::shared_ptr<Watch> watch = BeginTry(id);
  return watch == nullptr ? -EBADF : WriteSome(watch->fd.get(), bytes, size);
}

void WatchedPipes::Close(WatchId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watches_.erase(id);
}

void WatchedPipes::CloseAll(const PipeListener* listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = watches_.begin(); it != watches_.end();) {
    it = it->second->listener.get() == listener ? watches_.erase(it) : std::next(it);
  }
}

}  // namespace sallyport
