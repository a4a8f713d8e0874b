// Binding of waiting without the event loop: events that are fetched, and poll(2).
#include "binding/sync_events.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "binding/environment_data.h"
#include "binding/events_to_js.h"
#include "binding/values.h"
#include "core/account_lookups.h"
#include "core/lane_pool.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

// Keeps events until they are fetched, and makes a descriptor readable meanwhile.
class SyncMailbox : public LaunchListener {
 public:
  explicit SyncMailbox(UniqueFd ready) : ready_(std::move(ready)) {}

  int ready() const { return ready_.get(); }

  void ChildExited(ChildId id, const ExitStatus& status) override { Post(ExitEvent{id, status}); }
  void LaunchFinished(JobId id, Result<LaunchedChild> outcome) override {
    Post(LaunchEvent{id, std::move(outcome)});
  }
  void InitReported(ChildId init, const LauncherReport& report) override {
    Post(ReportEvent{init, report});
  }
  void InitSilent(ChildId init) override { Post(ReportEvent{init, {}}); }

  std::vector<Event> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    uint64_t count;
    const ssize_t size = read(ready_.get(), &count, sizeof count);
    static_cast<void>(size);
    for (const Event& event : events_) {
      const LaunchEvent* const launch = std::get_if<LaunchEvent>(&event);
      if (launch == nullptr || !launch->outcome.ok()) continue;
      for (const UniqueFd& ours : launch->outcome.value().ours) open_.insert(ours.get());
    }
    return std::exchange(events_, {});
  }

  // A Worker may be terminated at any time: what it has not closed by then is closed with the
  // mailbox.
  void OwnDescriptor(int fd) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.insert(fd);
  }

  // One of those that came with a launch, or were given by OwnDescriptor().
  void CloseDescriptor(int fd) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (open_.erase(fd) > 0) close(fd);
  }

  // Nobody fetches any more, be it that the wait is over or that its Worker was terminated: what is
  // not known of is taken back or ended, as EventMailbox does it.
  void Close() {
    std::vector<Event> unfetched;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!ready_.valid()) return;
      ready_.reset();
      unfetched.swap(events_);
      for (const int fd : open_) close(fd);
      open_.clear();
    }
    for (const Event& event : unfetched) AbandonEvent(event);
    Reaper::Instance().ReleaseAll(this);
    AccountLookups::Instance().CancelAll(this);
    LanePool::Instance(true).CancelAll(this);
    LanePool::Instance(false).CancelAll(this);
    InitLinks::Instance().CloseAll(this);
  }

 private:
  void Post(Event event) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (ready_.valid()) {
        events_.push_back(std::move(event));
        const uint64_t one = 1;
        const ssize_t size = write(ready_.get(), &one, sizeof one);
        static_cast<void>(size);
        return;
      }
    }
    AbandonEvent(event);
  }

  std::mutex mutex_;  // guards the fields below
  std::vector<Event> events_;
  std::set<int> open_;  // in JavaScript's hands, as numbers
  UniqueFd ready_;      // not valid: closed
};

using Held = std::shared_ptr<SyncMailbox>;

const Held& ToMailbox(const Napi::Value& value) { return *value.As<Napi::External<Held>>().Data(); }

// -> [handle, descriptor that is readable while events wait] | failure
Napi::Value OpenSyncEvents(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  UniqueFd ready(MoveAboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!ready.valid()) return FailureToJs(env, {"descriptor", errno, ""});
  Held* const held = new Held(std::make_shared<SyncMailbox>(std::move(ready)));
  Napi::Array result = Napi::Array::New(env, 2);
  result.Set(0u, Napi::External<Held>::New(env, held, [](Napi::Env, Held* gone) {
               (*gone)->Close();
               delete gone;
             }));
  result.Set(1u, Napi::Number::New(env, (*held)->ready()));
  return result;
}

// They are numbers in JavaScript now, which are closed with the handle.
void GiveAwayEnds(std::vector<Event>& events) {
  for (Event& event : events) {
    LaunchedChild* const child = FindLaunched(event);
    if (child == nullptr) continue;
    for (UniqueFd& ours : child->ours) static_cast<void>(ours.release());
  }
}

// (handle) -> events
Napi::Value TakeSyncEvents(const Napi::CallbackInfo& info) {
  std::vector<Event> events = ToMailbox(info[0])->Take();
  const napi_value batch = EventsToJs(info.Env(), events);
  if (batch != nullptr) GiveAwayEnds(events);
  return Napi::Value(info.Env(), batch);
}

// (handle): nothing more is fetched, and its descriptor is closed.
void CloseSyncEvents(const Napi::CallbackInfo& info) { ToMailbox(info[0])->Close(); }

// (handle, descriptor that is closed with it)
void OwnSyncDescriptor(const Napi::CallbackInfo& info) {
  const int fd = info[1].As<Napi::Number>().Int32Value();
  EnvironmentData::Of(info.Env()).lent().Return(fd);
  ToMailbox(info[0])->OwnDescriptor(fd);
}

// (handle, descriptor that came with a launch or is owned)
void CloseSyncDescriptor(const Napi::CallbackInfo& info) {
  ToMailbox(info[0])->CloseDescriptor(info[1].As<Napi::Number>().Int32Value());
}

// (Int32Array of triples: descriptor, poll(2) events, revents, which are filled in; ms or -1).
// Makes no value: when it returns, its Worker may have been terminated.
void Poll(const Napi::CallbackInfo& info) {
  Napi::Int32Array triples = info[0].As<Napi::Int32Array>();
  int32_t* const numbers = triples.Data();
  std::vector<pollfd> entries(triples.ElementLength() / 3);
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i] = {numbers[3 * i], static_cast<short>(numbers[3 * i + 1]), 0};
  }
  // EINTR: whoever asks looks at the clock and asks again.
  poll(entries.data(), entries.size(), info[1].As<Napi::Number>().Int32Value());
  for (size_t i = 0; i < entries.size(); ++i) numbers[3 * i + 2] = entries[i].revents;
}

}  // namespace

std::shared_ptr<LaunchListener> ToSyncListener(const Napi::Value& value) {
  return value.IsExternal() ? ToMailbox(value) : nullptr;
}

void InitSyncEvents(Napi::Env env, Napi::Object exports) {
  exports.Set("openSyncEvents", Napi::Function::New<OpenSyncEvents>(env, "openSyncEvents"));
  exports.Set("takeSyncEvents", Napi::Function::New<TakeSyncEvents>(env, "takeSyncEvents"));
  exports.Set("closeSyncEvents", Napi::Function::New<CloseSyncEvents>(env, "closeSyncEvents"));
  exports.Set("ownSyncDescriptor",
              Napi::Function::New<OwnSyncDescriptor>(env, "ownSyncDescriptor"));
  exports.Set("closeSyncDescriptor",
              Napi::Function::New<CloseSyncDescriptor>(env, "closeSyncDescriptor"));
  exports.Set("poll", Napi::Function::New<Poll>(env, "poll"));
}

}  // namespace sallyport
