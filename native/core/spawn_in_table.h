// Starts a request's program out of the calling thread's table, by itself or through the launcher.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/launch_request.h"
#include "core/result.h"

namespace sallyport {

enum class TableOrigin {
  kLane,    // the thread has a lane's private table
  kShared,  // the thread has the process's own
};

// `moves`: request.descriptors, with sources that are numbers of the calling thread's table. With a
// launcher, the child becomes the launcher first: it has two descriptors more, close-on-exec, until
// the program runs, and a step that is refused is reported by name. Returns when the program runs.
// `evidence` takes what a verification saw, as src/launch/evidence.ts reads it; where the child is
// not as planned, it has been ended and the error's path is that text (stage "verify", errno 0).
Result<pid_t> SpawnInTable(const LaunchRequest& request, const std::vector<DescriptorMove>& moves,
                           TableOrigin origin, std::string* evidence = nullptr);

}  // namespace sallyport
