// Signals to processes that are not our children.
#include "core/process_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/system_calls.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

constexpr int kStartTimeField = 22;

// 0 where it cannot be read: no process has that. errno says why.
uint64_t ReadStartTime(pid_t pid) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const UniqueFd stat(MoveAboveStandard(open(path, O_RDONLY | O_CLOEXEC)));
  if (!stat.valid()) return 0;
  errno = 0;
  char text[1024];
  const ssize_t length = read(stat.get(), text, sizeof text - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  // The name, field 2, stands in brackets and may itself hold blanks and brackets.
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < kStartTimeField; ++field) at = strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

}  // namespace

int SignalProcess(pid_t pid, uint64_t start_time, int signal) {
  const UniqueFd pidfd(MoveAboveStandard(PidfdOpen(pid)));
  if (!pidfd.valid() && !IsUnavailable(errno) && errno != EMFILE && errno != ENFILE) return errno;
  // In this order: what the descriptor stands for stays the same, whoever has the pid later.
  const uint64_t seen = ReadStartTime(pid);
  // That nothing more can be opened says nothing of the process.
  if (seen == 0 && (errno == EMFILE || errno == ENFILE)) return errno;
  if (seen != start_time) return ESRCH;
  if (pidfd.valid()) {
    if (PidfdSendSignal(pidfd.get(), signal) == 0) return 0;
    if (!IsUnavailable(errno)) return errno;
  }
  return kill(pid, signal) == 0 ? 0 : errno;
}

}  // namespace sallyport
