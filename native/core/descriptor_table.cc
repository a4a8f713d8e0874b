// The descriptor table of this process: list it, hold copies of parts of it, seal it.
#include "core/descriptor_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

namespace sallyport {

namespace {

constexpr char kOwnTable[] = "/proc/self/fd";

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

Result<std::vector<int>> ListDescriptors() {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(kOwnTable));
  if (directory == nullptr) return SysError{"descriptor", errno, kOwnTable};
  std::vector<int> numbers;
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    const int fd = atoi(entry->d_name);
    if (fd != dirfd(directory.get())) numbers.push_back(fd);
    errno = 0;
  }
  if (errno != 0) return SysError{"descriptor", errno, kOwnTable};
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

long DescriptorLimit() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT32_MAX;
  return static_cast<long>(limit.rlim_cur);
}

Result<std::vector<HeldDescriptor>> HoldDescriptors(const std::vector<int>& numbers) {
  std::vector<HeldDescriptor> held;
  held.reserve(numbers.size());
  // All of them before the first copy is made: a number that is not open must not come to life by
  // it.
  for (int number : numbers) {
    if (fcntl(number, F_GETFD) < 0) return SysError{"descriptor", errno, std::to_string(number)};
  }
  for (int number : numbers) {
    UniqueFd copy(fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!copy.valid()) return SysError{"descriptor", errno, std::to_string(number)};
    Result<DescriptorObject> object = DescribeDescriptor(copy.get());
    if (!object.ok()) {
      return SysError{"descriptor", object.error().errno_value, std::to_string(number)};
    }
    held.push_back({std::move(copy), std::move(object.value())});
  }
  return held;
}

namespace {

bool IsWanted(SealKinds kinds, const DescriptorObject& object) {
  switch (kinds) {
    case SealKinds::kSockets:
      return object.socket.has_value();
    case SealKinds::kListeners:
      return object.kind == ObjectKind::kListener;
    case SealKinds::kAll:
      break;
  }
  return true;
}

}  // namespace

Result<std::vector<OpenDescriptor>> SealDescriptors(const SealRequest& request) {
  Result<std::vector<int>> numbers = ListDescriptors();
  if (!numbers.ok()) return numbers.error();
  std::vector<OpenDescriptor> sealed;
  const auto& except = request.except;
  for (int fd : numbers.value()) {
    if (fd <= 2 && !request.standard) continue;
    if (std::find(except.begin(), except.end(), fd) != except.end()) continue;
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) continue;  // closed meanwhile, or sealed already
    Result<DescriptorObject> object = DescribeDescriptor(fd);
    if (!object.ok() || !IsWanted(request.kinds, object.value())) continue;
    if (fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) continue;
    sealed.push_back({fd, true, std::move(object.value())});
  }
  return sealed;
}

}  // namespace sallyport
