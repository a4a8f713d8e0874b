// Parsers of what /proc prints about one process. Pure: any bytes give an answer or a refusal.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

// /proc/<pid>/stat, proc_pid_stat(5).
struct StatFacts {
  std::string command;  // at most 15 bytes, and any of them
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  int threads = 0;
  bool is_kernel_thread = false;
  bool is_exiting = false;  // it has closed its descriptors, or is about to
  // In the midst of an exec: its old program is gone, and the new one not loaded. Whoever waited
  // for the exec goes on from here, since vfork(2) lets go of the parent with the old memory; what
  // is close-on-exec is still open, and arguments and environment are empty.
  bool is_loading = false;
  uint64_t start_time = 0;  // clock ticks after boot
  // Where the program's code, stack and arguments lie: an exec changes at least one of them. Zero
  // to a reader who may not trace the process.
  std::array<uint64_t, 3> image{};
};
bool ParseStat(std::string_view text, StatFacts* facts);

// The effective uid in /proc/<pid>/status; -1 where there is none.
int64_t ParseEffectiveUid(std::string_view text);

// /proc/<pid>/fdinfo/<fd>, proc_pid_fdinfo(5).
struct FdinfoFacts {
  int64_t offset = 0;
  uint64_t inode = 0;              // 0 where the kernel does not print it (before 5.14)
  int mount = 0;                   // which mount the file is on; 0 where it is not printed
  int flags = 0;                   // with O_CLOEXEC where the descriptor is close-on-exec
  pid_t pidfd_target = 0;          // of a pidfd; -1: it has been reaped
  std::vector<std::string> locks;  // as in /proc/locks, without the number
  std::vector<int> epoll_targets;
};
// False where the two lines that every kernel prints are missing.
bool ParseFdinfo(std::string_view text, FdinfoFacts* facts);

// "socket:[123]" with prefix "socket:[" -> 123.
bool ParseInode(std::string_view target, std::string_view prefix, uint64_t* inode);

// Takes leading digits off `text`. False, with `text` unchanged, where there are none or the number
// does not fit. Bases 8, 10 and 16.
bool TakeNumber(std::string_view* text, uint64_t* number, unsigned base = 10);

// The next word, without the blanks around it; empty at the end.
std::string_view TakeWord(std::string_view* text);

// The next line, without its end.
std::string_view TakeLine(std::string_view* text);

}  // namespace sallyport
