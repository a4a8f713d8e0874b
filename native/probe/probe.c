// The probe: a program that tries what its arguments say and prints how each attempt ended.
//
// Freestanding, as the launcher is: any user can run it, in any environment and within any limits,
// and nothing of the environment takes part. Each argument is a letter, a colon and an operand; for
// each one line comes: an errno value, 0 for success, and a value. It changes nothing and reads no
// content.
#include <asm/errno.h>
#include <linux/net.h>
#include <stddef.h>
#include <stdint.h>

#include "../launcher/system.h"

#define AT_FDCWD (-100)
#define O_NOCTTY 0400
#define O_NONBLOCK 04000
#define O_CLOEXEC 02000000
#define W_OK 2
#define AF_UNIX 1
#define AF_INET 2
#define POLLIN 1
#define POLLOUT 4
#define SOL_SOCKET 1
#define SO_ERROR 4
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_SEQPACKET 5
#define MSG_NOSIGNAL 0x4000

#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif

/* The compiler makes calls of these out of plain loops and initialisers. */
void* memset(void* to, int value, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) ((volatile char*)to)[i] = (char)value;
  return to;
}

void* memcpy(void* to, const void* from, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) ((volatile char*)to)[i] = ((const char*)from)[i];
  return to;
}

enum { kAgentSeconds = 2, kNetworkSeconds = 1, kLineSize = 65536 };

static char line[kLineSize];
static size_t length;

static void AddText(const char* text) {
  while (*text != 0 && length < kLineSize - 1) line[length++] = *text++;
}

static void AddNumber(long number) {
  char digits[24];
  size_t count = 0;
  unsigned long rest = number < 0 ? -(unsigned long)number : (unsigned long)number;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) AddText("-");
  while (count > 0) {
    const char one[2] = {digits[--count], 0};
    AddText(one);
  }
}

static void Print(void) {
  line[length++] = '\n';
  for (size_t written = 0; written < length;) {
    const long count = CALL3(__NR_write, 1, line + written, length - written);
    if (count == -EINTR) continue;
    if (count <= 0) break;
    written += (size_t)count;
  }
  length = 0;
}

/* `result`: as a system call gives it. */
static void Answer(long result, long value) {
  AddNumber(result < 0 ? -result : 0);
  AddText(" ");
  AddNumber(value);
  Print();
}

static long ParseNumber(const char** text) {
  long number = 0;
  while (**text >= '0' && **text <= '9' && number < 1000000000L) {
    number = number * 10 + (*(*text)++ - '0');
  }
  return number;
}

static void Close(long fd) {
  if (fd >= 0) CALL1(__NR_close, fd);
}

static long Wait(long fd, short events, long seconds) {
  struct {
    int fd;
    short events;
    short revents;
  } entry = {(int)fd, events, 0};
  struct {
    long seconds;
    long nanoseconds;
  } timeout = {seconds, 0};
  /* The kernel counts `timeout` down, so that an interruption does not prolong it. */
  long ready;
  do {
    ready = CALL5(__NR_ppoll, &entry, 1, &timeout, 0, 8);
  } while (ready == -EINTR);
  return ready == 0 ? -ETIMEDOUT : ready;
}

static void TryRead(const char* path) {
  const long fd = CALL4(__NR_openat, AT_FDCWD, path, O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
  Close(fd);
  Answer(fd, 0);
}

static void TryLink(const char* path) {
  char target[256];
  Answer(CALL4(__NR_readlinkat, AT_FDCWD, path, target, sizeof target), 0);
}

struct UnixAddress {
  uint16_t family;
  char path[108];
};

/* A connected socket, or a negative errno value. `@name` is abstract. */
static long ConnectUnix(const char* path) {
  struct UnixAddress address;
  memset(&address, 0, sizeof address);
  address.family = AF_UNIX;
  size_t size = 0;
  for (; path[size] != 0; ++size) {
    if (size == sizeof address.path - 1) return -ENAMETOOLONG;
    address.path[size] = path[size];
  }
  const int is_abstract = path[0] == '@';
  if (is_abstract) address.path[0] = 0;
  const size_t total = offsetof(struct UnixAddress, path) + size + (is_abstract ? 0 : 1);
  static const int kTypes[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
  long result = -EPROTOTYPE;
  for (size_t i = 0; i < 3 && result == -EPROTOTYPE; ++i) {
    const long fd = CALL3(__NR_socket, AF_UNIX, kTypes[i] | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) return fd;
    result = CALL3(__NR_connect, fd, &address, total);
    if (result == 0) return fd;
    Close(fd);
  }
  return result;
}

static void TryConnect(const char* path) {
  const long fd = ConnectUnix(path);
  Close(fd);
  Answer(fd, 0);
}

/* SSH_AGENTC_REQUEST_IDENTITIES of the agent protocol. The value: how many keys; -1: no agent. */
static void TryAgent(const char* path) {
  static const unsigned char kRequest[] = {0, 0, 0, 1, 11};
  const long fd = ConnectUnix(path);
  long keys = -1;
  if (fd >= 0) {
    unsigned char answer[9];
    long got = 0;
    if (CALL6(__NR_sendto, fd, kRequest, sizeof kRequest, MSG_NOSIGNAL, 0, 0) ==
        (long)sizeof kRequest) {
      while (got < (long)sizeof answer && Wait(fd, POLLIN, kAgentSeconds) > 0) {
        const long count = CALL3(__NR_read, fd, answer + got, sizeof answer - (size_t)got);
        if (count <= 0) break;
        got += count;
      }
    }
    /* SSH_AGENT_IDENTITIES_ANSWER, then a count of 32 bits. */
    if (got == (long)sizeof answer && answer[4] == 12) {
      keys = ((long)answer[5] << 24) | (answer[6] << 16) | (answer[7] << 8) | answer[8];
    }
  }
  Close(fd);
  Answer(fd, keys);
}

/* `a.b.c.d:port`. Asks for a page of no meaning; the value is the status of HTTP, or 0. */
static void TryTcp(const char* text) {
  struct {
    uint16_t family;
    unsigned char port[2];
    unsigned char address[4];
    char zero[8];
  } address;
  memset(&address, 0, sizeof address);
  address.family = AF_INET;
  for (int i = 0; i < 4; ++i) {
    address.address[i] = (unsigned char)ParseNumber(&text);
    if (*text != 0) ++text;
  }
  const long port = ParseNumber(&text);
  address.port[0] = (unsigned char)(port >> 8);
  address.port[1] = (unsigned char)port;

  const long fd = CALL3(__NR_socket, AF_INET, SOCK_STREAM | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd < 0) return Answer(fd, 0);
  long result = CALL3(__NR_connect, fd, &address, sizeof address);
  if (result == -EINPROGRESS) {
    int error = 0;
    unsigned size = sizeof error;
    result = Wait(fd, POLLOUT, kNetworkSeconds);
    if (result > 0) {
      CALL5(__NR_getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &size);
      result = -error;
    }
  }
  long status = 0;
  static const char kRequest[] = "GET / HTTP/1.0\r\n\r\n";
  char answer[12];
  if (result >= 0 &&
      CALL6(__NR_sendto, fd, kRequest, sizeof kRequest - 1, MSG_NOSIGNAL, 0, 0) > 0 &&
      Wait(fd, POLLIN, kNetworkSeconds) > 0 &&
      CALL3(__NR_read, fd, answer, sizeof answer) == (long)sizeof answer) {
    const char* digits = answer + 9; /* after `HTTP/1.0 ` */
    for (int i = 0; i < 3; ++i) status = status * 10 + (digits[i] - '0');
  }
  Close(fd);
  Answer(result, status);
}

/* Reads from address 0: refused with EPERM, or allowed and then EFAULT. */
static void TryMemory(const char* text) {
  const long pid = ParseNumber(&text);
  char byte;
  struct {
    void* base;
    size_t size;
  } ours = {&byte, 1}, theirs = {0, 1};
  Answer(CALL6(__NR_process_vm_readv, pid, &ours, 1, &theirs, 1, 0), 0);
}

/* A number that is open nowhere: refused with EPERM, or allowed and then EBADF. */
static void TryDescriptor(const char* text) {
  const long pidfd = CALL2(__NR_pidfd_open, ParseNumber(&text), 0);
  if (pidfd < 0) return Answer(pidfd, 0);
  const long taken = CALL3(__NR_pidfd_getfd, pidfd, 0x7ffffffe, 0);
  Close(pidfd);
  Answer(taken, 0);
}

static int IsNumber(const char* name) {
  if (*name == 0) return 0;
  for (; *name != 0; ++name)
    if (*name < '0' || *name > '9') return 0;
  return 1;
}

static void ListOwn(void) {
  static char entries[4096];
  const long fd = CALL4(__NR_openat, AT_FDCWD, "/proc/self/fd", O_CLOEXEC, 0);
  if (fd < 0) return Answer(fd, 0);
  AddText("0 ");
  const char* separator = "";
  for (;;) {
    const long size = CALL3(__NR_getdents64, fd, entries, sizeof entries);
    if (size <= 0) break;
    /* struct linux_dirent64: d_ino, d_off, d_reclen of 16 bits at 16, d_type, d_name at 19. */
    for (long at = 0; at < size; at += *(unsigned short*)(entries + at + 16)) {
      const char* name = entries + at + 19;
      const char* digits = name;
      if (!IsNumber(name) || ParseNumber(&digits) == fd) continue;
      AddText(separator);
      AddText(name);
      separator = ",";
    }
  }
  Close(fd);
  Print();
}

static void TellIds(void) {
  AddText("0 ");
  AddNumber(CALL0(__NR_geteuid));
  AddText(",");
  AddNumber(CALL0(__NR_getegid));
  Print();
}

/* Lives until its standard input ends, to be looked at. */
static void Hold(void) {
  char byte;
  Answer(0, CALL0(__NR_getpid));
  while (CALL3(__NR_read, 0, &byte, 1) > 0) {
  }
}

static void Try(const char* argument) {
  const char* operand = argument[0] != 0 && argument[1] == ':' ? argument + 2 : "";
  switch (argument[0]) {
    case 'r':
      return TryRead(operand);
    case 'w':
      return Answer(CALL3(__NR_faccessat, AT_FDCWD, operand, W_OK), 0);
    case 'l':
      return TryLink(operand);
    case 'u':
      return TryConnect(operand);
    case 'a':
      return TryAgent(operand);
    case 't':
      return TryTcp(operand);
    case 'm':
      return TryMemory(operand);
    case 'd':
      return TryDescriptor(operand);
    case 'f':
      return ListOwn();
    case 'i':
      return TellIds();
    case 'h':
      return Hold();
    default:
      return Answer(-EINVAL, 0);
  }
}

__attribute__((noreturn, used)) void Probe(long* stack) {
  char** const arguments = (char**)(stack + 1);
  for (long i = 1; i < stack[0]; ++i) Try(arguments[i]);
  for (;;) CALL1(__NR_exit_group, 0);
}

/* The kernel leaves argc, argv and the environment on the stack. */
#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call "
    "Probe\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  mov x0, sp\n  b Probe\n");
#endif
