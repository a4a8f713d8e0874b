// Where and how promptly a lane runs: it gets in the way of nobody, and nobody in its way.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace sallyport {

// Of the calling thread: once woken it need not wait for a program that has just begun. Its
// children do not inherit this. Does nothing where the kernel is older than 6.12 or does not allow
// it.
void AskForShortSlice();

// A thread that sleeps is to wake on another processor than the caller's. `allowed` receives what
// it may run on; false where nothing was changed, as there is no other.
bool WakeElsewhere(pid_t thread, cpu_set_t* allowed);

// A thread, 0 for the calling one, may run on `allowed` again. 0 or an errno value.
int AllowProcessors(pid_t thread, const cpu_set_t& allowed);

}  // namespace sallyport
