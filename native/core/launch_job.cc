// One launch on its way: what was asked for, and the descriptors that it holds meanwhile.
#include "core/launch_job.h"

#include <utility>

#include "core/pipes.h"

namespace sallyport {

Result<bool> OpenTable(LaunchJob& job) {
  for (const TableEntry& entry : job.table) {
    if (entry.kind == TableEntry::Kind::kNull) {
      job.request.null_targets.push_back(entry.target);
    } else if (entry.kind == TableEntry::Kind::kHeld) {
      job.request.descriptors.push_back({entry.held, entry.target});
    } else {
      Result<ChannelPipe> pipe =
          OpenChannelPipe(entry.kind == TableEntry::Kind::kPipeToChild ? PipeDirection::kToChild
                                                                       : PipeDirection::kFromChild);
      if (!pipe.ok()) return pipe.error();
      job.request.descriptors.push_back({pipe.value().theirs.get(), entry.target});
      job.ours.push_back(std::move(pipe.value().ours));
      job.theirs.push_back(std::move(pipe.value().theirs));
    }
  }
  return true;
}

Result<LaunchedChild> WatchLaunched(LaunchJob& job, pid_t pid) {
  const bool leads_group = job.request.session != SessionMode::kInherit;
  const Result<ChildId> id = Reaper::Instance().Watch(pid, leads_group, job.listener);
  if (!id.ok()) return id.error();
  return LaunchedChild{id.value(), pid, std::move(job.ours)};
}

}  // namespace sallyport
