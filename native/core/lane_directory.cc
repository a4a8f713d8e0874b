// The working directory of a lane, where the C library cannot change that of a child.
#include "core/lane_directory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace sallyport {

namespace {

thread_local bool has_own_directory = false;

// Of the process, whose first thread shares it with all but us; -1 where it cannot be told. Raw
// calls: the number is that of a lane's table.
long ProcessUmask() {
  const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[256];  // Name, which is escaped to 64 bytes at most, and then Umask
  const long size = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  if (size <= 0) return -1;
  text[size] = '\0';
  const char* const line = strstr(text, "\nUmask:\t");
  return line == nullptr ? -1 : strtol(line + strlen("\nUmask:\t"), nullptr, 8);
}

}  // namespace

int TakeOwnDirectory() {
  if (unshare(CLONE_FS) != 0) return errno;
  has_own_directory = true;
  return 0;
}

bool HasOwnDirectory() { return has_own_directory; }

int EnterDirectory(const std::string& directory) {
  const long mask = ProcessUmask();
  if (mask < 0) return ENOSYS;
  umask(static_cast<mode_t>(mask));
  const char* const path = directory.empty() ? "/proc/self/cwd" : directory.c_str();
  return chdir(path) == 0 ? 0 : errno;
}

}  // namespace sallyport
