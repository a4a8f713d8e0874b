// Where and how promptly a lane runs: it gets in the way of nobody, and nobody in its way.
#include "core/lane_scheduling.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace sallyport {

namespace {

// sched_setattr(2); glibc has it from 2.41 on.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
};

constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kSlice = 100'000;  // ns, the least that there is; the usual one is 1.4 ms here

}  // namespace

void AskForShortSlice() {
  SchedulingAttributes attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  // Reset on fork also takes a nice value below zero from the children, who are to keep it.
  if (attributes.policy != SCHED_OTHER || attributes.nice < 0) return;
  attributes.size = sizeof attributes;
  attributes.flags |= kResetOnFork;
  attributes.runtime = kSlice;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

bool WakeElsewhere(pid_t thread, cpu_set_t* allowed) {
  CPU_ZERO(allowed);
  // Refused by a machine that has more processors than the set.
  if (sched_getaffinity(thread, sizeof *allowed, allowed) != 0) return false;
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || !CPU_ISSET(here, allowed)) return false;
  cpu_set_t others = *allowed;
  CPU_CLR(here, &others);
  return CPU_COUNT(&others) > 0 && sched_setaffinity(thread, sizeof others, &others) == 0;
}

int AllowProcessors(pid_t thread, const cpu_set_t& allowed) {
  return sched_setaffinity(thread, sizeof allowed, &allowed) == 0 ? 0 : errno;
}

}  // namespace sallyport
