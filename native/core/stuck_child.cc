// Ends a child that hangs between clone and exec.
#include "core/stuck_child.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "core/reaper.h"

namespace sallyport {

void KillStuckChild(pid_t thread_id) {
  const std::string path = "/proc/self/task/" + std::to_string(thread_id) + "/children";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), fclose);
  if (file == nullptr) return;
  int pid;
  while (fscanf(file.get(), "%d", &pid) == 1) {
    // Not reaped by anybody, so the number is still this child's.
    if (!Reaper::Instance().Watches(pid)) kill(pid, SIGKILL);
  }
}

}  // namespace sallyport
