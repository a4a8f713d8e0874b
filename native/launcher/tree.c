// The descendants of this process, as /proc tells them.
#include "tree.h"

#include <asm/errno.h>

#include "system.h"

#define AT_FDCWD (-100)
#define O_CLOEXEC 02000000
#define SIGCONT 18

#if defined(__aarch64__)
#define O_DIRECTORY 040000
#else
#define O_DIRECTORY 0200000
#endif

#ifndef __NR_pidfd_send_signal
#define __NR_pidfd_send_signal 424
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif

#define MOST_PROCESSES 65536
#define MOST_RELEASED 1024

/* Numbers are given again, and whoever comes to one has not been released: the descriptor stands
   for that one process. Negative where there is none. */
static struct {
  int32_t pid;
  int32_t pidfd;
} released[MOST_RELEASED];
static int released_count;

/* What SignalDescendants() sees of the machine. Pages of it that are not needed are never touched.
 */
static int32_t pids[MOST_PROCESSES];
static int32_t parents[MOST_PROCESSES];
static uint8_t below[MOST_PROCESSES];

int ReleaseProcess(int32_t pid) {
  if (released_count == MOST_RELEASED) return -1;
  released[released_count].pid = pid;
  released[released_count].pidfd = (int32_t)CALL2(__NR_pidfd_open, pid, 0);
  ++released_count;
  return 0;
}

int HasReleased(void) { return released_count > 0; }

static int IsReleased(int32_t pid) {
  for (int i = 0; i < released_count; ++i) {
    if (released[i].pid != pid) continue;
    const int32_t pidfd = released[i].pidfd;
    if (pidfd < 0 || CALL4(__NR_pidfd_send_signal, pidfd, 0, 0, 0) != -ESRCH) return 1;
    /* It is gone. */
    CALL1(__NR_close, pidfd);
    released[i--] = released[--released_count];
  }
  return 0;
}

static long Open(const char* path, int flags) {
  return CALL4(__NR_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

/* Room for "/proc/" + 10 digits + "/stat". */
static void FormatStatPath(int32_t pid, char* path) {
  const char* const head = "/proc/";
  const char* const tail = "/stat";
  char digits[10];
  int count = 0;
  uint32_t rest = (uint32_t)pid;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  for (int i = 0; head[i] != 0; ++i) *path++ = head[i];
  while (count > 0) *path++ = digits[--count];
  for (int i = 0; tail[i] != 0; ++i) *path++ = tail[i];
  *path = 0;
}

/* The parent by /proc/<pid>/stat, proc_pid_stat(5); -1 when the process is gone or hidden. */
static int32_t ReadParent(int32_t pid) {
  char path[24];
  char text[512];
  FormatStatPath(pid, path);
  const long fd = Open(path, 0);
  if (fd < 0) return -1;
  const long size = CALL3(__NR_read, fd, text, sizeof text - 1);
  CALL1(__NR_close, fd);
  /* The name stands in parentheses and may hold any byte: the last ')' ends it. ") S 123 …" */
  long at = size - 1;
  while (at >= 0 && text[at] != ')') --at;
  if (at < 0 || at + 4 >= size) return -1;
  int32_t parent = 0;
  for (at += 4; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
    parent = parent * 10 + (text[at] - '0');
  }
  return parent;
}

struct DirectoryEntry { /* linux_dirent64, getdents64(2) */
  uint64_t inode;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[];
};

static int32_t ParsePid(const char* name) {
  int32_t pid = 0;
  for (; *name != 0; ++name) {
    if (*name < '0' || *name > '9') return 0;
    pid = pid * 10 + (*name - '0');
  }
  return pid;
}

/* Calls `visit` for every process that /proc shows. Returns 0 or a negative errno value. */
static long ForEachProcess(void (*visit)(int32_t pid)) {
  const long directory = Open("/proc", O_DIRECTORY);
  if (directory < 0) return directory;
  char buffer[8192] __attribute__((aligned(8)));
  long size;
  while ((size = CALL3(__NR_getdents64, directory, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < size;) {
      const struct DirectoryEntry* const entry = (const struct DirectoryEntry*)(buffer + at);
      const int32_t pid = ParsePid(entry->name);
      if (pid > 0) visit(pid);
      at += entry->size;
    }
  }
  CALL1(__NR_close, directory);
  return size;
}

static void (*child_visit)(int32_t pid);
static long child_count;

static void VisitChild(int32_t pid) {
  if (IsReleased(pid)) return;
  ++child_count;
  child_visit(pid);
}

static void VisitIfChild(int32_t pid) {
  if (ReadParent(pid) == (int32_t)CALL0(__NR_getpid)) VisitChild(pid);
}

static void IgnoreChild(int32_t pid) { (void)pid; }

long CountChildren(void) {
  child_visit = IgnoreChild;
  child_count = 0;
  const long refused = ForEachProcess(VisitIfChild);
  return refused < 0 ? refused : child_count;
}

long OpenChildren(void) { return Open("/proc/thread-self/children", 0); }

long ForEachChild(int children, void (*visit)(int32_t pid)) {
  child_visit = visit;
  child_count = 0;
  if (children < 0) {
    const long refused = ForEachProcess(VisitIfChild);
    return refused < 0 ? refused : child_count;
  }
  char buffer[4096];
  long size;
  int64_t offset = 0;
  int32_t pid = 0;
  while ((size = CALL4(__NR_pread64, children, buffer, sizeof buffer, offset)) > 0) {
    for (long at = 0; at < size; ++at) {
      if (buffer[at] >= '0' && buffer[at] <= '9') {
        pid = pid * 10 + (buffer[at] - '0');
      } else if (pid != 0) {
        VisitChild(pid);
        pid = 0;
      }
    }
    offset += size;
  }
  return size < 0 ? size : child_count;
}

static int32_t process_count;

static void NoteProcess(int32_t pid) {
  if (process_count == MOST_PROCESSES) return;
  const int32_t parent = ReadParent(pid);
  if (parent < 0) return;
  pids[process_count] = pid;
  parents[process_count] = parent;
  below[process_count] = 0;
  ++process_count;
}

static int IsBelow(int32_t pid, int32_t root) {
  if (pid == root) return 1;
  for (int32_t i = 0; i < process_count; ++i) {
    if (pids[i] == pid) return below[i];
  }
  return 0;
}

static int SendChecked(int32_t pid, int32_t parent, int32_t root, int signal) {
  const long pidfd = CALL2(__NR_pidfd_open, pid, 0);
  /* The descriptor stands for one process, whatever becomes of its number; is it the one we mean?
   * Its parent may have ended of this very signal: then it has become a child of ours. */
  const int32_t now = ReadParent(pid);
  if (now != parent && now != root) {
    if (pidfd >= 0) CALL1(__NR_close, pidfd);
    return 0;
  }
  long sent;
  if (pidfd >= 0) {
    sent = CALL4(__NR_pidfd_send_signal, pidfd, signal, 0, 0);
    CALL4(__NR_pidfd_send_signal, pidfd, SIGCONT, 0, 0);
    CALL1(__NR_close, pidfd);
  } else {
    sent = CALL2(__NR_kill, pid, signal);
    CALL2(__NR_kill, pid, SIGCONT);
  }
  return sent == 0;
}

static int asked_signal;
static int32_t reached;

/* Only we reap it, so the number is still its own. */
static void SignalChild(int32_t pid) {
  reached += CALL2(__NR_kill, pid, asked_signal) == 0;
  CALL2(__NR_kill, pid, SIGCONT);
}

int32_t SignalDescendants(int children, int signal) {
  const int32_t root = (int32_t)CALL0(__NR_getpid);
  process_count = 0;
  reached = 0;
  ForEachProcess(NoteProcess);
  if (process_count == 0) {
    /* Not even ourselves: no descriptor is to be had. */
    asked_signal = signal;
    ForEachChild(children, SignalChild);
    return reached;
  }
  /* Parents need not come before their children: until nothing changes. */
  for (int changed = 1; changed;) {
    changed = 0;
    for (int32_t i = 0; i < process_count; ++i) {
      if (below[i] || IsReleased(pids[i]) || !IsBelow(parents[i], root)) continue;
      below[i] = 1;
      changed = 1;
    }
  }
  for (int32_t i = 0; i < process_count; ++i) {
    if (below[i]) reached += SendChecked(pids[i], parents[i], root, signal);
  }
  return reached;
}
