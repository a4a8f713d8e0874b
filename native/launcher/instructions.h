// What the addon tells the launcher: the layout of one block of memory that both map.
//
// A header, then steps, then the program. All numbers are those of this machine: the block never
// leaves it. Offsets count from the start of the block.
#ifndef SALLYPORT_LAUNCHER_INSTRUCTIONS_H
#define SALLYPORT_LAUNCHER_INSTRUCTIONS_H

#include <stdint.h>

#define LAUNCHER_MAGIC 0x73706c31u /* "spl1": raised when the layout changes */

/* Each step is one word with its code (below) and the number of its arguments, and then these. */
enum LauncherStep {
  STEP_EXEC = 0,             /* not in the list: what comes after it */
  STEP_LIMIT = 1,            /* resource, soft, hard: prlimit(2) */
  STEP_UMASK = 2,            /* mask: umask(2) */
  STEP_NICE = 3,             /* value, -20 to 19: setpriority(2) */
  STEP_IO_PRIORITY = 4,      /* class and level: ioprio_set(2) */
  STEP_OOM_SCORE_ADJUST = 5, /* -1000 to 1000: proc_pid_oom_score_adj(5) */
  STEP_CPU_AFFINITY = 6,     /* processors…: sched_setaffinity(2) */
  STEP_TERMINAL = 7,         /* descriptor: TIOCSCTTY, ioctl_tty(2) */
  STEP_GROUPS = 8,           /* gids…: setgroups(2) */
  STEP_GROUP = 9,            /* gid: setresgid(2) */
  STEP_USER = 10,            /* uid: setresuid(2) */
  STEP_DIE_WITH_PARENT = 11, /* signal, pid of the parent: PR_SET_PDEATHSIG, prctl(2) */
  STEP_LISTEN_PID = 12,      /* offset of 20 bytes that take our own pid in decimal */
  STEP_INSTRUCTIONS = 13,    /* not in the list: reading this block */
};

struct LauncherHeader {
  uint32_t magic;
  uint32_t size;       /* of the whole block, in bytes */
  uint32_t step_words; /* 64-bit words after this header */
  uint32_t executable; /* offset of a string */
  uint32_t argv;       /* offset of a list of 64-bit offsets that ends with 0 */
  uint32_t envp;       /* likewise */
};

#define STEP_WORD(code, count) ((uint64_t)(code) | (uint64_t)(count) << 32)

/* What the launcher writes to its status pipe when a step is refused. Nothing: the program runs. */
struct LauncherRefusal {
  uint32_t step;
  int32_t errno_value;
  uint64_t detail; /* the step's first argument: which limit, say */
};

#endif
