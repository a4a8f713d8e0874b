// Binding of what changes this process's standing or another's listener: shield, release, seal one.
#include "binding/releasing.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdint>

#include "binding/values.h"
#include "core/descriptor_object.h"
#include "core/listener_release.h"

namespace sallyport {

namespace {

Napi::Value ToJs(Napi::Env env, const Result<bool>& result) {
  return result.ok() ? env.Null() : FailureToJs(env, result.error()).As<Napi::Value>();
}

// pid, start time, fd, inode -> null | failure
Napi::Value Release(const Napi::CallbackInfo& info) {
  return ToJs(info.Env(),
              ReleaseListener(info[0].As<Napi::Number>().Int32Value(),
                              static_cast<uint64_t>(info[1].As<Napi::Number>().DoubleValue()),
                              info[2].As<Napi::Number>().Int32Value(),
                              static_cast<uint64_t>(info[3].As<Napi::Number>().DoubleValue())));
}

// pid, start time, fd, inode -> whether it has SO_REUSEADDR | failure
Napi::Value Reuses(const Napi::CallbackInfo& info) {
  const Result<bool> result =
      ReusesAddress(info[0].As<Napi::Number>().Int32Value(),
                    static_cast<uint64_t>(info[1].As<Napi::Number>().DoubleValue()),
                    info[2].As<Napi::Number>().Int32Value(),
                    static_cast<uint64_t>(info[3].As<Napi::Number>().DoubleValue()));
  if (!result.ok()) return FailureToJs(info.Env(), result.error());
  return Napi::Boolean::New(info.Env(), result.value());
}

// fd -> null | failure
Napi::Value ShutDown(const Napi::CallbackInfo& info) {
  return ToJs(info.Env(), ShutDownListener(info[0].As<Napi::Number>().Int32Value()));
}

// -> 0 or a positive errno
Napi::Value Shield(const Napi::CallbackInfo& info) {
  const int failed = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : errno;
  return Napi::Number::New(info.Env(), failed);
}

// -> whether others under our uid may look into this process
Napi::Value IsDumpable(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
}

// fd -> object | failure
Napi::Value Describe(const Napi::CallbackInfo& info) {
  const Result<DescriptorObject> object =
      DescribeDescriptor(info[0].As<Napi::Number>().Int32Value());
  if (!object.ok()) return FailureToJs(info.Env(), object.error());
  return ObjectToJs(info.Env(), object.value());
}

// fd -> 0 or a positive errno
Napi::Value SetCloseOnExec(const Napi::CallbackInfo& info) {
  const int fd = info[0].As<Napi::Number>().Int32Value();
  const int flags = fcntl(fd, F_GETFD);
  const bool done = flags >= 0 && fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == 0;
  return Napi::Number::New(info.Env(), done ? 0 : errno);
}

}  // namespace

void InitReleasing(Napi::Env env, Napi::Object exports) {
  exports.Set("releaseListener", Napi::Function::New<Release>(env, "releaseListener"));
  exports.Set("reusesAddress", Napi::Function::New<Reuses>(env, "reusesAddress"));
  exports.Set("shutDownListener", Napi::Function::New<ShutDown>(env, "shutDownListener"));
  exports.Set("shieldProcess", Napi::Function::New<Shield>(env, "shieldProcess"));
  exports.Set("isDumpable", Napi::Function::New<IsDumpable>(env, "isDumpable"));
  exports.Set("describeDescriptor", Napi::Function::New<Describe>(env, "describeDescriptor"));
  exports.Set("setCloseOnExec", Napi::Function::New<SetCloseOnExec>(env, "setCloseOnExec"));
}

}  // namespace sallyport
