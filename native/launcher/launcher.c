// The launcher: stands between posix_spawn and a program, takes the steps that posix_spawn has no
// words for, and becomes the program.
//
// Freestanding: no C library, no allocation. Its start costs 45 µs, that of a static glibc program
// 310. It is started as `sallyport-launcher INSTRUCTIONS STATUS`, two descriptor numbers.
#include <asm/errno.h>

#include "init.h"
#include "instructions.h"
#include "program.h"
#include "system.h"

#define F_SETFD 2
#define FD_CLOEXEC 1
#define SEEK_END 2
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 2

/* The compiler makes calls of these out of plain loops and initialisers. */
void* memset(void* to, int value, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) ((volatile char*)to)[i] = (char)value;
  return to;
}

void* memcpy(void* to, const void* from, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) ((volatile char*)to)[i] = ((const char*)from)[i];
  return to;
}

__attribute__((noreturn)) static void Exit(int code) {
  for (;;) CALL1(__NR_exit_group, code);
}

/* -1 for anything but a decimal number. */
static int ParseNumber(const char* text) {
  int number = 0;
  if (*text == 0) return -1;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || number > 100000000) return -1;
    number = number * 10 + (*text - '0');
  }
  return number;
}

/* The block, mapped so that writing to it concerns nobody else; a negative errno value as a
 * pointer. */
static char* MapInstructions(int fd) {
  const long size = CALL3(__NR_lseek, fd, 0, SEEK_END);
  if (size < (long)sizeof(struct LauncherHeader)) return (char*)(long)(size < 0 ? size : -EINVAL);
  char* const block = (char*)CALL6(__NR_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if ((long)block < 0 && (long)block > -4096) return block;
  const struct LauncherHeader* const header = (const struct LauncherHeader*)block;
  return header->magic == LAUNCHER_MAGIC && header->size == size ? block : (char*)(long)-EINVAL;
}

__attribute__((noreturn, used)) void Launch(long* stack) {
  char** const arguments = (char**)(stack + 1);
  if (stack[0] != 3) Exit(125);
  const int instructions = ParseNumber(arguments[1]);
  const int status = ParseNumber(arguments[2]);
  if (instructions < 0 || status < 0) Exit(125);
  /* First of all, so that the program never has them, whatever happens. */
  const long sealed = CALL3(__NR_fcntl, status, F_SETFD, FD_CLOEXEC);
  if (sealed < 0) Exit(125);

  char* const block = MapInstructions(instructions);
  if ((long)block < 0 && (long)block > -4096) Refuse(status, STEP_INSTRUCTIONS, (long)block, 0);
  CALL1(__NR_close, instructions);
  if (((const struct LauncherHeader*)block)->role == ROLE_INIT) BeInit(block, status);
  BecomeProgram(block, status);
}

/* The kernel leaves argc, argv and the environment on the stack. */
#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call "
    "Launch\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  mov x0, sp\n  b Launch\n");
#endif
