// The private descriptor table of a spawner lane.
#include "core/lane_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace sallyport {

namespace {

constexpr unsigned kCloseRangeUnshare = 1u << 1;  // linux/close_range.h
constexpr int kControl = 3;

bool CloseRange(unsigned first, unsigned flags) {
  return syscall(SYS_close_range, first, ~0u, flags) == 0;
}

// Without close_range: by the list, never up to RLIMIT_NOFILE. Raw calls throughout: the numbers
// are those of a table that no tool around this process knows about.
bool CloseListed(int above) {
  DIR* const directory = opendir("/proc/thread-self/fd");
  if (directory == nullptr) return false;
  std::vector<int> numbers;
  while (const dirent* entry = readdir(directory)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd > above && fd != dirfd(directory)) numbers.push_back(fd);
  }
  for (int fd : numbers) syscall(SYS_close, fd);
  closedir(directory);
  return true;
}

}  // namespace

Result<LaneTable> IsolateTable(int* control) {
  // The copy ends at the control socket: what lies above is not even copied.
  if (!CloseRange(static_cast<unsigned>(*control) + 1, kCloseRangeUnshare) &&
      unshare(CLONE_FILES) != 0) {
    return LaneTable::kShared;
  }
  if (*control != kControl) {
    if (syscall(SYS_dup3, *control, kControl, O_CLOEXEC) < 0) {
      return SysError{"descriptor", errno, ""};
    }
    *control = kControl;
  }
  if (!CloseRange(kControl + 1, 0) && !CloseListed(kControl)) {
    return SysError{"descriptor", errno, "/proc/thread-self/fd"};
  }
  for (int standard = 0; standard <= 2; ++standard) syscall(SYS_close, standard);
  for (int standard = 0; standard <= 2; ++standard) {
    // The lowest free number is the one wanted. Without close-on-exec: a child's channel that is to
    // be /dev/null needs no step at all.
    if (syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR) != standard) {
      return SysError{"descriptor", errno, "/dev/null"};
    }
  }
  return LaneTable::kPrivate;
}

}  // namespace sallyport
