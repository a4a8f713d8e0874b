// One launch on its way: what was asked for, and the descriptors that it holds meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/accounts.h"
#include "core/init_links.h"
#include "core/launch_request.h"
#include "core/reaper.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

// What stands at one number of the child's table.
struct TableEntry {
  // kPinned: the program itself, at a number that is chosen here.
  enum class Kind { kNull, kPipeToChild, kPipeFromChild, kHeld, kSameAs, kPinned };
  int target;
  Kind kind;
  // kHeld, kPinned: a number in LaunchJob::held; kSameAs: the target of an earlier pipe; a pipe:
  // its size in bytes, or below 1 for the kernel's default.
  int held;
};

using JobId = uint64_t;

// A child that runs and is watched, with our ends of its pipes in the order of the table.
struct LaunchedChild {
  ChildId id;
  pid_t pid;
  pid_t program;  // of an init: the program that it started; otherwise the child itself
  std::vector<UniqueFd> ours;
  std::string evidence = {};  // what VerifyHeld() or LookAfterExec() saw
};

// Told on a native thread. Must not block for long and must not throw.
class LaunchListener : public ExitListener, public InitListener {
 public:
  virtual void LaunchFinished(JobId id, Result<LaunchedChild> outcome) = 0;
};

// All descriptors are numbers of the process's own table, so a job must end on a thread that has
// it: never on a lane.
struct LaunchJob {
  AccountNames accounts;
  LaunchRequest request;  // descriptors and null_targets: filled by OpenTable()
  std::vector<TableEntry> table;
  std::vector<UniqueFd> held;
  std::vector<UniqueFd> ours;
  std::vector<UniqueFd> theirs;
  UniqueFd control;  // our end, where the child is an init
  std::shared_ptr<LaunchListener> listener;
  JobId id = 0;               // 0: somebody waits for this launch
  bool keeps_zombie = false;  // as Reaper::Watch has it
};

// Opens the pipes of the table and fills the request with it. Stage "descriptor".
Result<bool> OpenTable(LaunchJob& job);

// Hands a child that was just started to the reaper. On failure it has been killed and reaped.
Result<LaunchedChild> WatchLaunched(LaunchJob& job, pid_t pid, std::string evidence = {});

// Ends a child that nobody will hear of, with its group, where it leads one. An init is not killed
// itself: it would leave its program behind. It ends all that is below it when its link is closed.
void EndUnheard(const LaunchedChild& child);

}  // namespace sallyport
