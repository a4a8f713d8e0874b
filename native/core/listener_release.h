// Frees the port of a listener that another process holds, without ending that process.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/result.h"

namespace sallyport {

// Takes a duplicate of the process's descriptor, pidfd_getfd(2); makes sure that it is the listener
// with this inode of a process that started then; sets SO_REUSEADDR, so that another may bind
// although this socket stays bound; and shuts it down, so that it listens no more. Stage "release";
// the path is the step that was refused.
Result<bool> ReleaseListener(pid_t pid, uint64_t start_time, int fd, uint64_t inode);

// Whether that socket of that process has SO_REUSEADDR. Stage "release".
Result<bool> ReusesAddress(pid_t pid, uint64_t start_time, int fd, uint64_t inode);

// What ReleaseListener does for a descriptor of our own, which stays open. Stage "release".
Result<bool> ShutDownListener(int fd);

}  // namespace sallyport
