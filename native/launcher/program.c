// The last part of every launch: take the steps, become the program.
#include "program.h"

#include "instructions.h"
#include "steps.h"
#include "system.h"

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
  Refuse(status, STEP_EXEC, CALL3(__NR_execve, block + header->executable, argv, envp), 0);
}
