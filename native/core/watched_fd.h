// WatchedFd: owns one descriptor that the reactor watches, and lets it go before it is closed.
#pragma once

#include <functional>
#include <utility>

#include "core/reactor.h"
#include "core/unique_fd.h"

namespace sallyport {

class WatchedFd {
 public:
  WatchedFd() = default;
  explicit WatchedFd(UniqueFd fd) : fd_(std::move(fd)) {}
  WatchedFd(WatchedFd&& other) noexcept
      : fd_(std::move(other.fd_)), token_(std::exchange(other.token_, 0)) {}
  WatchedFd& operator=(WatchedFd&& other) noexcept {
    if (this == &other) return *this;
    reset();
    fd_ = std::move(other.fd_);
    token_ = std::exchange(other.token_, 0);
    return *this;
  }
  WatchedFd(const WatchedFd&) = delete;
  WatchedFd& operator=(const WatchedFd&) = delete;
  ~WatchedFd() { reset(); }

  // Once, as Reactor::Add(). False, with errno set, where the system refuses.
  bool Watch(std::function<void()> on_ready,
             Reactor::Interest interest = Reactor::Interest::kReadable) {
    token_ = Reactor::Instance().Add(fd_.get(), std::move(on_ready), interest);
    return token_ != 0;
  }

  int get() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void reset() {
    if (token_ != 0) Reactor::Instance().Remove(std::exchange(token_, 0), fd_.get());
    fd_.reset();
  }

 private:
  UniqueFd fd_;
  Reactor::Token token_ = 0;
};

}  // namespace sallyport
