// System calls that the C library of the oldest supported system (glibc 2.28) does not wrap.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace sallyport {

// pidfd_open(2), kernel 5.3. The descriptor is close-on-exec.
int PidfdOpen(pid_t pid);

// pidfd_send_signal(2), kernel 5.1.
int PidfdSendSignal(int pidfd, int signal);

// waitid(2) with the resource usage that the C library's wrapper leaves out. P_PIDFD: kernel 5.4.
int WaitidWithUsage(idtype_t type, id_t id, siginfo_t* info, int options, struct rusage* usage);

// PIDFD_GET_INFO with PIDFD_INFO_EXIT, kernel 6.15: the wait status of a process that somebody else
// has reaped. Returns 0 and sets *status, or -1.
int PidfdExitStatus(int pidfd, int* status);

// pidfd_getfd(2), kernel 5.6: a duplicate, close-on-exec, of another process's descriptor.
int PidfdGetfd(int pidfd, int fd);

// kcmp(2). 0: the same; above 0: not the same; -1 with errno. Needs the right to trace both.
int CompareTables(pid_t left, pid_t right);
int CompareFiles(pid_t left, int left_fd, pid_t right, int right_fd);

// openat2(2), kernel 5.6: nothing outside of `root`, and no symlink, at no component.
int OpenBeneath(int root, const char* path, int flags);

// Old container profiles answer EPERM, not ENOSYS, to system calls that they do not know.
bool IsUnavailable(int errno_value);

// Whether a call was refused for a signal or for want of memory, and is to be made again: at once
// after a signal, else after a millisecond, which this waits.
bool WaitIfPassing(int errno_value);

}  // namespace sallyport
