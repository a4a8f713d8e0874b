// UniqueFd: owns one descriptor and closes it exactly once.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace sallyport {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    // close(2) frees the number even when it fails with EINTR (Linux), so it is never repeated.
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// A parent may have closed its own 0, 1 or 2. What we open must not land there: a later `inherit`
// would hand our own descriptor to a child. Returns -1 with errno set when the move is refused.
inline int MoveAboveStandard(int fd) {
  if (fd < 0 || fd > 2) return fd;
  UniqueFd low(fd);
  return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

}  // namespace sallyport
