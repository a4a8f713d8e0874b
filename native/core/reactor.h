// The reactor: the one native thread in the process's own descriptor table. It waits for
// descriptors and calls who asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/unique_fd.h"

namespace sallyport {

// One per process, never destroyed: its thread may be running while static destructors do.
class Reactor {
 public:
  using Token = uint64_t;  // never reused; 0 is none

  static Reactor& Instance();

  enum class Interest { kReadable, kWritable };

  // Calls `on_ready` on the reactor's thread whenever `fd` becomes so. Edge-triggered: once
  // for each change, so that what cannot be handled yet does not make it spin. Starts the thread at
  // first use. Returns 0, with errno set, where the system refuses.
  Token Add(int fd, std::function<void()> on_ready, Interest interest = Interest::kReadable);

  // Before close(fd): a child between clone and exec holds a copy of the descriptor, which would
  // keep the registration alive, and its events would come for ever. A call that runs already goes
  // on.
  void Remove(Token token, int fd);

  // Starts the thread if it does not run. False, with errno set, where the system refuses.
  bool Run();

  // Calls `task` once, soon, on the reactor's thread. After Run() only, as Tick().
  void Post(std::function<void()> task);

  // Calls `on_tick` about every 20 ms, on the reactor's thread, as long as it returns true.
  void Tick(std::function<bool()> on_tick);

  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

 private:
  Reactor() = default;
  bool EnsureRunning();
  void Loop();
  void Wake();
  bool RunTasks();  // true while there are ticks
  void RunTicks();

  std::mutex mutex_;  // guards the fields below
  bool running_ = false;
  UniqueFd epoll_;
  UniqueFd wake_;  // an eventfd: makes the loop look at tasks_ and ticks_
  Token next_token_ = 1;
  std::unordered_map<Token, std::shared_ptr<std::function<void()>>> handlers_;
  std::vector<std::function<void()>> tasks_;
  std::vector<std::function<bool()>> ticks_;
};

}  // namespace sallyport
