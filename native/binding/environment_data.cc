// What the addon keeps for one Node environment (the main thread, or a Worker).
#include "binding/environment_data.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/account_lookups.h"
#include "core/lane_pool.h"
#include "core/reaper.h"

namespace sallyport {

namespace {

// The mailboxes of all environments that are there or have been, for the end of the process.
class OpenMailboxes {
 public:
  void Add(const std::shared_ptr<EventMailbox>& mailbox) {
    const std::lock_guard<std::mutex> lock(mutex_);
    mailboxes_.push_back(mailbox);
  }
  std::vector<std::shared_ptr<EventMailbox>> All() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<EventMailbox>> alive;
    for (const std::weak_ptr<EventMailbox>& mailbox : mailboxes_) {
      if (std::shared_ptr<EventMailbox> held = mailbox.lock()) alive.push_back(std::move(held));
    }
    return alive;
  }

 private:
  std::mutex mutex_;  // guards the field below
  std::vector<std::weak_ptr<EventMailbox>> mailboxes_;
};

// Never destroyed: native threads may outlive static destructors.
OpenMailboxes& open_mailboxes = *new OpenMailboxes;

}  // namespace

DeliveredChild::DeliveredChild(LaunchedChild launched) : child(std::move(launched)) {
  for (const UniqueFd& ours : child.ours) pipes.push_back(FileIdentity::Of(ours.get()));
}

void DeliveredChild::DropClosed() {
  for (size_t i = 0; i < child.ours.size(); ++i) {
    const bool is_same = FileIdentity::Of(child.ours[i].get()) == pipes[i];
    if (!is_same) static_cast<void>(child.ours[i].release());
  }
}

// Hooks run last in, first out: this one after the mailbox's, which ends what is on its way. It
// holds them by itself, as that one does.
EnvironmentData::EnvironmentData(napi_env env)
    : mailbox_(std::make_shared<EventMailbox>()), lent_(std::make_shared<LentDescriptors>()) {
  napi_add_env_cleanup_hook(env, CloseLent, new std::shared_ptr<LentDescriptors>(lent_));
}

void EnvironmentData::CloseLent(void* held) {
  const std::unique_ptr<std::shared_ptr<LentDescriptors>> lent(
      static_cast<std::shared_ptr<LentDescriptors>*>(held));
  (*lent)->CloseAll();
}

void EventMailbox::ChildExited(ChildId id, const ExitStatus& status) {
  Post(ExitEvent{id, status});
}

void EventMailbox::LaunchFinished(JobId id, Result<LaunchedChild> outcome) {
  Post(LaunchEvent{id, std::move(outcome)});
}

void EventMailbox::InitReported(ChildId init, const LauncherReport& report) {
  Post(ReportEvent{init, report});
}

void EventMailbox::InitSilent(ChildId init) { Post(ReportEvent{init, {}}); }

void EventMailbox::PipeReady(WatchId pipe) { Post(ReadyEvent{pipe}); }

void EventMailbox::UserLookedUp(LookupId id, const Result<AccountIds>& outcome) {
  Post(UserEvent{id, outcome});
}

void EventMailbox::Post(Event event) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (notify_ != nullptr) {
      pending_.push_back(std::move(event));
      // One call delivers all that is pending when it runs.
      if (pending_.size() == 1) {
        napi_call_threadsafe_function(notify_, nullptr, napi_tsfn_nonblocking);
      }
      return;
    }
  }
  // The environment ended while its launch was under way.
  AbandonEvent(event);
}

void EventMailbox::Open(napi_env env, napi_value callback) {
  napi_value name = nullptr;
  napi_threadsafe_function notify = nullptr;
  if (napi_create_string_utf8(env, "sallyport", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, callback, nullptr, name, 0, 1, nullptr, nullptr, this,
                                      DeliverPending, &notify) != napi_ok) {
    napi_throw_error(env, nullptr, "sallyport: no channel for events");
    return;
  }
  // Only children that are referenced keep the process running.
  napi_unref_threadsafe_function(env, notify);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notify_ = notify;
  }
  open_mailboxes.Add(shared_from_this());
  static std::once_flag at_exit;
  std::call_once(at_exit, [] {
    std::atexit(AbandonAll);
    // Bun ends so.
    std::at_quick_exit(AbandonAll);
  });
  // Hooks run last in, first out: this one runs before the function's own, so that no native thread
  // calls a function that is going away. It holds the mailbox by itself, since the order against
  // instance data is not promised.
  napi_add_env_cleanup_hook(env, CloseHook, new std::shared_ptr<EventMailbox>(shared_from_this()));
}

void EventMailbox::CloseHook(void* held) {
  const std::unique_ptr<std::shared_ptr<EventMailbox>> mailbox(
      static_cast<std::shared_ptr<EventMailbox>*>(held));
  (*mailbox)->Close();
}

void EventMailbox::Close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (notify_ != nullptr) napi_release_threadsafe_function(notify_, napi_tsfn_abort);
  }
  Abandon();
}

// The environment hears nothing more: what it never heard of is taken back or ended.
void EventMailbox::Abandon() {
  std::vector<Event> undelivered;
  std::unordered_map<ChildId, DeliveredChild> delivered;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notify_ = nullptr;
    undelivered.swap(pending_);
    delivered.swap(delivered_);
  }
  for (const Event& event : undelivered) AbandonEvent(event);
  // Streams of the environment are closed before its hooks are called: Environment::RunCleanup of
  // Node.
  for (auto& [id, told] : delivered) {
    told.DropClosed();
    EndUnheard(told.child);
  }
  // Nobody is left who would say that a zombie's number is not needed any longer.
  Reaper::Instance().ReleaseAll(this);
  AccountLookups::Instance().CancelAll(this);
  LanePool::Instance(true).CancelAll(this);
  LanePool::Instance(false).CancelAll(this);
  // A run ends with the environment that started it.
  InitLinks::Instance().CloseAll(this);
  WatchedPipes::Instance().CloseAll(this);
}

// At exit(3) or quick_exit(3): process.exit() in the main thread, and an uncaught exception, run no
// hooks of the environment. Bounded, since an exec may hang on a dead mount.
void EventMailbox::AbandonAll() {
  constexpr std::chrono::milliseconds kPatience(500);
  for (const std::shared_ptr<EventMailbox>& mailbox : open_mailboxes.All()) mailbox->Abandon();
  LanePool::Instance(true).WaitForJobs(kPatience);
  LanePool::Instance(false).WaitForJobs(kPatience);
}

void EventMailbox::KeepAlive(napi_env env, bool wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notify_ == nullptr) return;
  if (wanted) {
    napi_ref_threadsafe_function(env, notify_);
  } else {
    napi_unref_threadsafe_function(env, notify_);
  }
}

void EventMailbox::Deliver(LaunchedChild child) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const ChildId id = child.id;
  delivered_.emplace(id, DeliveredChild(std::move(child)));
}

void EventMailbox::TakeOver(ChildId id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = delivered_.find(id);
  if (found == delivered_.end()) return;
  for (UniqueFd& ours : found->second.child.ours) static_cast<void>(ours.release());
  delivered_.erase(found);
}

// Plain calls, each checked: in an environment that is being terminated every call may refuse, and
// node-addon-api would make a fatal error of that.
void EventMailbox::DeliverPending(napi_env env, napi_value callback, void* context, void*) {
  if (env == nullptr) return;  // the environment is being torn down
  auto* mailbox = static_cast<EventMailbox*>(context);
  std::vector<Event> events;
  {
    const std::lock_guard<std::mutex> lock(mailbox->mutex_);
    events.swap(mailbox->pending_);
  }
  napi_value batch = EventsToJs(env, events);
  napi_value receiver = nullptr;
  if (batch == nullptr) return;
  for (Event& event : events) {
    LaunchedChild* const child = FindLaunched(event);
    if (child != nullptr) mailbox->Deliver(std::move(*child));
  }
  if (napi_get_undefined(env, &receiver) != napi_ok) return;
  napi_call_function(env, receiver, callback, 1, &batch, nullptr);
}

napi_value LendToJs(Napi::Env env, UniqueFd& fd) {
  napi_value number = nullptr;
  if (napi_create_int32(env, fd.get(), &number) != napi_ok) return nullptr;
  EnvironmentData::Of(env).lent().Lend(fd.release());
  return number;
}

napi_value LendToJs(Napi::Env env, UniqueFd& first, UniqueFd& second) {
  napi_value pair = nullptr;
  napi_value ends[2] = {nullptr, nullptr};
  if (napi_create_int32(env, first.get(), &ends[0]) != napi_ok ||
      napi_create_int32(env, second.get(), &ends[1]) != napi_ok ||
      napi_create_array_with_length(env, 2, &pair) != napi_ok ||
      napi_set_element(env, pair, 0, ends[0]) != napi_ok ||
      napi_set_element(env, pair, 1, ends[1]) != napi_ok) {
    return nullptr;
  }
  LentDescriptors& lent = EnvironmentData::Of(env).lent();
  lent.Lend(first.release());
  lent.Lend(second.release());
  return pair;
}

}  // namespace sallyport
