// From core's values to JavaScript's.
#include "binding/values.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sallyport {

namespace {

// The first element of an event, EVENT_* in src/native-binding.ts.
constexpr double kExitEvent = 0;
constexpr double kLaunchEvent = 1;
constexpr double kLaunchFailedEvent = 2;
constexpr double kReportEvent = 3;
constexpr double kReadyEvent = 4;
constexpr double kUserEvent = 5;

double Microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

napi_value NumbersToJs(napi_env env, const double* numbers, size_t count) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env, count, &array) != napi_ok) return nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    napi_value number = nullptr;
    if (napi_create_double(env, numbers[i], &number) != napi_ok ||
        napi_set_element(env, array, i, number) != napi_ok) {
      return nullptr;
    }
  }
  return array;
}

// `head`, id, pid, program, our end of each pipe; what a verification saw, where there was one.
napi_value LaunchedToJs(napi_env env, std::vector<double> head, const LaunchedChild& child) {
  head.push_back(static_cast<double>(child.id));
  head.push_back(child.pid);
  head.push_back(child.program);
  for (const UniqueFd& ours : child.ours) head.push_back(ours.get());
  const napi_value array = NumbersToJs(env, head.data(), head.size());
  if (array != nullptr && !child.evidence.empty()) {
    napi_value evidence = nullptr;
    if (napi_create_string_utf8(env, child.evidence.data(), child.evidence.size(), &evidence) !=
            napi_ok ||
        napi_set_element(env, array, static_cast<uint32_t>(head.size()), evidence) != napi_ok) {
      return nullptr;
    }
  }
  return array;
}

}  // namespace

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
  if (object.mount != 0) result.Set("mount", static_cast<double>(object.mount));
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

napi_value ChildToJs(napi_env env, const LaunchedChild& child) {
  return LaunchedToJs(env, {}, child);
}

// The order of the numbers is that of NativeExit in src/native-binding.ts.
napi_value ExitToJs(napi_env env, ChildId id, const ExitStatus& status) {
  const struct rusage& usage = status.usage;
  const double numbers[] = {
      kExitEvent,
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
  return NumbersToJs(env, numbers, std::size(numbers));
}

// [EVENT_LAUNCH, job, id, pid, program, our end of each pipe…] or [EVENT_LAUNCH_FAILED, job, errno,
// stage, path]
napi_value LaunchToJs(napi_env env, JobId id, const Result<LaunchedChild>& outcome) {
  if (outcome.ok()) {
    return LaunchedToJs(env, {kLaunchEvent, static_cast<double>(id)}, outcome.value());
  }
  const SysError& error = outcome.error();
  const double numbers[] = {kLaunchFailedEvent, static_cast<double>(id),
                            static_cast<double>(error.errno_value)};
  const napi_value event = NumbersToJs(env, numbers, std::size(numbers));
  napi_value stage = nullptr;
  napi_value path = nullptr;
  if (event == nullptr ||
      napi_create_string_utf8(env, error.stage, NAPI_AUTO_LENGTH, &stage) != napi_ok ||
      napi_create_string_utf8(env, error.path.data(), error.path.size(), &path) != napi_ok ||
      napi_set_element(env, event, std::size(numbers), stage) != napi_ok ||
      napi_set_element(env, event, std::size(numbers) + 1, path) != napi_ok) {
    return nullptr;
  }
  return event;
}

// [EVENT_REPORT, init, kind, pid, code, status, usage…]
napi_value ReportToJs(napi_env env, ChildId init, const LauncherReport& report) {
  std::vector<double> numbers = {kReportEvent,
                                 static_cast<double>(init),
                                 static_cast<double>(report.kind),
                                 static_cast<double>(report.pid),
                                 static_cast<double>(report.code),
                                 static_cast<double>(report.status)};
  for (const uint64_t number : report.usage) numbers.push_back(static_cast<double>(number));
  return NumbersToJs(env, numbers.data(), numbers.size());
}

// [EVENT_READY, pipe]
napi_value ReadyToJs(napi_env env, WatchId pipe) {
  const double numbers[] = {kReadyEvent, static_cast<double>(pipe)};
  return NumbersToJs(env, numbers, std::size(numbers));
}

// [EVENT_USER, lookup, errno or 0, uid, gid]
napi_value UserToJs(napi_env env, LookupId id, const Result<AccountIds>& outcome) {
  const AccountIds ids = outcome.ok() ? outcome.value() : AccountIds{0, 0};
  const double numbers[] = {kUserEvent, static_cast<double>(id),
                            outcome.ok() ? 0.0 : static_cast<double>(outcome.error().errno_value),
                            static_cast<double>(ids.uid), static_cast<double>(ids.gid)};
  return NumbersToJs(env, numbers, std::size(numbers));
}

}  // namespace sallyport
