// Binding of the directories of a workspace: made, and removed.
#include "binding/workspaces.h"

#include <string>
#include <vector>

#include "binding/values.h"
#include "core/private_directories.h"

namespace sallyport {

namespace {

// Digits: neither number need fit a double.
Napi::Array IdentityToJs(Napi::Env env, const DirectoryIdentity& identity) {
  Napi::Array pair = Napi::Array::New(env, 2);
  pair.Set(0u, Napi::String::New(env, std::to_string(identity.device)));
  pair.Set(1u, Napi::String::New(env, std::to_string(identity.inode)));
  return pair;
}

uint64_t Digits(const Napi::Value& value) {
  uint64_t number = 0;
  for (const char digit : value.As<Napi::String>().Utf8Value()) {
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  return number;
}

DirectoryIdentity IdentityFromJs(const Napi::Value& value) {
  const Napi::Array pair = value.As<Napi::Array>();
  return {Digits(pair.Get(0u)), Digits(pair.Get(1u))};
}

// root, names, uid, gid -> [identity, [identity, made][]] | failure
Napi::Value Make(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Array given = info[1].As<Napi::Array>();
  std::vector<std::string> names;
  for (uint32_t i = 0; i < given.Length(); ++i) {
    names.push_back(given.Get(i).As<Napi::String>().Utf8Value());
  }
  const Result<PrivateDirectories> made = MakePrivateDirectories(
      info[0].As<Napi::String>().Utf8Value(), names, info[2].As<Napi::Number>().Uint32Value(),
      info[3].As<Napi::Number>().Uint32Value());
  if (!made.ok()) return FailureToJs(env, made.error());
  Napi::Array directories = Napi::Array::New(env, names.size());
  for (uint32_t i = 0; i < names.size(); ++i) {
    const PrivateDirectory& directory = made.value().directories[i];
    Napi::Array entry = Napi::Array::New(env, 2);
    entry.Set(0u, IdentityToJs(env, directory.identity));
    entry.Set(1u, Napi::Boolean::New(env, directory.made));
    directories.Set(i, entry);
  }
  Napi::Array result = Napi::Array::New(env, 2);
  result.Set(0u, IdentityToJs(env, made.value().root));
  result.Set(1u, directories);
  return result;
}

// root, identity, name, identity, budget -> true: gone, false: call again | failure
Napi::Value Remove(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Result<bool> gone =
      RemovePrivateDirectory(info[0].As<Napi::String>().Utf8Value(), IdentityFromJs(info[1]),
                             info[2].As<Napi::String>().Utf8Value(), IdentityFromJs(info[3]),
                             info[4].As<Napi::Number>().Int32Value());
  if (!gone.ok()) return FailureToJs(env, gone.error());
  return Napi::Boolean::New(env, gone.value());
}

}  // namespace

void InitWorkspaces(Napi::Env env, Napi::Object exports) {
  exports.Set("makePrivateDirectories", Napi::Function::New<Make>(env, "makePrivateDirectories"));
  exports.Set("removePrivateDirectory", Napi::Function::New<Remove>(env, "removePrivateDirectory"));
}

}  // namespace sallyport
