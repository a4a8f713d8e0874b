// What the addon keeps for one Node environment (the main thread, or a Worker).
#pragma once

#include <napi.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "binding/events_to_js.h"
#include "binding/lent_descriptors.h"
#include "core/launch_job.h"
#include "core/reaper.h"

namespace sallyport {

// With the pipes behind its descriptors: a stream may have become the owner of some and closed
// them, and another thread may have got their numbers since.
struct DeliveredChild {
  explicit DeliveredChild(LaunchedChild launched);
  // Keeps of our ends those that are still what they were.
  void DropClosed();

  LaunchedChild child;
  std::vector<FileIdentity> pipes;  // behind `child.ours`, in its order
};

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
  // terminated in between, in the midst of a batch or of making its streams.
  void Deliver(LaunchedChild child);
  // Our ends of its pipes are JavaScript's from now on, as numbers. Nothing where it has them
  // already.
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
  std::unordered_map<ChildId, DeliveredChild> delivered_;  // and not taken over yet
  napi_threadsafe_function notify_ = nullptr;  // null: not open yet, or the environment has ended
};

class EnvironmentData {
 public:
  explicit EnvironmentData(napi_env env);
  static EnvironmentData& Of(Napi::Env env) { return *env.GetInstanceData<EnvironmentData>(); }

  const std::shared_ptr<EventMailbox>& mailbox() const { return mailbox_; }
  LentDescriptors& lent() { return *lent_; }

 private:
  static void CloseLent(void* held);

  std::shared_ptr<EventMailbox> mailbox_;
  std::shared_ptr<LentDescriptors> lent_;
};

// As numbers, which are closed with the environment unless they come back. Where it refuses to make
// them they stay the caller's.
napi_value LendToJs(Napi::Env env, UniqueFd& fd);
napi_value LendToJs(Napi::Env env, UniqueFd& first, UniqueFd& second);

}  // namespace sallyport
