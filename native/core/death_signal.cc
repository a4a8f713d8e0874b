// Whether the signal that a child wants at our end would be delivered.
#include "core/death_signal.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/instructions.h"

namespace sallyport {

namespace {

bool HasCapKill() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_KILL)].effective & CAP_TO_MASK(CAP_KILL)) != 0;
}

const LaunchStep* FindStep(const std::vector<LaunchStep>& steps, uint32_t code) {
  const auto found = std::find_if(steps.begin(), steps.end(),
                                  [code](const LaunchStep& step) { return step.code == code; });
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace

bool MaySignalAtDeath(const std::vector<LaunchStep>& steps) {
  const LaunchStep* const user = FindStep(steps, STEP_USER);
  if (user == nullptr || FindStep(steps, STEP_DIE_WITH_PARENT) == nullptr) return true;
  const uint64_t uid = user->arguments.front();
  // As kill(2) has it: our real or effective uid against the child's.
  return uid == getuid() || uid == geteuid() || HasCapKill();
}

}  // namespace sallyport
