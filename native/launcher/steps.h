// The steps that posix_spawn has no words for.
#ifndef SALLYPORT_LAUNCHER_STEPS_H
#define SALLYPORT_LAUNCHER_STEPS_H

#include <stdint.h>

/* Takes one step of the instructions. `block` is their start. Returns 0 or a negative errno value.
 */
long TakeStep(uint32_t code, const uint64_t* arguments, uint32_t count, char* block);

#endif
