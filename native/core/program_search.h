// Starts a program by the name that execvp(3) would be given.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/launch_job.h"
#include "core/result.h"

namespace sallyport {

// What execvp(3) would execute, in its order: the name itself where it has a slash; otherwise with
// each directory of `path`, an empty one being the working directory. Pure.
std::vector<std::string> ListCandidates(const std::string& name, const std::string& path);

// Starts job.request with a program as execvp(3) finds it, request.executable being its name:
// what is not there, or may not be executed, is passed over; what has no format that the kernel
// knows is given to /bin/sh. `arguments` are those of the request, NUL-terminated each. The table
// must hold descriptors that are there already, and no pipe to open: there may be several attempts.
Result<LaunchedChild> SpawnSearched(LaunchJob& job, const std::string& path,
                                    const std::string& arguments,
                                    const std::function<Result<LaunchedChild>(LaunchJob&)>& start);

}  // namespace sallyport
