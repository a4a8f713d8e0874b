// Whether a cgroup was handed over to whoever runs in it: what a service manager wrote on it.
#include "core/delegated_cgroup.h"

#include <sys/xattr.h>

namespace sallyport {

bool IsMarkedDelegated(const std::string& directory) {
  // systemd.resource-control(5), Delegate=: the first for root alone to read and write, the second
  // for all, since version 251. Without a mark getxattr(2) fails.
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    char value = 0;
    if (getxattr(directory.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

}  // namespace sallyport
