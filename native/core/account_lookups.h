// Looks users and groups up off the thread that asked: for launches, before a lane gets them, and
// for whoever wants to know the ids.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/accounts.h"
#include "core/lane_pool.h"
#include "core/launch_job.h"
#include "core/result.h"

namespace sallyport {

using LookupId = uint64_t;  // never reused

// Told on a thread of that lookup. Must not block for long and must not throw.
class AccountListener {
 public:
  virtual ~AccountListener() = default;
  virtual void UserLookedUp(LookupId id, const Result<AccountIds>& outcome) = 0;
};

// One per process, never destroyed.
class AccountLookups {
 public:
  static AccountLookups& Instance();

  // LanePool::Submit for a job whose accounts may have to be looked up. The databases may be far
  // away, so that each of these waits on a thread of its own; all other jobs go on at once. Stage
  // "process", EAGAIN: no such thread.
  Result<bool> Submit(std::unique_ptr<LaunchJob> job, LanePool& pool);

  // The ids of a user, by name or number, for a listener that hears of them once. Stage "process",
  // EAGAIN, likewise.
  Result<LookupId> Find(const std::string& user, std::shared_ptr<AccountListener> listener);

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

  std::mutex mutex_;  // guards the field below
  std::map<JobId, std::unique_ptr<LaunchJob>> pending_;
  std::atomic<LookupId> next_id_{1};
};

}  // namespace sallyport
