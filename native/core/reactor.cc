// The reactor: the one native thread in the process's own descriptor table. It waits for
// descriptors and calls who asked.
#include "core/reactor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "core/thread.h"

namespace sallyport {

namespace {

constexpr Reactor::Token kWake = 0;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick(20);

// For epoll_wait(2), rounded up: never before the time.
int MillisecondsUntil(Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now());
  return std::max(0, static_cast<int>(left.count()));
}

}  // namespace

Reactor& Reactor::Instance() {
  static Reactor* const instance = new Reactor;
  return *instance;
}

bool Reactor::EnsureRunning() {
  if (running_) return true;
  if (!epoll_.valid()) epoll_.reset(MoveAboveStandard(epoll_create1(EPOLL_CLOEXEC)));
  if (!epoll_.valid()) return false;
  if (!wake_.valid()) {
    UniqueFd wake(MoveAboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = kWake;
    if (!wake.valid() || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
      return false;
    }
    wake_ = std::move(wake);
  }
  running_ = StartThread("sallyport-react", [this] { Loop(); });
  if (!running_) errno = EAGAIN;
  return running_;
}

Reactor::Token Reactor::Add(int fd, std::function<void()> on_ready, Interest interest) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!EnsureRunning()) return 0;
  const Token token = next_token_++;
  handlers_[token] = std::make_shared<std::function<void()>>(std::move(on_ready));
  epoll_event event = {};
  event.events = (interest == Interest::kWritable ? EPOLLOUT : EPOLLIN) | EPOLLET;
  // The token, not a pointer: an event that outlives its registration then finds nothing.
  event.data.u64 = token;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return token;
  const int refused = errno;
  handlers_.erase(token);
  errno = refused;
  return 0;
}

void Reactor::Remove(Token token, int fd) {
  const std::lock_guard<std::mutex> lock(mutex_);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  handlers_.erase(token);
}

bool Reactor::Run() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return EnsureRunning();
}

void Reactor::Post(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tasks_.push_back(std::move(task));
  Wake();
}

void Reactor::Tick(std::function<bool()> on_tick) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ticks_.push_back(std::move(on_tick));
  Wake();
}

void Reactor::Wake() {
  const uint64_t one = 1;
  // Fails only with EAGAIN: the counter is full, so that the loop is about to look anyway.
  const ssize_t written = write(wake_.get(), &one, sizeof one);
  static_cast<void>(written);
}

void Reactor::Loop() {
  constexpr int kBatch = 64;
  epoll_event events[kBatch];
  bool ticking = false;
  Clock::time_point next_tick;
  for (;;) {
    const bool ticked = ticking;
    ticking = RunTasks();
    if (ticking && !ticked) next_tick = Clock::now() + kTick;
    const int count =
        epoll_wait(epoll_.get(), events, kBatch, ticking ? MillisecondsUntil(next_tick) : -1);
    for (int i = 0; i < count; ++i) {
      std::shared_ptr<std::function<void()>> handler;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = handlers_.find(events[i].data.u64);
        if (found != handlers_.end()) handler = found->second;
      }
      if (handler != nullptr) (*handler)();
    }
    // By the clock: descriptors that are always busy must not keep the ticks from coming.
    if (ticking && Clock::now() >= next_tick) {
      RunTicks();
      next_tick = Clock::now() + kTick;
    }
  }
}

bool Reactor::RunTasks() {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    due.swap(tasks_);
  }
  for (const std::function<void()>& task : due) task();
  const std::lock_guard<std::mutex> lock(mutex_);
  return !ticks_.empty();
}

void Reactor::RunTicks() {
  std::vector<std::function<bool()>> due;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    due.swap(ticks_);
  }
  for (std::function<bool()>& tick : due) {
    if (!tick()) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    ticks_.push_back(std::move(tick));
  }
}

}  // namespace sallyport
