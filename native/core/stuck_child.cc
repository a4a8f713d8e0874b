// Ends a child that hangs between clone and exec.
#include "core/stuck_child.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/reaper.h"

namespace sallyport {

namespace {

std::vector<pid_t> ListChildren(pid_t thread_id) {
  const std::string path = "/proc/self/task/" + std::to_string(thread_id) + "/children";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), fclose);
  std::vector<pid_t> pids;
  if (file == nullptr) return pids;
  pid_t pid;
  while (fscanf(file.get(), "%d", &pid) == 1) pids.push_back(pid);
  return pids;
}

}  // namespace

void KillStuckChild(pid_t thread_id) {
  for (const pid_t pid : ListChildren(thread_id)) {
    if (Reaper::Instance().Watches(pid)) continue;
    // It may have been reaped and forgotten since it was listed, and the number be somebody else's.
    // What is in the list even now was not: it is a child, and nobody ever watched it.
    const std::vector<pid_t> now = ListChildren(thread_id);
    if (std::find(now.begin(), now.end(), pid) != now.end()) kill(pid, SIGKILL);
  }
}

}  // namespace sallyport
