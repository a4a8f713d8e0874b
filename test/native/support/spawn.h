// Starts a child from the table of this process, without the launcher.
#pragma once

#include <doctest/doctest.h>
#include <sys/types.h>

#include "core/descriptor_steps.h"
#include "core/posix_spawner.h"

namespace sallyport {

inline pid_t Spawn(const LaunchRequest& request) {
  const Result<pid_t> pid =
      PosixSpawn(request, OrderDescriptorSteps(request.descriptors, request.null_targets));
  REQUIRE(pid.ok());
  return pid.value();
}

}  // namespace sallyport
