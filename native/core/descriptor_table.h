// The descriptor table of this process: list it, hold copies of parts of it, seal it.
#pragma once

#include <vector>

#include "core/descriptor_object.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

struct OpenDescriptor {
  int fd;
  bool close_on_exec;
  DescriptorObject object;
};

// The open numbers, ascending, without the one used for looking. Stage "descriptor", path
// "/proc/self/fd" where /proc is not mounted.
Result<std::vector<int>> ListDescriptors();

// Soft RLIMIT_NOFILE: numbers at or above it cannot be given to a child.
long DescriptorLimit();

// Duplicates each number (F_DUPFD_CLOEXEC, above 2), so that what was described is what is passed
// on, whatever another thread closes and reuses meanwhile. On failure nothing stays open and the
// error's path is the decimal number refused.
struct HeldDescriptor {
  UniqueFd fd;
  DescriptorObject object;
};
Result<std::vector<HeldDescriptor>> HoldDescriptors(const std::vector<int>& numbers);

enum class SealKinds { kSockets, kListeners, kAll };

struct SealRequest {
  SealKinds kinds = SealKinds::kSockets;
  std::vector<int> except;
  bool standard = false;  // 0, 1 and 2 too
};

// Sets close-on-exec on what is open and lacks it. Returns what was changed.
Result<std::vector<OpenDescriptor>> SealDescriptors(const SealRequest& request);

}  // namespace sallyport
