// Starts a child by posix_spawn(3) on the calling thread.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include "core/launch_request.h"
#include "core/result.h"

namespace sallyport {

// File actions that are newer than the oldest supported C library (glibc 2.28). Looked up at run
// time; null where the C library lacks one.
struct SpawnExtensions {
  int (*add_close_from)(posix_spawn_file_actions_t*, int) = nullptr;     // glibc 2.34
  int (*add_chdir)(posix_spawn_file_actions_t*, const char*) = nullptr;  // glibc 2.29
  int (*add_tcsetpgrp)(posix_spawn_file_actions_t*, int) = nullptr;      // glibc 2.35

  static const SpawnExtensions& Available();
};

// The child gets exactly the request's table. Refuses (ENOSYS) where the C library offers no way to
// close everything else: a leaky launch is never a fallback. ETXTBSY, which only says that another
// thread's child has not reached its exec yet, is retried for up to 100 ms.
//
// The error's stage is "exec" for whatever posix_spawn refused: it gives one errno for all steps.
Result<pid_t> PosixSpawn(const LaunchRequest& request,
                         const SpawnExtensions& extensions = SpawnExtensions::Available());

}  // namespace sallyport
