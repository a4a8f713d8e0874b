// Asks whether a path can be executed by this process.
#include "core/executable_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport {

namespace {

// exec goes by the effective ids, access(2) by the real ones. Where both are the same the older
// call is preferred: faccessat2 (kernel 5.8) is refused with EPERM by old container profiles.
int MayExecute(const char* path) {
  const bool same_ids = getuid() == geteuid() && getgid() == getegid();
  const int result = same_ids ? access(path, X_OK) : faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
  return result == 0 ? 0 : errno;
}

}  // namespace

int ProbeExecutable(const char* path) {
  struct stat info;
  if (stat(path, &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  return MayExecute(path);
}

int ProbeDirectory(const char* path) {
  struct stat info;
  if (stat(path, &info) != 0) return errno;
  if (!S_ISDIR(info.st_mode)) return ENOTDIR;
  return MayExecute(path);
}

}  // namespace sallyport
