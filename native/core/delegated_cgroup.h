// Whether a cgroup was handed over to whoever runs in it: what a service manager wrote on it.
#pragma once

#include <string>

namespace sallyport {

// Of this directory alone: what is below a delegated one is delegated as well.
bool IsMarkedDelegated(const std::string& directory);

}  // namespace sallyport
