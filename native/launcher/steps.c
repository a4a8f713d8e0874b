// The steps that posix_spawn has no words for.
#include "steps.h"

#include <asm/errno.h>
#include <asm/ioctls.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#include "instructions.h"
#include "system.h"

#define AT_FDCWD (-100)
#define O_WRONLY 1
#define O_CLOEXEC 02000000
#define PRIO_PROCESS 0
#define IOPRIO_WHO_PROCESS 1

/* The highest processor number + 1 that an affinity can name here. */
#define MOST_PROCESSORS 8192
#define MOST_GROUPS 65536 /* NGROUPS_MAX */

/* Returns the number of bytes written, without a NUL. */
static uint32_t FormatDecimal(int64_t value, char* text) {
  char digits[20];
  uint32_t count = 0;
  uint32_t length = 0;
  uint64_t rest = value < 0 ? (uint64_t)-value : (uint64_t)value;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) text[length++] = '-';
  while (count > 0) text[length++] = digits[--count];
  return length;
}

static long SetLimit(uint64_t resource, uint64_t soft, uint64_t hard) {
  const uint64_t limit[2] = {soft, hard};
  return CALL4(__NR_prlimit64, 0, resource, limit, 0);
}

static long SetOomScoreAdjust(int64_t value) {
  char text[24];
  const uint32_t length = FormatDecimal(value, text);
  const long fd = CALL4(__NR_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return fd;
  const long written = CALL3(__NR_write, fd, text, length);
  CALL1(__NR_close, fd);
  return written < 0 ? written : 0;
}

static long SetCpuAffinity(const uint64_t* processors, uint32_t count) {
  static uint64_t mask[MOST_PROCESSORS / 64];
  for (uint32_t i = 0; i < count; ++i) {
    if (processors[i] >= MOST_PROCESSORS) return -EINVAL;
    mask[processors[i] / 64] |= (uint64_t)1 << (processors[i] % 64);
  }
  return CALL3(__NR_sched_setaffinity, 0, sizeof mask, mask);
}

static long SetGroups(const uint64_t* wanted, uint32_t count) {
  static uint32_t groups[MOST_GROUPS];
  if (count > MOST_GROUPS) return -EINVAL;
  for (uint32_t i = 0; i < count; ++i) groups[i] = (uint32_t)wanted[i];
  return CALL2(__NR_setgroups, count, groups);
}

static long SetUser(uint64_t uid) {
  const long refused = CALL3(__NR_setresuid, uid, uid, uid);
  if (refused < 0) return refused;
  /* Of a parent that is not root but may change ids (AmbientCapabilities= of systemd.exec(5)) these
   * outlive setresuid and exec, and would be the program's way back. Kernel 4.3; before there are
   * none. */
  const long kept = CALL5(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return kept == -EINVAL ? 0 : kept;
}

static long DieWithParent(uint64_t signal, uint64_t parent) {
  const long refused = CALL5(__NR_prctl, PR_SET_PDEATHSIG, signal, 0, 0, 0);
  if (refused < 0) return refused;
  /* The parent may have ended before the line above: then its death is never signalled. */
  return (uint64_t)CALL0(__NR_getppid) == parent ? 0 : -ESRCH;
}

static long WriteListenPid(char* text) {
  const uint32_t length = FormatDecimal(CALL0(__NR_getpid), text);
  text[length] = 0;
  return 0;
}

static long JoinCgroup(uint64_t procs) {
  /* 0 stands for the process that writes. */
  const long written = CALL3(__NR_write, procs, "0", 1);
  CALL1(__NR_close, procs);
  return written < 0 ? written : 0;
}

long TakeStep(uint32_t code, const uint64_t* a, uint32_t count, char* block) {
  switch (code) {
    case STEP_LIMIT:
      return SetLimit(a[0], a[1], a[2]);
    case STEP_UMASK:
      CALL1(__NR_umask, a[0]);
      return 0;
    case STEP_NICE:
      return CALL3(__NR_setpriority, PRIO_PROCESS, 0, a[0]);
    case STEP_IO_PRIORITY:
      return CALL3(__NR_ioprio_set, IOPRIO_WHO_PROCESS, 0, a[0]);
    case STEP_OOM_SCORE_ADJUST:
      return SetOomScoreAdjust((int64_t)a[0]);
    case STEP_CPU_AFFINITY:
      return SetCpuAffinity(a, count);
    case STEP_TERMINAL:
      return CALL3(__NR_ioctl, a[0], TIOCSCTTY, 0);
    case STEP_GROUPS:
      return SetGroups(a, count);
    case STEP_DROP_GROUPS:
      /* As libuv does: without the right to it, the ids are changed all the same. */
      SetGroups(a, 0);
      return 0;
    case STEP_GROUP:
      return CALL3(__NR_setresgid, a[0], a[0], a[0]);
    case STEP_USER:
      return SetUser(a[0]);
    case STEP_DIE_WITH_PARENT:
      return DieWithParent(a[0], a[1]);
    case STEP_CGROUP:
      return JoinCgroup(a[0]);
    case STEP_LISTEN_PID:
      return WriteListenPid(block + a[0]);
    default:
      return -ENOSYS;
  }
}
