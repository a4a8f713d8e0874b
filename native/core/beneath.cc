// Opens directories below another one, never through a symlink.
#include "core/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/system_calls.h"

namespace sallyport {

namespace {

UniqueFd OpenComponent(int directory, const char* name, int flags) {
  UniqueFd opened(openat(directory, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.valid() || errno != ENOTDIR) return opened;
  // O_DIRECTORY says ENOTDIR of a symlink too.
  struct stat info;
  const bool is_link =
      fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
  errno = is_link ? ELOOP : ENOTDIR;
  return opened;
}

UniqueFd Walk(int root, const std::string& path, int flags) {
  UniqueFd current;
  for (size_t start = 0; start <= path.size();) {
    const size_t slash = path.find('/', start);
    const size_t end = slash == std::string::npos ? path.size() : slash;
    const std::string name = path.substr(start, end - start);
    const bool last = end == path.size();
    current =
        OpenComponent(current.valid() ? current.get() : root, name.c_str(), last ? flags : O_PATH);
    if (!current.valid()) return current;
    start = end + 1;
  }
  return current;
}

}  // namespace

UniqueFd OpenDirectoryBeneath(int root, const std::string& path, int flags) {
  const std::string below = path.empty() ? "." : path;
  UniqueFd opened(OpenBeneath(root, below.c_str(), flags | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() && IsUnavailable(errno)) opened = Walk(root, below, flags);
  return UniqueFd(MoveAboveStandard(opened.release()));
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace sallyport
