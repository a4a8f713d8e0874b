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

// Refuses (ENOSYS) where the steps close everything else and the C library offers no way to do it:
// a leaky launch is never a fallback. Without add_chdir a lane changes its own directory, and
// nobody else any. ETXTBSY, which only says that another thread's child has not reached its exec
// yet, is retried for up to 100 ms.
//
// The error's stage is "exec" for whatever posix_spawn refused: it gives one errno for all steps.
//
// `steps` make the child's table out of the calling thread's: OrderDescriptorSteps() in a table
// that is shared, OrderLaneSteps() in a lane's.
Result<pid_t> PosixSpawn(const LaunchRequest& request, const std::vector<DescriptorStep>& steps,
                         const SpawnExtensions& extensions = SpawnExtensions::Available());

}  // namespace sallyport
