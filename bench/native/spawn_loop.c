// The limit: what posix_spawn and waitpid cost from C, asked over the protocol of the drivers
// (see ../driver-process.mjs). No close-from, no environment to build, no pidfd: less than
// sallyport has to do.
#define _GNU_SOURCE  // pipe2

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

enum { kMaxThreads = 256, kMaxLive = 4096, kMaxFields = 6, kBlock = 64 * 1024 };

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void Fail(const char* what, int error) {
  fprintf(stderr, "spawn_loop: %s: %s\n", what, strerror(error));
  exit(1);
}

static void Wait(pid_t pid) {
  while (waitpid(pid, NULL, 0) < 0) {
    if (errno != EINTR) Fail("waitpid", errno);
  }
}

static pid_t StartWithoutStdio(char* file) {
  char* argv[] = {file, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid;
  int error = posix_spawn(&pid, file, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail(file, error);
  return pid;
}

struct PipedChild {
  pid_t pid;
  int ours[3];
};

static struct PipedChild StartPiped(char** argv) {
  struct PipedChild child;
  int theirs[3];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; i++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) Fail("pipe2", errno);
    child.ours[i] = i == 0 ? ends[1] : ends[0];
    theirs[i] = i == 0 ? ends[0] : ends[1];
    posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
  }
  int error = posix_spawn(&child.pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail(argv[0], error);
  for (int i = 0; i < 3; i++) close(theirs[i]);
  return child;
}

static void EndPiped(struct PipedChild* child) {
  for (int i = 0; i < 3; i++) close(child->ours[i]);
  Wait(child->pid);
}

static void Calls(char* file, int count) {
  long long* samples = calloc((size_t)count * 2, sizeof *samples);
  for (int i = 0; i < count; i++) {
    long long start = Now();
    pid_t pid = StartWithoutStdio(file);
    samples[i] = Now() - start;
    Wait(pid);
    samples[count + i] = Now() - start;
  }
  for (int half = 0; half < 2; half++) {
    printf(half == 0 ? "{\"blocked\":[" : "],\"exited\":[");
    for (int i = 0; i < count; i++) {
      printf(i == 0 ? "%lld" : ",%lld", samples[half * count + i]);
    }
  }
  printf("]}\n");
  free(samples);
}

struct Share {
  char* file;
  int count;
};

static void* RunShare(void* argument) {
  struct Share* share = argument;
  for (int i = 0; i < share->count; i++) Wait(StartWithoutStdio(share->file));
  return NULL;
}

static void Throughput(char* file, int in_flight, int count) {
  pthread_t threads[kMaxThreads];
  struct Share shares[kMaxThreads];
  if (in_flight > kMaxThreads) in_flight = kMaxThreads;
  long long start = Now();
  for (int i = 0; i < in_flight; i++) {
    shares[i].file = file;
    shares[i].count = count / in_flight + (i < count % in_flight);
    int error = pthread_create(&threads[i], NULL, RunShare, &shares[i]);
    if (error != 0) Fail("pthread_create", error);
  }
  for (int i = 0; i < in_flight; i++) pthread_join(threads[i], NULL);
  printf("{\"elapsed\":%lld}\n", Now() - start);
}

static void Read(char* pour, char* bytes) {
  static char block[kBlock];
  char* argv[] = {pour, "out", bytes, NULL};
  long long start = Now();
  long long total = 0;
  struct PipedChild child = StartPiped(argv);
  for (ssize_t got; (got = read(child.ours[1], block, sizeof block)) > 0;) total += got;
  EndPiped(&child);
  printf("{\"elapsed\":%lld,\"bytes\":%lld}\n", Now() - start, total);
}

static void Write(char* pour, long long bytes) {
  static char block[kBlock];
  char* argv[] = {pour, "in", NULL};
  long long start = Now();
  long long left = bytes;
  struct PipedChild child = StartPiped(argv);
  while (left > 0) {
    ssize_t written = write(child.ours[0], block, left < kBlock ? (size_t)left : kBlock);
    if (written < 0) Fail("write", errno);
    left -= written;
  }
  EndPiped(&child);
  printf("{\"elapsed\":%lld,\"bytes\":%lld}\n", Now() - start, bytes);
}

static struct PipedChild live[kMaxLive];
static int live_count;

static void Live(char* pour, int count) {
  char* argv[] = {pour, "in", NULL};
  while (live_count < count && live_count < kMaxLive) live[live_count++] = StartPiped(argv);
  printf("{}\n");
}

static void Release(void) {
  while (live_count > 0) {
    kill(live[--live_count].pid, SIGKILL);
    EndPiped(&live[live_count]);
  }
  printf("{}\n");
}

static void HoldMemory(long mebibytes) {
  size_t size = (size_t)mebibytes << 20;
  char* ballast = size == 0 ? NULL : malloc(size);
  if (ballast != NULL) memset(ballast, 1, size);
  printf("{}\n");
}

static void HoldDescriptors(int count) {
  for (int i = 0; i < count; i++) {
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) Fail("open", errno);
  }
  printf("{}\n");
}

static int IsRequest(char** fields, int count, const char* name, int wanted) {
  return count == wanted && strcmp(fields[0], name) == 0;
}

int main(void) {
  char* line = NULL;
  size_t capacity = 0;
  // Not killed by a child that stops reading: the write says so.
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  printf("{\"version\":\"\"}\n");
  fflush(stdout);
  while (getline(&line, &capacity, stdin) > 0) {
    char* fields[kMaxFields] = {0};
    int count = 0;
    char* rest = line;
    for (char* field; count < kMaxFields && (field = strsep(&rest, "\t\n")) != NULL;) {
      if (*field != '\0') fields[count++] = field;
    }
    if (IsRequest(fields, count, "calls", 3)) {
      Calls(fields[1], atoi(fields[2]));
    } else if (IsRequest(fields, count, "throughput", 4)) {
      Throughput(fields[1], atoi(fields[2]), atoi(fields[3]));
    } else if (IsRequest(fields, count, "read", 3)) {
      Read(fields[1], fields[2]);
    } else if (IsRequest(fields, count, "write", 3)) {
      Write(fields[1], atoll(fields[2]));
    } else if (IsRequest(fields, count, "live", 3)) {
      Live(fields[1], atoi(fields[2]));
    } else if (IsRequest(fields, count, "release", 1)) {
      Release();
    } else if (IsRequest(fields, count, "buffers", 2)) {
      HoldMemory(atol(fields[1]));
    } else if (IsRequest(fields, count, "descriptors", 2)) {
      HoldDescriptors(atoi(fields[1]));
    } else {
      printf("{\"error\":\"unknown request\"}\n");
    }
    fflush(stdout);
  }
  free(line);
  return 0;
}
