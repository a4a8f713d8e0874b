// Looks users and groups up off the thread that asked: for launches, before a lane gets them, and
// for whoever wants to know the ids.
#include "core/account_lookups.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/thread.h"

namespace sallyport {

AccountLookups& AccountLookups::Instance() {
  static AccountLookups* const instance = new AccountLookups;
  return *instance;
}

Result<bool> AccountLookups::Submit(std::unique_ptr<LaunchJob> job, LanePool& pool) {
  const AccountNames names = job->accounts;
  if (names.user.empty() && names.group.empty()) return pool.Submit(std::move(job));
  const JobId id = job->id;
  const std::vector<LaunchStep> steps = job->request.steps;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_[id] = std::move(job);
  }
  if (StartThread("sallyport-names",
                  [this, id, names, steps, &pool] { LookUp(id, names, steps, pool); })) {
    return true;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_.erase(id);
  return SysError{"process", EAGAIN, ""};
}

void AccountLookups::LookUp(JobId id, const AccountNames& names, std::vector<LaunchStep> steps,
                            LanePool& pool) {
  const Result<bool> found = LookUpAccounts(names, &steps);
  std::shared_ptr<LaunchListener> listener;
  Result<bool> submitted = found;
  {
    // Until the pool has it: whoever takes it back finds it here or there.
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto waiting = pending_.find(id);
    if (waiting == pending_.end()) return;
    std::unique_ptr<LaunchJob> job = std::move(waiting->second);
    pending_.erase(waiting);
    listener = job->listener;
    if (found.ok()) {
      job->request.steps = std::move(steps);
      submitted = pool.Submit(std::move(job));
    }
    // Otherwise the job ends here: what it holds is closed before anybody hears of it.
  }
  if (!submitted.ok()) listener->LaunchFinished(id, submitted.error());
}

Result<LookupId> AccountLookups::Find(const std::string& user,
                                      std::shared_ptr<AccountListener> listener) {
  const LookupId id = next_id_++;
  if (StartThread("sallyport-names", [id, user, listener = std::move(listener)] {
        listener->UserLookedUp(id, LookUpUser(user));
      })) {
    return id;
  }
  return SysError{"process", EAGAIN, ""};
}

bool AccountLookups::Cancel(JobId id) {
  std::unique_ptr<LaunchJob> job;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto waiting = pending_.find(id);
    if (waiting == pending_.end()) return false;
    job = std::move(waiting->second);
    pending_.erase(waiting);
  }
  const std::shared_ptr<LaunchListener> listener = job->listener;
  job.reset();
  listener->LaunchFinished(id, SysError{"process", ECANCELED, ""});
  return true;
}

void AccountLookups::CancelAll(const LaunchListener* listener) {
  std::vector<std::unique_ptr<LaunchJob>> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (it->second->listener.get() != listener) {
      ++it;
      continue;
    }
    dropped.push_back(std::move(it->second));
    it = pending_.erase(it);
  }
}

}  // namespace sallyport
