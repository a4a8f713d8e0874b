// What is open in other processes: one pass over /proc, which starts no process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/descriptor_object.h"
#include "core/proc_text.h"

namespace sallyport {

struct ScannedDescriptor {
  int fd = -1;
  pid_t thread = 0;  // whose table it is in, where that is not the process's own
  ObjectKind kind = ObjectKind::kOther;
  ObjectAccess access = ObjectAccess::kNone;
  int close_on_exec = -1;  // 1, 0; -1: not readable, and neither are flags and offset
  int flags = 0;           // open file status flags
  int64_t offset = 0;
  uint64_t dev = 0;
  uint64_t inode = 0;
  bool deleted = false;
  pid_t pidfd_target = 0;  // 0: no pidfd; -1: of a process that has been reaped
  std::string target;
  std::vector<std::string> locks;
  std::vector<int> epoll_targets;
};

// Why a process could not be read, or not wholly.
enum class ScanRefusal {
  kNone,
  kProcess,      // its directory in /proc, or the facts in it
  kDescriptors,  // its list of descriptors
  kDetails,      // flags and close-on-exec of some descriptor
  kThreads,      // whether its threads have tables of their own
  kEnded,        // it ended while it was read
  kExecuted,     // it executed other programs, time and again, while it was read
  kLoading,      // it hangs in an exec, its old program gone and the new one not loaded
};

struct ScannedProcess {
  pid_t pid = 0;
  StatFacts facts;
  int64_t uid = -1;
  uint64_t network = 0;    // inode of its network namespace, 0 where it is not readable
  std::string executable;  // "" where it has none or it is not readable
  std::vector<std::string> arguments;
  std::vector<ScannedDescriptor> descriptors;
  ScanRefusal refusal = ScanRefusal::kNone;
  int errno_value = 0;
};

struct ScanRequest {
  std::vector<pid_t> pids;
  bool every = false;  // every process that /proc shows, instead of `pids`
  bool facts_only = false;
  // Where it is not empty: only pipes and sockets with these inodes, which needs a readlink for
  // each descriptor and no more.
  std::unordered_set<uint64_t> only;
};

// `list_refused`: errno where the processes cannot be listed, which is not as if there were none.
std::vector<ScannedProcess> ScanProcesses(const ScanRequest& request, int* list_refused = nullptr);

}  // namespace sallyport
