// Waits for what cannot be waited for by a system call: it looks again and again, up to a deadline.
#pragma once

#include <chrono>
#include <ctime>

namespace sallyport {

// Never reached in a run that passes, so that it may be far beyond what a loaded machine needs; but
// below the 45 s after which the kernel lets a held executable go by itself.
constexpr std::chrono::seconds kDeadline(30);

// False when the condition did not come true in time.
template <class Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    const timespec pause = {0, 500'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace sallyport
