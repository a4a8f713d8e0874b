// Binding of the descriptor table: list, describe, hold, release, seal; and the probes of paths.
#include "binding/descriptors.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "binding/environment_data.h"
#include "binding/values.h"
#include "core/descriptor_table.h"
#include "core/executable_probe.h"
#include "core/sealed_memory.h"

namespace sallyport {

namespace {

// A typed array is read without a call that an environment may refuse which is being terminated.
std::vector<int> ToNumbers(const Napi::Value& value) {
  const Napi::Int32Array array = value.As<Napi::Int32Array>();
  return std::vector<int>(array.Data(), array.Data() + array.ElementLength());
}

// Int32Array -> [heldFd, object][] | failure
Napi::Value Hold(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<int> numbers = ToNumbers(info[0]);
  Result<std::vector<HeldDescriptor>> held = HoldDescriptors(numbers);
  if (!held.ok()) return FailureToJs(env, held.error());
  Napi::Array result = Napi::Array::New(env, held.value().size());
  bool complete = true;
  for (uint32_t i = 0; i < held.value().size(); ++i) {
    const HeldDescriptor& descriptor = held.value()[i];
    Napi::Array pair = Napi::Array::New(env, 2);
    complete &= pair.Set(0u, Napi::Number::New(env, descriptor.fd.get()));
    complete &= pair.Set(1u, ObjectToJs(env, descriptor.object));
    complete &= result.Set(i, pair);
  }
  // What JavaScript did not get stays ours, and is closed here.
  if (complete) {
    LentDescriptors& lent = EnvironmentData::Of(env).lent();
    for (HeldDescriptor& descriptor : held.value()) lent.Lend(descriptor.fd.release());
  }
  return result;
}

// Int32Array: closes what Hold() gave, or our ends of pipes.
void Release(const Napi::CallbackInfo& info) {
  LentDescriptors& lent = EnvironmentData::Of(info.Env()).lent();
  for (int fd : ToNumbers(info[0])) {
    lent.Return(fd);
    close(fd);
  }
}

// (name) -> descriptor | failure
Napi::Value OpenMemoryJs(const Napi::CallbackInfo& info) {
  Result<UniqueFd> memory = OpenMemory(info[0].As<Napi::String>().Utf8Value());
  if (!memory.ok()) return FailureToJs(info.Env(), memory.error());
  return Napi::Value(info.Env(), LendToJs(info.Env(), memory.value()));
}

// (descriptor) -> 0 or an errno value
Napi::Value SealMemoryJs(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), SealMemory(info[0].As<Napi::Number>().Int32Value()));
}

// (descriptor) -> 0, or an errno value: EWOULDBLOCK while somebody else has it. Ends with the
// descriptor.
Napi::Value TryLockFile(const Napi::CallbackInfo& info) {
  const int fd = info[0].As<Napi::Number>().Int32Value();
  return Napi::Number::New(info.Env(), flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno);
}

Napi::Value List(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Result<std::vector<int>> numbers = ListDescriptors();
  if (!numbers.ok()) return FailureToJs(env, numbers.error());
  Napi::Array result = Napi::Array::New(env, numbers.value().size());
  for (uint32_t i = 0; i < numbers.value().size(); ++i) result.Set(i, numbers.value()[i]);
  return result;
}

// kinds (SealKinds), exceptions Int32Array, whether 0, 1 and 2 too -> [fd, object][] | failure
Napi::Value Seal(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  SealRequest request;
  request.kinds = static_cast<SealKinds>(info[0].As<Napi::Number>().Int32Value());
  request.except = ToNumbers(info[1]);
  request.standard = info[2].As<Napi::Boolean>().Value();
  const Result<std::vector<OpenDescriptor>> sealed = SealDescriptors(request);
  if (!sealed.ok()) return FailureToJs(env, sealed.error());
  Napi::Array result = Napi::Array::New(env, sealed.value().size());
  for (uint32_t i = 0; i < sealed.value().size(); ++i) {
    Napi::Array pair = Napi::Array::New(env, 2);
    pair.Set(0u, Napi::Number::New(env, sealed.value()[i].fd));
    pair.Set(1u, ObjectToJs(env, sealed.value()[i].object));
    result.Set(i, pair);
  }
  return result;
}

Napi::Value Limit(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(DescriptorLimit()));
}

Napi::Value ProbeExecutableJs(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  return Napi::Number::New(info.Env(), ProbeExecutable(path.c_str()));
}

Napi::Value ProbeDirectoryJs(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  return Napi::Number::New(info.Env(), ProbeDirectory(path.c_str()));
}

}  // namespace

void InitDescriptors(Napi::Env env, Napi::Object exports) {
  exports.Set("holdDescriptors", Napi::Function::New<Hold>(env, "holdDescriptors"));
  exports.Set("releaseDescriptors", Napi::Function::New<Release>(env, "releaseDescriptors"));
  exports.Set("openMemory", Napi::Function::New<OpenMemoryJs>(env, "openMemory"));
  exports.Set("sealMemory", Napi::Function::New<SealMemoryJs>(env, "sealMemory"));
  exports.Set("tryLockFile", Napi::Function::New<TryLockFile>(env, "tryLockFile"));
  exports.Set("listDescriptors", Napi::Function::New<List>(env, "listDescriptors"));
  exports.Set("sealDescriptors", Napi::Function::New<Seal>(env, "sealDescriptors"));
  exports.Set("descriptorLimit", Napi::Function::New<Limit>(env, "descriptorLimit"));
  exports.Set("probeExecutable", Napi::Function::New<ProbeExecutableJs>(env, "probeExecutable"));
  exports.Set("probeDirectory", Napi::Function::New<ProbeDirectoryJs>(env, "probeDirectory"));
}

}  // namespace sallyport
