// Descriptors that can be recognised again in another table: each is an object of its own.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "support/process_facts.h"

namespace sallyport {

// The ends of pipes: a pipe's text in /proc names its inode. Empty when the system refuses.
inline std::vector<UniqueFd> PipeEnds(size_t count) {
  std::vector<UniqueFd> ends;
  while (ends.size() < count) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) return {};
    ends.emplace_back(pair[0]);
    ends.emplace_back(pair[1]);
  }
  ends.resize(count);
  return ends;
}

inline std::string ObjectText(int fd) {
  return LinkText("/proc/thread-self/fd/" + std::to_string(fd));
}

}  // namespace sallyport
