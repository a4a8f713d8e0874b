// Our ends of pipes, read and written without blocking; says when it is worth trying again. For
// runtimes whose own sockets do not take a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/pipes.h"
#include "core/unique_fd.h"
#include "core/watched_fd.h"

namespace sallyport {

using WatchId = uint64_t;  // never reused; 0 is none

// Told on the reactor's thread. Must not block for long and must not throw.
class PipeListener {
 public:
  virtual ~PipeListener() = default;
  virtual void PipeReady(WatchId) {}
};

// One per process, never destroyed. A pipe is used and closed on its listener's thread only, but
// for the end of that thread or of the process.
class WatchedPipes {
 public:
  static WatchedPipes& Instance();

  // `fd` is non-blocking, and owned from now on. The listener is told once when it is ready, at
  // once perhaps, and then once after each Read() or Write(). Returns 0, with errno set, where the
  // system refuses.
  WatchId Add(UniqueFd fd, PipeDirection direction, std::shared_ptr<PipeListener> listener);

  // As ReadSome() and WriteSome(); -EBADF where it is closed.
  int64_t Read(WatchId id, void* buffer, size_t size);
  int64_t Write(WatchId id, const void* bytes, size_t size);

  void Close(WatchId id);
  void CloseAll(const PipeListener* listener);

  WatchedPipes(const WatchedPipes&) = delete;
  WatchedPipes& operator=(const WatchedPipes&) = delete;

 private:
  struct Watch {
    WatchedFd fd;
    std::shared_ptr<PipeListener> listener;
    bool told = false;  // and has not tried since
  };

  WatchedPipes() = default;
  void Tell(WatchId id);
  std::shared_ptr<Watch> BeginTry(WatchId id);

  std::mutex mutex_;  // guards the fields below and `told` of each watch
  WatchId next_id_ = 1;
  std::unordered_map<WatchId, std::shared_ptr<Watch>> watches_;
};

}  // namespace sallyport
