// The last part of every launch: take the steps, become the program.
#ifndef SALLYPORT_LAUNCHER_PROGRAM_H
#define SALLYPORT_LAUNCHER_PROGRAM_H

#include <stdint.h>

/* Says on the status pipe what was refused (a negative errno value), and ends. */
__attribute__((noreturn)) void Refuse(int status, uint32_t step, long result, uint64_t detail);

__attribute__((noreturn)) void BecomeProgram(char* block, int status);

#endif
