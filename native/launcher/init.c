// The init of a run: starts the program, reaps all that it leaves, and ends all of it when told to.
//
// As child subreaper (prctl(2), kernel 3.4) it is the parent of every descendant whose own parent
// has ended, those that called setsid or forked twice among them: none gets away, and when
// waitid(2) says ECHILD none is left. That is the proof of emptiness.
#include "init.h"

#include <asm/errno.h>
#include <asm/ioctls.h>
#include <linux/eventpoll.h>
#include <linux/prctl.h>
#include <linux/time_types.h>

#include "instructions.h"
#include "program.h"
#include "system.h"
#include "tree.h"

#define F_SETFD 2
#define FD_CLOEXEC 1
#define P_ALL 0
#define WNOHANG 1
#define WEXITED 4
#define SIG_BLOCK_ALL 2 /* SIG_SETMASK */
#define SIGKILL 9
#define SIGTERM 15
#define SIGCHLD 17
#define SIGCONT 18
#define SFD_FLAGS (02000000 | 04000) /* SFD_CLOEXEC | SFD_NONBLOCK */
#define CLOCK_MONOTONIC 1
#define RUSAGE_CHILDREN (-1)
#define MSG_DONTWAIT 0x40
#define MSG_NOSIGNAL 0x4000

#ifndef __NR_close_range
#define __NR_close_range 436
#endif

/* All that an init holds once it has closed the program's. It opens none of them later: whoever has
   our user can set our RLIMIT_NOFILE to 0, prlimit(2), and then nobody opens anything, and poll(2)
   takes no descriptor at all. */
static int control, signals, events, children;

/* While it kills, an init looks again this often, should a child have come unnoticed. */
#define SWEEP_INTERVAL_MS 20

struct Usage { /* struct rusage, getrusage(2): the kernel's layout on 64-bit machines */
  int64_t user_seconds, user_microseconds, system_seconds, system_microseconds;
  int64_t max_rss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv;
  int64_t nsignals, nvcsw, nivcsw;
};

struct ExitInfo { /* siginfo_t of waitid(2), 128 bytes */
  int32_t signo, errno_value, code, pad;
  int32_t pid, uid, status;
  char rest[128 - 28];
};

static int32_t program;      /* its pid; 0 once it has been reaped */
static int killing;          /* SIGKILL to whatever is or becomes our child */
static int64_t kill_at = -1; /* when the grace ends, in ms of the monotonic clock; -1: never */
static int parent_is_gone;

static int64_t Now(void) {
  struct __kernel_timespec time;
  CALL2(__NR_clock_gettime, CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static struct LauncherReport MakeReport(uint32_t kind, int32_t pid, int32_t code, int32_t status,
                                        const struct Usage* usage) {
  struct LauncherReport report = {kind, pid, code, status, {0}};
  if (usage != 0) {
    report.usage[0] = (uint64_t)(usage->user_seconds * 1000000 + usage->user_microseconds);
    report.usage[1] = (uint64_t)(usage->system_seconds * 1000000 + usage->system_microseconds);
    report.usage[2] = (uint64_t)usage->max_rss;
    report.usage[3] = (uint64_t)usage->minflt;
    report.usage[4] = (uint64_t)usage->majflt;
    report.usage[5] = (uint64_t)usage->inblock;
    report.usage[6] = (uint64_t)usage->oublock;
    report.usage[7] = (uint64_t)usage->nvcsw;
    report.usage[8] = (uint64_t)usage->nivcsw;
  }
  return report;
}

__attribute__((noreturn)) static void Exit(int code) {
  for (;;) CALL1(__NR_exit_group, code);
}

/* What is not said is lost, and with it how the program ended: for want of memory it is tried
 * again. */
static long Send(const struct LauncherReport* reports, unsigned long count) {
  for (;;) {
    const long sent =
        CALL6(__NR_sendto, control, reports, count * sizeof *reports, MSG_NOSIGNAL, 0, 0);
    if (sent != -ENOBUFS && sent != -ENOMEM && sent != -EINTR) return sent;
    const struct __kernel_timespec pause = {0, 1000000};
    CALL2(__NR_nanosleep, &pause, 0);
  }
}

/* The end of the program, and the end of the tree where that comes at once: said together, they
   wake the other side once. */
static struct LauncherReport pending[2];
static unsigned long pending_count;

static void Flush(void) {
  if (pending_count > 0) Send(pending, pending_count);
  pending_count = 0;
}

static void ReportSignal(int signal, int32_t processes) {
  Flush();
  const struct LauncherReport report = MakeReport(REPORT_SIGNALLED, processes, 0, signal, 0);
  Send(&report, 1);
}

__attribute__((noreturn)) static void Finish(void) {
  struct Usage usage;
  CALL2(__NR_getrusage, RUSAGE_CHILDREN, &usage);
  pending[pending_count++] = MakeReport(REPORT_EMPTY, 0, 0, 0, &usage);
  Flush();
  Exit(0);
}

static void KillChild(int32_t pid) {
  /* Only we reap it, so the number is still its own. */
  CALL2(__NR_kill, pid, SIGKILL);
}

/* Children of a child that ends become ours before we hear of that end: a sweep after each reaping
   reaches every generation. */
static void Sweep(void) {
  if (killing) ForEachChild(children, KillChild);
}

static void ReapAll(void) {
  for (;;) {
    struct ExitInfo info = {0};
    struct Usage usage;
    const long result = CALL5(__NR_waitid, P_ALL, 0, &info, WEXITED | WNOHANG, &usage);
    if (result == -ECHILD) Finish();
    if (result < 0 || info.pid == 0) break;
    if (info.pid == program) {
      program = 0;
      pending[pending_count++] =
          MakeReport(REPORT_EXITED, info.pid, info.code, info.status, &usage);
    }
  }
  Flush();
}

static void EndAfter(int32_t grace_ms) {
  ReportSignal(SIGTERM, SignalDescendants(children, SIGTERM));
  kill_at = Now() + (grace_ms < 0 ? 0 : grace_ms);
}

static void StartKilling(void) {
  if (killing) return;
  killing = 1;
  ReportSignal(SIGKILL, (int32_t)ForEachChild(children, KillChild));
}

static void Obey(const struct LauncherCommand* command) {
  switch (command->kind) {
    case COMMAND_END:
      EndAfter(command->argument);
      break;
    case COMMAND_KILL:
      StartKilling();
      break;
    case COMMAND_SIGNAL:
      if (program != 0) CALL2(__NR_kill, program, command->argument);
      break;
    case COMMAND_SIGNAL_GROUP:
      /* Not reaped, so its number cannot be the group of somebody else. */
      if (program != 0) CALL2(__NR_kill, -program, command->argument);
      break;
    case COMMAND_RELEASE:
      ReleaseProcess(command->argument);
      break;
  }
}

static void TakeCommands(void) {
  static struct LauncherCommand command;
  static uint32_t received;
  for (;;) {
    const long size = CALL6(__NR_recvfrom, control, (char*)&command + received,
                            sizeof command - received, MSG_DONTWAIT, 0, 0);
    if (size == -EAGAIN || size == -EINTR) return;
    if (size <= 0) {
      /* It would be ready for ever. */
      CALL4(__NR_epoll_ctl, events, EPOLL_CTL_DEL, control, 0);
      parent_is_gone = 1;
      StartKilling();
      return;
    }
    received += (uint32_t)size;
    if (received < sizeof command) continue;
    received = 0;
    Obey(&command);
  }
}

/* In the child of the fork. What is ours is close-on-exec. */
__attribute__((noreturn)) static void StartProgram(char* block, int status, const int* ready,
                                                   int32_t init) {
  const struct LauncherHeader* const header = (const struct LauncherHeader*)block;
  /* A program may stop its init at once, having the same user: one that still held the status would
     keep the launch from its end, and its parent from noticing it. */
  CALL1(__NR_close, ready[1]);
  char nothing;
  while (CALL3(__NR_read, ready[0], &nothing, 1) == -EINTR) {
  }
  CALL1(__NR_close, ready[0]);
  /* It was killed before it was ready: nobody would end the program. */
  if (CALL0(__NR_getppid) != init) Exit(0);
  /* As it is after an exec: whoever started us may look at it while it holds. */
  CALL5(__NR_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
  /* By the program to be, which may kill its init as soon as it runs: whoever has seen the end of
     the status pipe finds this, whatever has become of us. */
  const struct LauncherReport started =
      MakeReport(REPORT_STARTED, (int32_t)CALL0(__NR_getpid), 0, 0, 0);
  /* Whoever asked for the program has ended before it began. */
  if (Send(&started, 1) == -EPIPE) Exit(0);
  long refused = 0;
  if (header->session == 0) refused = CALL0(__NR_setsid);
  if (header->session == 1) refused = CALL2(__NR_setpgid, 0, 0);
  if (refused < 0) Refuse(status, STEP_INSTRUCTIONS, refused, 0);
  if (header->foreground >= 0) {
    /* With SIGTTOU blocked, as all are: a background process may do so then. */
    const int32_t group = (int32_t)CALL0(__NR_getpid);
    refused = CALL3(__NR_ioctl, header->foreground, TIOCSPGRP, &group);
    if (refused < 0) Refuse(status, STEP_TERMINAL, refused, (uint64_t)header->foreground);
  }
  const uint64_t none = 0;
  refused = CALL4(__NR_rt_sigprocmask, SIG_BLOCK_ALL, &none, 0, sizeof none);
  if (refused < 0) Refuse(status, STEP_INSTRUCTIONS, refused, 0);
  BecomeProgram(block, status);
}

static void CloseRange(int first, int last) {
  if (first > last || CALL3(__NR_close_range, first, last, 0) == 0) return;
  /* Kernel before 5.9. */
  for (int fd = first; fd <= last; ++fd) CALL1(__NR_close, fd);
}

/* An init holds nothing of the program's: a pipe of its own would keep the parent from its end. */
static void KeepOnlyOurs(int highest) {
  const int kept[] = {control, signals, events, children};
  int from = 0;
  for (int i = 0; i < 4; ++i) {
    int least = -1;
    for (int j = 0; j < 4; ++j) {
      if (kept[j] >= from && (least < 0 || kept[j] < least)) least = kept[j];
    }
    if (least < 0) break;
    CloseRange(from, least - 1);
    from = least + 1;
  }
  if (CALL3(__NR_close_range, from, ~0u, 0) == 0) return;
  /* The table was exact: above what we know stands at most the status and a pipe. */
  CloseRange(from, (from > highest ? from : highest) + 8);
}

static long Watch(int fd) {
  struct epoll_event event = {EPOLLIN, (uint64_t)fd};
  return CALL4(__NR_epoll_ctl, events, EPOLL_CTL_ADD, fd, &event);
}

/* What an init needs, opened before there is a program. Returns 0 or a negative errno value. */
static long OpenOurs(void) {
  const uint64_t child_signal = (uint64_t)1 << (SIGCHLD - 1);
  signals = (int)CALL4(__NR_signalfd4, -1, &child_signal, sizeof child_signal, SFD_FLAGS);
  if (signals < 0) return signals;
  events = (int)CALL1(__NR_epoll_create1, 02000000 /* EPOLL_CLOEXEC */);
  if (events < 0) return events;
  children = (int)OpenChildren();
  /* A kernel without CONFIG_PROC_CHILDREN, or without /proc. */
  if (children < 0 && children != -ENOENT) return children;
  const long refused = Watch(control);
  return refused < 0 ? refused : Watch(signals);
}

void BeInit(char* block, int status) {
  const struct LauncherHeader* const header = (const struct LauncherHeader*)block;
  control = header->control;
  CALL3(__NR_fcntl, control, F_SETFD, FD_CLOEXEC);
  long refused = CALL5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (refused < 0) Refuse(status, STEP_INSTRUCTIONS, refused, 0);
  /* When the parent ends, an init that somebody has stopped is to see it. What is started for a run
     is started by a lane, which ends with its process and not before. */
  CALL5(__NR_prctl, PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
  /* An init cannot be ended by a signal that somebody sends to a group or a session. */
  const uint64_t all = ~(uint64_t)0;
  CALL4(__NR_rt_sigprocmask, SIG_BLOCK_ALL, &all, 0, sizeof all);
  refused = OpenOurs();
  if (refused < 0) Refuse(status, STEP_INSTRUCTIONS, refused, 0);

  /* What we say is believed: a program of the same user must not take our socket by pidfd_getfd(2)
     or ptrace(2) and say it. Before there is one. */
  refused = CALL5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (refused < 0) Refuse(status, STEP_INSTRUCTIONS, refused, 0);
  const int32_t init = (int32_t)CALL0(__NR_getpid);
  int ready[2]; /* ends when we hold nothing of the program's any more */
  refused = CALL2(__NR_pipe2, ready, 02000000 /* O_CLOEXEC */);
  if (refused < 0) Refuse(status, STEP_INSTRUCTIONS, refused, 0);
  const long child = CALL5(__NR_clone, SIGCHLD, 0, 0, 0, 0);
  if (child < 0) Refuse(status, STEP_INSTRUCTIONS, child, 0);
  if (child == 0) StartProgram(block, status, ready, init);
  program = (int32_t)child;
  KeepOnlyOurs(header->highest);
  CALL1(__NR_chdir, "/");

  for (;;) {
    int64_t wait_ms = -1;
    if (killing) wait_ms = SWEEP_INTERVAL_MS;
    if (!killing && kill_at >= 0) wait_ms = kill_at > Now() ? kill_at - Now() : 0;
    struct epoll_event ready[2];
    CALL6(__NR_epoll_pwait, events, ready, 2, wait_ms, 0, 0);

    char drained[128 * 8]; /* signalfd_siginfo */
    while (CALL3(__NR_read, signals, drained, sizeof drained) == sizeof drained) {
    }
    ReapAll();
    if (!parent_is_gone) TakeCommands();
    if (!killing && kill_at >= 0 && Now() >= kill_at) StartKilling();
    Sweep();
    /* Released children keep waitid from saying ECHILD. */
    if (HasReleased() && CountChildren() == 0) Finish();
  }
}
