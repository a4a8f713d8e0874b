// What the addon keeps for one Node environment (the main thread, or a Worker).
#pragma once

#include <napi.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "binding/events_to_js.h"
#include "core/launch_job.h"
#include "core/reaper.h"

namespace sallyport {

// Carries what happened to launches, children and lookups from native threads into one JavaScript
// environment. Outlives that environment where children do: then it hears of them and drops what it
// hears.
class EventMailbox : public LaunchListener,
                     public PipeListener,
                     public AccountListener,
                     public std::enable_shared_from_this<EventMailbox> {
 public:
  void ChildExited(ChildId id, const ExitStatus& status) override;
  void LaunchFinished(JobId id, Result<LaunchedChild> outcome) override;
  void InitReported(ChildId init, const LauncherReport& report) override;
  void InitSilent(ChildId init) override;
  void PipeReady(WatchId pipe) override;
  void UserLookedUp(LookupId id, const Result<AccountIds>& outcome) override;

  // On the environment's own thread:
  void Open(napi_env env, napi_value callback);
  void KeepAlive(napi_env env, bool wanted);
  // JavaScript has been told of this child, and has it when it has said so: an environment may be
  // terminated in between, in the midst of a batch.
  void Deliver(LaunchedChild child);
  // Our ends of its pipes are JavaScript's from now on, as numbers.
  void TakeOver(ChildId id);

 private:
  void Post(Event event);
  void Close();
  void Abandon();
  static void AbandonAll();
  static void CloseHook(void* held);
  static void DeliverPending(napi_env env, napi_value callback, void* context, void* data);

  std::mutex mutex_;  // guards the fields below
  std::vector<Event> pending_;
  std::unordered_map<ChildId, LaunchedChild> delivered_;  // and not taken over yet
  napi_threadsafe_function notify_ = nullptr;  // null: not open yet, or the environment has ended
};

class EnvironmentData {
 public:
  EnvironmentData() : mailbox_(std::make_shared<EventMailbox>()) {}
  static EnvironmentData& Of(Napi::Env env) { return *env.GetInstanceData<EnvironmentData>(); }

  const std::shared_ptr<EventMailbox>& mailbox() const { return mailbox_; }

 private:
  std::shared_ptr<EventMailbox> mailbox_;
};

}  // namespace sallyport
