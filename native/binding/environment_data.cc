// What the addon keeps for one Node environment (the main thread, or a Worker).
#include "binding/environment_data.h"

#include <utility>

namespace sallyport {

namespace {

double Microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

// The order of the numbers is that of NativeExit in src/native.ts.
Napi::Array ToArray(Napi::Env env, ChildId id, const ExitStatus& status) {
  const struct rusage& usage = status.usage;
  const double numbers[] = {
      static_cast<double>(id),
      static_cast<double>(status.code),
      static_cast<double>(status.signal),
      status.core_dumped ? 1.0 : 0.0,
      status.lost ? 1.0 : 0.0,
      Microseconds(usage.ru_utime),
      Microseconds(usage.ru_stime),
      static_cast<double>(usage.ru_maxrss),
      static_cast<double>(usage.ru_minflt),
      static_cast<double>(usage.ru_majflt),
      static_cast<double>(usage.ru_inblock),
      static_cast<double>(usage.ru_oublock),
      static_cast<double>(usage.ru_nvcsw),
      static_cast<double>(usage.ru_nivcsw),
  };
  Napi::Array array = Napi::Array::New(env, std::size(numbers));
  for (uint32_t i = 0; i < std::size(numbers); ++i) array.Set(i, numbers[i]);
  return array;
}

}  // namespace

void ExitMailbox::ChildExited(ChildId id, const ExitStatus& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notify_ == nullptr) return;
  pending_.push_back({id, status});
  // One call delivers all that is pending when it runs.
  if (pending_.size() == 1) napi_call_threadsafe_function(notify_, nullptr, napi_tsfn_nonblocking);
}

void ExitMailbox::Open(Napi::Env env, Napi::Function callback) {
  napi_threadsafe_function notify = nullptr;
  napi_create_threadsafe_function(env, callback, nullptr, Napi::String::New(env, "sallyport:exit"),
                                  0, 1, nullptr, nullptr, this, Deliver, &notify);
  // Only children that are referenced keep the process running.
  napi_unref_threadsafe_function(env, notify);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notify_ = notify;
  }
  // Hooks run last in, first out: this one runs before the function's own, so that the reaper never
  // calls a function that is going away. It holds the mailbox by itself, since the order against
  // instance data is not promised.
  env.AddCleanupHook([mailbox = shared_from_this()] { mailbox->Close(); });
}

void ExitMailbox::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notify_ != nullptr) napi_release_threadsafe_function(notify_, napi_tsfn_abort);
  notify_ = nullptr;
  pending_.clear();
}

void ExitMailbox::KeepAlive(Napi::Env env, bool wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notify_ == nullptr) return;
  if (wanted) {
    napi_ref_threadsafe_function(env, notify_);
  } else {
    napi_unref_threadsafe_function(env, notify_);
  }
}

void ExitMailbox::Deliver(napi_env raw_env, napi_value raw_callback, void* context, void*) {
  if (raw_env == nullptr) return;  // the environment is being torn down
  auto* mailbox = static_cast<ExitMailbox*>(context);
  std::vector<Exit> exits;
  {
    const std::lock_guard<std::mutex> lock(mailbox->mutex_);
    exits.swap(mailbox->pending_);
  }
  const Napi::Env env(raw_env);
  const Napi::HandleScope scope(env);
  Napi::Array batch = Napi::Array::New(env, exits.size());
  for (uint32_t i = 0; i < exits.size(); ++i) {
    batch.Set(i, ToArray(env, exits[i].id, exits[i].status));
  }
  Napi::Function(env, raw_callback).Call({batch});
}

}  // namespace sallyport
