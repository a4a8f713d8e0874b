// Binding of reads and writes of descriptors that the addon opened.
#include "binding/pipe_io.h"

#include <cerrno>
#include <cstdint>

#include "binding/environment_data.h"
#include "binding/values.h"
#include "core/pipes.h"
#include "core/watched_pipes.h"

namespace sallyport {

namespace {

WatchId ToWatch(const Napi::Value& value) {
  return static_cast<WatchId>(value.As<Napi::Number>().Int64Value());
}

// Negative: an errno value.
Napi::Value CountToJs(Napi::Env env, int64_t count) {
  return Napi::Number::New(env, static_cast<double>(count));
}

// (fd, bytes, position or -1) -> how many were read
Napi::Value ReadDescriptor(const Napi::CallbackInfo& info) {
  const int fd = info[0].As<Napi::Number>().Int32Value();
  Napi::Uint8Array bytes = info[1].As<Napi::Uint8Array>();
  return CountToJs(info.Env(), ReadSome(fd, bytes.Data(), bytes.ByteLength(),
                                        info[2].As<Napi::Number>().Int64Value()));
}

// (fd, bytes) -> how many were written
Napi::Value WriteDescriptor(const Napi::CallbackInfo& info) {
  const int fd = info[0].As<Napi::Number>().Int32Value();
  Napi::Uint8Array bytes = info[1].As<Napi::Uint8Array>();
  return CountToJs(info.Env(), WriteSome(fd, bytes.Data(), bytes.ByteLength()));
}

// (fd, whether we write) -> pipe | failure. The descriptor belongs to the addon from then on.
Napi::Value WatchPipe(const Napi::CallbackInfo& info) {
  const PipeDirection direction =
      info[1].As<Napi::Boolean>().Value() ? PipeDirection::kToChild : PipeDirection::kFromChild;
  const int fd = info[0].As<Napi::Number>().Int32Value();
  EnvironmentData& data = EnvironmentData::Of(info.Env());
  data.lent().Return(fd);
  const WatchId id = WatchedPipes::Instance().Add(UniqueFd(fd), direction, data.mailbox());
  if (id == 0) return FailureToJs(info.Env(), {"descriptor", errno, ""});
  return Napi::Number::New(info.Env(), static_cast<double>(id));
}

// (pipe, bytes) -> how many were read
Napi::Value ReadPipe(const Napi::CallbackInfo& info) {
  Napi::Uint8Array bytes = info[1].As<Napi::Uint8Array>();
  return CountToJs(info.Env(), WatchedPipes::Instance().Read(ToWatch(info[0]), bytes.Data(),
                                                             bytes.ByteLength()));
}

// (pipe, bytes) -> how many were written
Napi::Value WritePipe(const Napi::CallbackInfo& info) {
  Napi::Uint8Array bytes = info[1].As<Napi::Uint8Array>();
  return CountToJs(info.Env(), WatchedPipes::Instance().Write(ToWatch(info[0]), bytes.Data(),
                                                              bytes.ByteLength()));
}

// (pipe)
void ClosePipe(const Napi::CallbackInfo& info) { WatchedPipes::Instance().Close(ToWatch(info[0])); }

}  // namespace

void InitPipeIo(Napi::Env env, Napi::Object exports) {
  exports.Set("readDescriptor", Napi::Function::New<ReadDescriptor>(env, "readDescriptor"));
  exports.Set("writeDescriptor", Napi::Function::New<WriteDescriptor>(env, "writeDescriptor"));
  exports.Set("watchPipe", Napi::Function::New<WatchPipe>(env, "watchPipe"));
  exports.Set("readPipe", Napi::Function::New<ReadPipe>(env, "readPipe"));
  exports.Set("writePipe", Napi::Function::New<WritePipe>(env, "writePipe"));
  exports.Set("closePipe", Napi::Function::New<ClosePipe>(env, "closePipe"));
}

}  // namespace sallyport
