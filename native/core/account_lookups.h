// Looks users and groups up for launches, off the thread that asked, before a lane gets them.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/lane_pool.h"
#include "core/launch_job.h"
#include "core/result.h"

namespace sallyport {

// One per process, never destroyed.
class AccountLookups {
 public:
  static AccountLookups& Instance();

  // LanePool::Submit for a job whose accounts may have to be looked up. The databases may be far
  // away, so that each of these waits on a thread of its own; all other jobs go on at once. Stage
  // "process", EAGAIN: no such thread.
  Result<bool> Submit(std::unique_ptr<LaunchJob> job, LanePool& pool);

  // Takes a launch back whose lookup is under way; its listener hears ECANCELED. False: there is
  // none.
  bool Cancel(JobId id);

  // The same for all launches of a listener that is going away, which hears nothing more.
  void CancelAll(const LaunchListener* listener);

  AccountLookups(const AccountLookups&) = delete;
  AccountLookups& operator=(const AccountLookups&) = delete;

 private:
  AccountLookups() = default;

  void LookUp(JobId id, const AccountNames& names, std::vector<LaunchStep> steps, LanePool& pool);

  std::mutex mutex_;
  std::map<JobId, std::unique_ptr<LaunchJob>> pending_;
};

}  // namespace sallyport
