// One launch on its way: what was asked for, and the descriptors that it holds meanwhile.
#include "core/launch_job.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>
#include <utility>

#include "core/pipes.h"

namespace sallyport {

namespace {

// The lowest number from 3 that the child's table leaves free.
int FreeTarget(const LaunchJob& job) {
  std::set<int> used;
  for (const TableEntry& entry : job.table) used.insert(entry.target);
  for (const DescriptorMove& move : job.request.descriptors) used.insert(move.target);
  int target = 3;
  while (used.count(target) != 0) ++target;
  return target;
}

// The launcher joins it as its first step. The group's own rules let whoever could open this do so.
Result<bool> OpenCgroup(LaunchJob& job) {
  const std::string path = job.request.cgroup + "/cgroup.procs";
  UniqueFd procs(MoveAboveStandard(open(path.c_str(), O_WRONLY | O_CLOEXEC)));
  if (!procs.valid()) return SysError{"cgroup", errno, path};
  const int target = FreeTarget(job);
  job.request.descriptors.push_back({procs.get(), target});
  job.request.steps.insert(job.request.steps.begin(),
                           LaunchStep{STEP_CGROUP, {static_cast<uint64_t>(target)}});
  job.theirs.push_back(std::move(procs));
  return true;
}

// A stream socket between an init and us.
Result<bool> OpenControl(LaunchJob& job) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return SysError{"descriptor", errno, ""};
  }
  UniqueFd ours_low(ends[0]);
  UniqueFd theirs_low(ends[1]);
  UniqueFd ours(MoveAboveStandard(ours_low.release()));
  UniqueFd theirs(MoveAboveStandard(theirs_low.release()));
  if (!ours.valid() || !theirs.valid() || fcntl(ours.get(), F_SETFL, O_RDWR | O_NONBLOCK) != 0) {
    return SysError{"descriptor", errno, ""};
  }
  const int target = FreeTarget(job);
  job.request.control = target;
  job.request.descriptors.push_back({theirs.get(), target});
  job.control = std::move(ours);
  job.theirs.push_back(std::move(theirs));
  return true;
}

// Known by our own end: both ends of a pipe have one inode.
void ExpectPipe(Verification& verification, const TableEntry& entry, int ours) {
  struct stat info;
  if (verification.when == Verification::When::kNever || fstat(ours, &info) != 0) return;
  const ObjectAccess access =
      entry.kind == TableEntry::Kind::kPipeToChild ? ObjectAccess::kRead : ObjectAccess::kWrite;
  verification.objects.push_back({entry.target, info.st_dev, info.st_ino, access, 0});
}

void ExpectSame(Verification& verification, int as, int target) {
  for (const ExpectedObject& object : verification.objects) {
    if (object.target != as) continue;
    ExpectedObject same = object;
    same.target = target;
    verification.objects.push_back(same);
    return;
  }
}

// The pid of the program. The init said it before the launch was seen to have succeeded.
pid_t ReadStarted(int control) {
  LauncherReport report;
  const ssize_t size = recv(control, &report, sizeof report, MSG_DONTWAIT);
  const bool whole = size == static_cast<ssize_t>(sizeof report) && report.kind == REPORT_STARTED;
  return whole ? report.pid : -1;
}

}  // namespace

Result<bool> OpenTable(LaunchJob& job) {
  int pinned = -1;
  for (const TableEntry& entry : job.table) {
    if (entry.kind == TableEntry::Kind::kNull) {
      job.request.null_targets.push_back(entry.target);
    } else if (entry.kind == TableEntry::Kind::kHeld) {
      job.request.descriptors.push_back({entry.held, entry.target});
    } else if (entry.kind == TableEntry::Kind::kPinned) {
      pinned = entry.held;
    } else if (entry.kind == TableEntry::Kind::kSameAs) {
      const auto same =
          std::find_if(job.request.descriptors.begin(), job.request.descriptors.end(),
                       [&entry](const DescriptorMove& move) { return move.target == entry.held; });
      if (same == job.request.descriptors.end()) return SysError{"descriptor", EBADF, ""};
      job.request.descriptors.push_back({same->source, entry.target});
      ExpectSame(job.request.verification, entry.held, entry.target);
    } else {
      Result<ChannelPipe> pipe =
          OpenChannelPipe(entry.kind == TableEntry::Kind::kPipeToChild ? PipeDirection::kToChild
                                                                       : PipeDirection::kFromChild,
                          entry.held);
      if (!pipe.ok()) return pipe.error();
      job.request.descriptors.push_back({pipe.value().theirs.get(), entry.target});
      ExpectPipe(job.request.verification, entry, pipe.value().ours.get());
      job.ours.push_back(std::move(pipe.value().ours));
      job.theirs.push_back(std::move(pipe.value().theirs));
    }
  }
  if (pinned >= 0) {
    job.request.pinned = FreeTarget(job);
    job.request.descriptors.push_back({pinned, job.request.pinned});
  }
  if (!job.request.cgroup.empty()) {
    Result<bool> opened = OpenCgroup(job);
    if (!opened.ok()) return opened;
  }
  if (job.request.init) return OpenControl(job);
  return true;
}

Result<LaunchedChild> WatchLaunched(LaunchJob& job, pid_t pid, std::string evidence) {
  const bool leads_group = job.request.session != SessionMode::kInherit;
  const Result<ChildId> id = Reaper::Instance().Watch(
      pid, leads_group, job.keeps_zombie, job.listener, job.request.init ? &job.control : nullptr);
  if (!id.ok()) return id.error();
  pid_t program = pid;
  if (job.request.init) {
    program = ReadStarted(job.control.get());
    InitLinks::Instance().Add(id.value(), std::move(job.control), job.listener);
  }
  return LaunchedChild{id.value(), pid, program, std::move(job.ours), std::move(evidence)};
}

void EndUnheard(const LaunchedChild& child) {
  const bool is_init = child.program != child.pid;
  if (is_init) {
    InitLinks::Instance().Close(child.id);
  } else if (Reaper::Instance().SignalGroup(child.id, SIGKILL) != 0) {
    Reaper::Instance().Signal(child.id, SIGKILL);
  }
  Reaper::Instance().Release(child.id);
}

}  // namespace sallyport
