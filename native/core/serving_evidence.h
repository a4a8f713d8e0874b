// What shows that a process is accepting, or may be, on a listener that it holds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace sallyport {

struct ServingEvidence {
  bool epoll = false;    // an epoll of the process watches it
  bool accept = false;   // a thread sits in accept(2) on it
  bool poll = false;     // a thread waits for it in poll(2) or select(2)
  bool unclear = false;  // a thread was running, or waits in a way that does not tell for what
  int refused = 0;       // errno: what the threads do is not readable
};

// One for each inode, at the cost of one look at the process, whatever their number.
std::vector<ServingEvidence> FindServingEvidence(pid_t pid, const std::vector<uint64_t>& inodes);

// /proc/<pid>/task/<tid>/syscall, proc_pid_syscall(5). Pure: any bytes give an answer or a refusal.
// False where the thread is in no system call.
struct ThreadCall {
  uint64_t number = 0;
  uint64_t arguments[6] = {};
};
bool ParseThreadCall(std::string_view text, ThreadCall* call);

}  // namespace sallyport
