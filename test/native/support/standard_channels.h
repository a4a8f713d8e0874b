// A parent without some of its standard channels, for a while.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "core/unique_fd.h"

namespace sallyport {

class StandardChannelsClosed {
 public:
  // Bit n: n is closed.
  explicit StandardChannelsClosed(unsigned which) {
    for (int fd = 0; fd <= 2; ++fd) {
      if ((which & (1u << fd)) == 0) continue;
      // High up, so that the lowest numbers are free as they would be.
      saved_[static_cast<size_t>(fd)] = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 100));
      close(fd);
    }
  }
  ~StandardChannelsClosed() {
    for (int fd = 0; fd <= 2; ++fd) {
      const UniqueFd& saved = saved_[static_cast<size_t>(fd)];
      if (saved.valid()) dup2(saved.get(), fd);
    }
  }
  StandardChannelsClosed(const StandardChannelsClosed&) = delete;
  StandardChannelsClosed& operator=(const StandardChannelsClosed&) = delete;

 private:
  std::array<UniqueFd, 3> saved_;
};

}  // namespace sallyport
