// Binding of the terminal and job control, for the command line.
#include "binding/terminal.h"

#include <cerrno>
#include <cstring>

#include "core/terminal.h"

namespace sallyport {

namespace {

// A terminal that refuses is a terminal that is gone, and the command line goes on without it:
// these give null or an errno value and no failure object.

int IntegerAt(const Napi::CallbackInfo& info, size_t index) {
  return info[index].As<Napi::Number>().Int32Value();
}

Napi::Value IsControllingTerminalJs(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), IsControllingTerminal(IntegerAt(info, 0)));
}

Napi::Value ForegroundGroupJs(const Napi::CallbackInfo& info) {
  const Result<pid_t> group = ForegroundGroup(IntegerAt(info, 0));
  if (!group.ok()) return info.Env().Null();
  return Napi::Number::New(info.Env(), group.value());
}

Napi::Value SetForegroundGroupJs(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), SetForegroundGroup(IntegerAt(info, 0), IntegerAt(info, 1)));
}

Napi::Value SaveTerminalModesJs(const Napi::CallbackInfo& info) {
  const Result<termios> modes = SaveTerminalModes(IntegerAt(info, 0));
  if (!modes.ok()) return info.Env().Null();
  Napi::ArrayBuffer bytes = Napi::ArrayBuffer::New(info.Env(), sizeof(termios));
  std::memcpy(bytes.Data(), &modes.value(), sizeof(termios));
  return bytes;
}

Napi::Value RestoreTerminalModesJs(const Napi::CallbackInfo& info) {
  Napi::ArrayBuffer bytes = info[1].As<Napi::ArrayBuffer>();
  termios modes;
  if (bytes.ByteLength() != sizeof(modes)) return Napi::Number::New(info.Env(), EINVAL);
  std::memcpy(&modes, bytes.Data(), sizeof(modes));
  return Napi::Number::New(info.Env(), RestoreTerminalModes(IntegerAt(info, 0), modes));
}

Napi::Value TerminalColumnsJs(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), TerminalColumns(IntegerAt(info, 0)));
}

// (fd, bytes) -> how many were written, or a negative errno value
Napi::Value WriteTerminalJs(const Napi::CallbackInfo& info) {
  const Napi::Uint8Array bytes = info[1].As<Napi::Uint8Array>();
  const ssize_t size = WriteTerminal(IntegerAt(info, 0), bytes.Data(), bytes.ByteLength());
  return Napi::Number::New(info.Env(), static_cast<double>(size < 0 ? -errno : size));
}

Napi::Value ProcessGroupJs(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), ProcessGroup());
}

Napi::Value TakeStopJs(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), TakeStop(IntegerAt(info, 0)));
}

// (signal, whole group?)
void RaiseDefaultJs(const Napi::CallbackInfo& info) {
  const bool group = info[1].As<Napi::Boolean>().Value();
  RaiseDefault(IntegerAt(info, 0), group ? SignalScope::kGroup : SignalScope::kProcess);
}

void ExitNowJs(const Napi::CallbackInfo& info) { ExitNow(IntegerAt(info, 0)); }

}  // namespace

void InitTerminal(Napi::Env env, Napi::Object exports) {
  exports.Set("isControllingTerminal",
              Napi::Function::New<IsControllingTerminalJs>(env, "isControllingTerminal"));
  exports.Set("foregroundGroup", Napi::Function::New<ForegroundGroupJs>(env, "foregroundGroup"));
  exports.Set("setForegroundGroup",
              Napi::Function::New<SetForegroundGroupJs>(env, "setForegroundGroup"));
  exports.Set("saveTerminalModes",
              Napi::Function::New<SaveTerminalModesJs>(env, "saveTerminalModes"));
  exports.Set("restoreTerminalModes",
              Napi::Function::New<RestoreTerminalModesJs>(env, "restoreTerminalModes"));
  exports.Set("terminalColumns", Napi::Function::New<TerminalColumnsJs>(env, "terminalColumns"));
  exports.Set("writeTerminal", Napi::Function::New<WriteTerminalJs>(env, "writeTerminal"));
  exports.Set("processGroup", Napi::Function::New<ProcessGroupJs>(env, "processGroup"));
  exports.Set("takeStop", Napi::Function::New<TakeStopJs>(env, "takeStop"));
  exports.Set("raiseDefault", Napi::Function::New<RaiseDefaultJs>(env, "raiseDefault"));
  exports.Set("exitNow", Napi::Function::New<ExitNowJs>(env, "exitNow"));
}

}  // namespace sallyport
