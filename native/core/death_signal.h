// Whether the signal that a child wants at our end would be delivered.
#pragma once

#include <vector>

#include "core/launch_request.h"

namespace sallyport {

// False where the steps ask for a parent-death signal and for a user whom we may not signal: the
// kernel asks the dying parent's rights, and drops the signal without a word.
bool MaySignalAtDeath(const std::vector<LaunchStep>& steps);

}  // namespace sallyport
