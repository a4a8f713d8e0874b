// From core's values to JavaScript's.
#include "binding/values.h"

#include <string>

namespace sallyport {

Napi::Object FailureToJs(Napi::Env env, const SysError& error) {
  Napi::Object failure = Napi::Object::New(env);
  failure.Set("stage", error.stage);
  failure.Set("errno", error.errno_value);
  failure.Set("path", error.path);
  return failure;
}

Napi::Object ObjectToJs(Napi::Env env, const DescriptorObject& object) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("kind", KindName(object.kind));
  result.Set("access", AccessName(object.access));
  result.Set("target", object.target);
  result.Set("dev", static_cast<double>(object.dev));
  // A string: inode numbers have 64 bits and JSON's numbers 53.
  result.Set("inode", std::to_string(object.inode));
  result.Set("flags", object.flags);
  if (object.socket.has_value()) {
    Napi::Object socket = Napi::Object::New(env);
    socket.Set("family", object.socket->family);
    socket.Set("type", object.socket->type);
    socket.Set("protocol", object.socket->protocol);
    socket.Set("listening", object.socket->listening);
    socket.Set("local", object.socket->local);
    socket.Set("remote", object.socket->remote);
    result.Set("socket", socket);
  }
  return result;
}

}  // namespace sallyport
