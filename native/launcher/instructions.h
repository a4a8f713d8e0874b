// What the addon tells the launcher: the layout of one block of memory that both map.
//
// A header, then steps, then the program. All numbers are those of this machine: the block never
// leaves it. Offsets count from the start of the block.
#ifndef SALLYPORT_LAUNCHER_INSTRUCTIONS_H
#define SALLYPORT_LAUNCHER_INSTRUCTIONS_H

#include <stdint.h>

#define LAUNCHER_MAGIC 0x73706c33u /* "spl3": raised when the layout changes */

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
  STEP_CGROUP = 14,          /* descriptor of a cgroup.procs, which is closed: cgroups(7) */
  STEP_DROP_GROUPS = 15,     /* setgroups(2) to none, where that is allowed */
  STEP_INSTRUCTIONS = 13,    /* not in the list: reading this block */
  STEP_HELD = 32,            /* not in the list: waiting to be let go, before execve */
};

enum LauncherRole {
  ROLE_EXEC = 0, /* become the program */
  ROLE_INIT = 1, /* stay: start the program, reap what it leaves, end all of it when told to */
};

struct LauncherHeader {
  uint32_t magic;
  uint32_t size;       /* of the whole block, in bytes */
  uint32_t step_words; /* 64-bit words after this header */
  uint32_t executable; /* offset of a string */
  uint32_t argv;       /* offset of a list of 64-bit offsets that ends with 0 */
  uint32_t envp;       /* likewise */
  uint32_t role;
  uint32_t hold;  /* 1: say so immediately before execve, and wait for LAUNCHER_GO */
  int32_t pinned; /* a descriptor of the program, for execveat(2); -1: it is executed by its path */
  /* The rest is for an init. */
  int32_t control;    /* our end of the control socket */
  int32_t session;    /* of the program: 0 new, 1 group, 2 inherit */
  int32_t foreground; /* a terminal, or -1 */
  int32_t highest;    /* the highest descriptor number of all */
  int32_t reserved;
};

#define STEP_WORD(code, count) ((uint64_t)(code) | (uint64_t)(count) << 32)

/* What the launcher writes to its status pipe when a step is refused. Nothing: the program runs.
   With `hold` the status is a socket, and one of these says that it holds: STEP_HELD, its pid, and
   the address of this block in its memory. */
struct LauncherRefusal {
  uint32_t step;
  int32_t errno_value;
  uint64_t detail; /* the step's first argument: which limit, say */
};

/* The one byte that lets a launcher go that holds. Anything else, and the end of the socket: it
   ends. */
#define LAUNCHER_GO 1

/* An init and its parent speak over a stream socket, in whole structures. When the parent's end
   closes (it has ended, however), the init kills all that is left at once. */
enum LauncherCommandKind {
  COMMAND_END = 1,          /* grace in ms: SIGTERM and SIGCONT to all, SIGKILL after the grace */
  COMMAND_KILL = 2,         /* SIGKILL to all, until nothing is left */
  COMMAND_SIGNAL = 3,       /* a signal to the program itself */
  COMMAND_SIGNAL_GROUP = 4, /* a signal to the program's process group */
  COMMAND_RELEASE = 5,      /* a pid that leaves the run on purpose */
};

struct LauncherCommand {
  uint32_t kind;
  int32_t argument;
};

enum LauncherReportKind {
  REPORT_STARTED = 1,   /* pid of the program */
  REPORT_EXITED = 2,    /* the program: code is si_code, status is si_status, waitid(2) */
  REPORT_SIGNALLED = 3, /* status: a signal; pid: how many processes it was sent to */
  REPORT_EMPTY =
      4, /* no descendant is left, those released apart; usage is that of the whole tree */
};

#define USAGE_NUMBERS \
  9 /* user µs, system µs, max RSS KiB, minflt, majflt, inblock, oublock, nvcsw, nivcsw */

struct LauncherReport {
  uint32_t kind;
  int32_t pid;
  int32_t code;
  int32_t status;
  uint64_t usage[USAGE_NUMBERS];
};

#endif
