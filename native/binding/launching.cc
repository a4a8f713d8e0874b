// Binding of launching: decode a request, start the child, hand it to the reaper, signal it.
#include "binding/launching.h"

#include <string>
#include <utility>
#include <vector>

#include "binding/environment_data.h"
#include "binding/values.h"
#include "core/launch_request.h"
#include "core/pipes.h"
#include "core/posix_spawner.h"
#include "core/reaper.h"

namespace sallyport {

namespace {

// What stands at one number of the child's table; the values of TABLE_* in src/native.ts.
enum TableEntry : int { kNull = 0, kPipeToChild = 1, kPipeFromChild = 2, kHeld = 3 };

// A request with the pipe ends that it needs until the child has them.
struct Prepared {
  LaunchRequest request;
  std::vector<UniqueFd> ours;  // one for each pipe of the table, in its order
  std::vector<UniqueFd> theirs;
};

// `table`: triples (target, TableEntry, held number).
Result<Prepared> Prepare(const Napi::CallbackInfo& info) {
  Prepared prepared;
  LaunchRequest& request = prepared.request;
  request.executable = info[0].As<Napi::String>().Utf8Value();
  request.arguments = StringList(info[1].As<Napi::String>().Utf8Value());
  request.environment = StringList(info[2].As<Napi::String>().Utf8Value());
  request.working_directory = info[3].As<Napi::String>().Utf8Value();
  request.session = static_cast<SessionMode>(info[5].As<Napi::Number>().Int32Value());
  request.foreground_terminal = info[6].As<Napi::Number>().Int32Value();

  const Napi::Array table = info[4].As<Napi::Array>();
  for (uint32_t i = 0; i + 2 < table.Length(); i += 3) {
    const int target = table.Get(i).As<Napi::Number>().Int32Value();
    const int entry = table.Get(i + 1).As<Napi::Number>().Int32Value();
    if (entry == kNull) {
      request.null_targets.push_back(target);
    } else if (entry == kHeld) {
      request.descriptors.push_back({table.Get(i + 2).As<Napi::Number>().Int32Value(), target});
    } else {
      Result<ChannelPipe> pipe = OpenChannelPipe(entry == kPipeToChild ? PipeDirection::kToChild
                                                                       : PipeDirection::kFromChild);
      if (!pipe.ok()) return pipe.error();
      request.descriptors.push_back({pipe.value().theirs.get(), target});
      prepared.ours.push_back(std::move(pipe.value().ours));
      prepared.theirs.push_back(std::move(pipe.value().theirs));
    }
  }
  return prepared;
}

// (executable, arguments, environment, cwd, table, session, foreground)
//   -> [id, pid, our end of each pipe…] | failure
// Lists of strings come as one string in which each entry is followed by a NUL.
Napi::Value Spawn(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  EnsureChildrenWaitable();
  Result<Prepared> prepared = Prepare(info);
  if (!prepared.ok()) return FailureToJs(env, prepared.error());
  const LaunchRequest& request = prepared.value().request;
  const Result<pid_t> pid = PosixSpawn(request);
  if (!pid.ok()) return FailureToJs(env, pid.error());
  const Result<ChildId> id = Reaper::Instance().Watch(
      pid.value(), request.session != SessionMode::kInherit, EnvironmentData::Of(env).mailbox());
  if (!id.ok()) return FailureToJs(env, id.error());

  std::vector<UniqueFd>& ours = prepared.value().ours;
  Napi::Array result = Napi::Array::New(env, 2 + ours.size());
  result.Set(0u, static_cast<double>(id.value()));
  result.Set(1u, static_cast<double>(pid.value()));
  for (uint32_t i = 0; i < ours.size(); ++i) result.Set(2 + i, ours[i].release());
  return result;
}

// (id, signal) -> 0 or an errno value
Napi::Value Signal(const Napi::CallbackInfo& info) {
  const ChildId id = static_cast<ChildId>(info[0].As<Napi::Number>().Int64Value());
  const int signal = info[1].As<Napi::Number>().Int32Value();
  return Napi::Number::New(info.Env(), Reaper::Instance().Signal(id, signal));
}

Napi::Value SignalGroup(const Napi::CallbackInfo& info) {
  const ChildId id = static_cast<ChildId>(info[0].As<Napi::Number>().Int64Value());
  const int signal = info[1].As<Napi::Number>().Int32Value();
  return Napi::Number::New(info.Env(), Reaper::Instance().SignalGroup(id, signal));
}

// (callback(exits: NativeExit[])): once in each environment, before its first launch.
void OnExit(const Napi::CallbackInfo& info) {
  EnvironmentData::Of(info.Env()).mailbox()->Open(info.Env(), info[0].As<Napi::Function>());
}

// (boolean): whether children keep this environment's event loop running.
void KeepAlive(const Napi::CallbackInfo& info) {
  const bool wanted = info[0].As<Napi::Boolean>().Value();
  EnvironmentData::Of(info.Env()).mailbox()->KeepAlive(info.Env(), wanted);
}

}  // namespace

void InitLaunching(Napi::Env env, Napi::Object exports) {
  exports.Set("spawn", Napi::Function::New<Spawn>(env, "spawn"));
  exports.Set("signal", Napi::Function::New<Signal>(env, "signal"));
  exports.Set("signalGroup", Napi::Function::New<SignalGroup>(env, "signalGroup"));
  exports.Set("onExit", Napi::Function::New<OnExit>(env, "onExit"));
  exports.Set("keepAlive", Napi::Function::New<KeepAlive>(env, "keepAlive"));
}

}  // namespace sallyport
