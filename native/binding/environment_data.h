// What the addon keeps for one Node environment (the main thread, or a Worker).
#pragma once

#include <napi.h>

#include <memory>
#include <mutex>
#include <vector>

#include "core/reaper.h"

namespace sallyport {

// Carries exit statuses from the reaper's thread into one JavaScript environment. Outlives that
// environment where children do: then it hears them and drops what it hears.
class ExitMailbox : public ExitListener, public std::enable_shared_from_this<ExitMailbox> {
 public:
  void ChildExited(ChildId id, const ExitStatus& status) override;

  // On the environment's own thread:
  void Open(Napi::Env env, Napi::Function callback);
  void KeepAlive(Napi::Env env, bool wanted);

 private:
  void Close();
  struct Exit {
    ChildId id;
    ExitStatus status;
  };
  static void Deliver(napi_env env, napi_value callback, void* context, void* data);

  std::mutex mutex_;  // guards the fields below
  std::vector<Exit> pending_;
  napi_threadsafe_function notify_ = nullptr;  // null: not open yet, or the environment has ended
};

class EnvironmentData {
 public:
  EnvironmentData() : mailbox_(std::make_shared<ExitMailbox>()) {}
  static EnvironmentData& Of(Napi::Env env) { return *env.GetInstanceData<EnvironmentData>(); }

  const std::shared_ptr<ExitMailbox>& mailbox() const { return mailbox_; }

 private:
  std::shared_ptr<ExitMailbox> mailbox_;
};

}  // namespace sallyport
