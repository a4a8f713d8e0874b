// Signals to processes that are not our children.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sallyport {

// Sends a signal to the process of this pid that was started at this time (field 22 of
// /proc/<pid>/stat, clock ticks since boot), and to no other that came to the same pid. Returns 0
// or an errno value; ESRCH where there is no such process.
int SignalProcess(pid_t pid, uint64_t start_time, int signal);

}  // namespace sallyport
