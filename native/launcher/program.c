// The last part of every launch: take the steps, become the program.
#include "program.h"

#include <asm/errno.h>

#include "instructions.h"
#include "steps.h"
#include "system.h"

#define AT_EMPTY_PATH 0x1000
#define F_SETFD 2
#define FD_CLOEXEC 1

void Refuse(int status, uint32_t step, long result, uint64_t detail) {
  const struct LauncherRefusal refusal = {step, (int32_t)-result, detail};
  CALL3(__NR_write, status, &refusal, sizeof refusal);
  for (;;) CALL1(__NR_exit_group, 127);
}

/* Offsets become pointers, in place. */
static char** ToPointers(char* block, uint32_t list) {
  uint64_t* const entries = (uint64_t*)(block + list);
  for (uint64_t* entry = entries; *entry != 0; ++entry) *entry += (uint64_t)block;
  return (char**)entries;
}

/* Nothing of ours happens between this and execve: what is seen now is what the program gets. */
static void HoldUntilLetGo(int status, const char* block) {
  const struct LauncherRefusal held = {STEP_HELD, (int32_t)CALL0(__NR_getpid), (uint64_t)block};
  long size;
  do {
    size = CALL3(__NR_write, status, &held, sizeof held);
  } while (size == -EINTR);
  /* Not heard, for want of memory say: nobody would ever answer. */
  if (size != sizeof held) {
    for (;;) CALL1(__NR_exit_group, 127);
  }
  char answer = 0;
  do {
    size = CALL3(__NR_read, status, &answer, 1);
  } while (size == -EINTR);
  if (size == 1 && answer == LAUNCHER_GO) return;
  for (;;) CALL1(__NR_exit_group, 127);
}

void BecomeProgram(char* block, int status) {
  const struct LauncherHeader* const header = (const struct LauncherHeader*)block;
  const uint64_t* word = (const uint64_t*)(header + 1);
  const uint64_t* const end = word + header->step_words;
  while (word < end) {
    const uint32_t code = (uint32_t)*word;
    const uint32_t count = (uint32_t)(*word >> 32);
    const long result = TakeStep(code, word + 1, count, block);
    if (result < 0) Refuse(status, code, result, count > 0 ? word[1] : 0);
    word += 1 + count;
  }
  char** const argv = ToPointers(block, header->argv);
  char** const envp = ToPointers(block, header->envp);
  if (header->pinned >= 0) CALL3(__NR_fcntl, header->pinned, F_SETFD, FD_CLOEXEC);
  if (header->hold != 0) HoldUntilLetGo(status, block);
  const long refused = header->pinned >= 0
                           ? CALL5(__NR_execveat, header->pinned, "", argv, envp, AT_EMPTY_PATH)
                           : CALL3(__NR_execve, block + header->executable, argv, envp);
  Refuse(status, STEP_EXEC, refused, 0);
}
