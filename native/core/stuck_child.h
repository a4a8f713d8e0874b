// Ends a child that hangs between clone and exec.
#pragma once

#include <sys/types.h>

namespace sallyport {

// The lane `thread_id` is inside posix_spawn. Its child, which nobody knows yet, is the one of the
// thread's children (/proc/self/task/<tid>/children, proc_tid_children(5), kernel 3.5) that no
// reaper watches. A child on a dead mount ends only when the mount answers.
void KillStuckChild(pid_t thread_id);

}  // namespace sallyport
