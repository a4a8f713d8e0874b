// Binding of a launch in the manner of child_process: by a name that is searched for, with the
// pipes and sockets that are there already.
#include "binding/program_launching.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>

#include "binding/environment_data.h"
#include "binding/launching.h"
#include "binding/sync_events.h"
#include "binding/values.h"
#include "core/lane_pool.h"
#include "core/program_search.h"
#include "core/reaper.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

// (NativeRequest with a name for the executable, by a lane, no_new_privs, PATH, keeps zombie,
// handle of openSyncEvents() or undefined) -> [id, pid, program] | failure
Napi::Value SpawnProgram(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  EnsureChildrenWaitable();
  const std::unique_ptr<LaunchJob> job = DecodeLaunch(info);
  const bool by_lane = info[kRequestLength].As<Napi::Boolean>().Value();
  const bool no_new_privileges = info[kRequestLength + 1].As<Napi::Boolean>().Value();
  const std::string path = info[kRequestLength + 2].As<Napi::String>().Utf8Value();
  job->keeps_zombie = info[kRequestLength + 3].As<Napi::Boolean>().Value();
  if (info[kRequestLength + 4].IsExternal())
    job->listener = ToSyncListener(info[kRequestLength + 4]);
  Result<LaunchedChild> child =
      SpawnSearched(*job, path, info[1].As<Napi::String>().Utf8Value(), [&](LaunchJob& attempt) {
        return by_lane ? LanePool::Instance(no_new_privileges).Run(attempt)
                       : SpawnOnThisThread(attempt);
      });
  if (!child.ok()) return FailureToJs(env, child.error());
  const napi_value result = ChildToJs(env, child.value());
  // A Worker that is being terminated: nobody will ever know of this child.
  if (result == nullptr) EndUnheard(child.value());
  return Napi::Value(env, result);
}

// -> [one end, the other] | failure: a stream socket pair, both ends blocking, close-on-exec and
// above 2.
Napi::Value OpenSocketPair(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailureToJs(env, {"descriptor", errno, ""});
  }
  // Each end owns its number before the next may fail.
  UniqueFd first_low(ends[0]);
  UniqueFd second_low(ends[1]);
  UniqueFd first(MoveAboveStandard(first_low.release()));
  UniqueFd second(MoveAboveStandard(second_low.release()));
  if (!first.valid() || !second.valid()) return FailureToJs(env, {"descriptor", errno, ""});
  return Napi::Value(env, LendToJs(env, first, second));
}

// (descriptor, whether reads and writes wait)
void SetBlocking(const Napi::CallbackInfo& info) {
  const int fd = info[0].As<Napi::Number>().Int32Value();
  const bool blocking = info[1].As<Napi::Boolean>().Value();
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return;
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  if (wanted != flags) fcntl(fd, F_SETFL, wanted);
}

// (descriptor) -> whether it is open and without close-on-exec
Napi::Value SurvivesExec(const Napi::CallbackInfo& info) {
  const int flags = fcntl(info[0].As<Napi::Number>().Int32Value(), F_GETFD);
  return Napi::Boolean::New(info.Env(), flags >= 0 && (flags & FD_CLOEXEC) == 0);
}

}  // namespace

void InitProgramLaunching(Napi::Env env, Napi::Object exports) {
  exports.Set("spawnProgram", Napi::Function::New<SpawnProgram>(env, "spawnProgram"));
  exports.Set("openSocketPair", Napi::Function::New<OpenSocketPair>(env, "openSocketPair"));
  exports.Set("survivesExec", Napi::Function::New<SurvivesExec>(env, "survivesExec"));
  exports.Set("setBlocking", Napi::Function::New<SetBlocking>(env, "setBlocking"));
}

}  // namespace sallyport
