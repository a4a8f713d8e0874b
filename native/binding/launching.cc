// Binding of launching: decode a request, start the child by the route asked for, signal it.
#include "binding/launching.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "binding/environment_data.h"
#include "binding/sync_events.h"
#include "binding/values.h"
#include "core/account_lookups.h"
#include "core/accounts.h"
#include "core/delegated_cgroup.h"
#include "core/lane_pool.h"
#include "core/launch_job.h"
#include "core/memory_file.h"
#include "core/pipes.h"
#include "core/posix_spawner.h"
#include "core/process_signal.h"
#include "core/reaper.h"
#include "core/spawn_in_table.h"

namespace sallyport {

namespace {

// A flat list: code, number of arguments, arguments; -1 stands for an id that is to be looked up.
std::vector<LaunchStep> DecodeSteps(const Napi::Float64Array& numbers) {
  std::vector<LaunchStep> steps;
  const size_t size = numbers.ElementLength();
  for (size_t i = 0; i + 1 < size;) {
    LaunchStep step = {static_cast<uint32_t>(numbers[i]), {}};
    const size_t end = std::min(i + 2 + static_cast<size_t>(numbers[i + 1]), size);
    for (i += 2; i < end; ++i) {
      // By way of a signed number: niceness and oom_score_adj may be below zero.
      step.arguments.push_back(numbers[i] == HUGE_VAL
                                   ? RLIM_INFINITY
                                   : static_cast<uint64_t>(static_cast<int64_t>(numbers[i])));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

// What src/launch/request.ts writes: when, no_new_privs, the directory, the program; then five
// numbers for each object. Nothing: no verification.
Verification DecodeVerification(const Napi::BigUint64Array& numbers) {
  Verification verification;
  constexpr size_t kHead = 6;
  if (numbers.ElementLength() < kHead) return verification;
  verification.when = static_cast<Verification::When>(numbers[0]);
  verification.no_new_privileges = numbers[1] != 0;
  verification.directory_dev = numbers[2];
  verification.directory_inode = numbers[3];
  verification.program_dev = numbers[4];
  verification.program_inode = numbers[5];
  for (size_t i = kHead; i + 4 < numbers.ElementLength(); i += 5) {
    verification.objects.push_back({static_cast<int>(numbers[i]), numbers[i + 1], numbers[i + 2],
                                    static_cast<ObjectAccess>(numbers[i + 3]), numbers[i + 4]});
  }
  return verification;
}

// Arguments 0 to 14 of every launch, NativeRequest of src/native-binding.ts: executable, arguments,
// environment, cwd, table, session, foreground; launcher, steps, listeners, user, group, init,
// cgroup, verification. Lists of strings come as one string in which each entry is followed by a
// NUL; the table as triples (target, TABLE_* of src/native-binding.ts, held number). The held
// numbers belong to the job from here on, whatever becomes of it.
std::unique_ptr<LaunchJob> Decode(const Napi::CallbackInfo& info) {
  auto job = std::make_unique<LaunchJob>();
  job->listener = EnvironmentData::Of(info.Env()).mailbox();
  LaunchRequest& request = job->request;
  request.executable = info[0].As<Napi::String>().Utf8Value();
  request.arguments = StringList(info[1].As<Napi::String>().Utf8Value());
  request.environment = StringList(info[2].As<Napi::String>().Utf8Value());
  request.working_directory = info[3].As<Napi::String>().Utf8Value();
  request.session = static_cast<SessionMode>(info[5].As<Napi::Number>().Int32Value());
  request.foreground_terminal = info[6].As<Napi::Number>().Int32Value();

  // A typed array is read without a call that an environment may refuse which is being terminated:
  // a number read as 0 would be another table.
  request.launcher = info[7].As<Napi::String>().Utf8Value();
  request.steps = DecodeSteps(info[8].As<Napi::Float64Array>());
  request.announces_listeners = info[9].As<Napi::Boolean>().Value();
  request.init = info[12].As<Napi::Boolean>().Value();
  request.cgroup = info[13].As<Napi::String>().Utf8Value();
  request.verification = DecodeVerification(info[14].As<Napi::BigUint64Array>());
  job->accounts = {info[10].As<Napi::String>().Utf8Value(),
                   info[11].As<Napi::String>().Utf8Value()};

  LentDescriptors& lent = EnvironmentData::Of(info.Env()).lent();
  const Napi::Int32Array table = info[4].As<Napi::Int32Array>();
  std::set<int> owned;  // one held number may serve several targets
  for (size_t i = 0; i + 2 < table.ElementLength(); i += 3) {
    const TableEntry entry = {table[i], static_cast<TableEntry::Kind>(table[i + 1]), table[i + 2]};
    job->table.push_back(entry);
    const bool is_held =
        entry.kind == TableEntry::Kind::kHeld || entry.kind == TableEntry::Kind::kPinned;
    if (is_held && owned.insert(entry.held).second) {
      lent.Return(entry.held);
      job->held.emplace_back(entry.held);
    }
  }
  return job;
}

Result<LaunchedChild> SpawnDirect(LaunchJob& job) {
  const Result<bool> opened = OpenTable(job);
  if (!opened.ok()) return opened.error();
  std::string evidence;
  const Result<pid_t> pid =
      SpawnInTable(job.request, job.request.descriptors, TableOrigin::kShared, &evidence);
  if (!pid.ok()) return pid.error();
  return WatchLaunched(job, pid.value(), std::move(evidence));
}

// (…, by a lane, no_new_privs) -> [id, pid, program, our end of each pipe…] | failure
Napi::Value Spawn(const Napi::CallbackInfo& info) {
  EnsureChildrenWaitable();
  const std::unique_ptr<LaunchJob> job = Decode(info);
  const bool by_lane = info[kRequestLength].As<Napi::Boolean>().Value();
  const bool no_new_privileges = info[kRequestLength + 1].As<Napi::Boolean>().Value();
  const Result<bool> found = LookUpAccounts(job->accounts, &job->request.steps);
  if (!found.ok()) return FailureToJs(info.Env(), found.error());
  Result<LaunchedChild> child =
      by_lane ? LanePool::Instance(no_new_privileges).Run(*job) : SpawnDirect(*job);
  if (!child.ok()) return FailureToJs(info.Env(), child.error());
  const napi_value result = ChildToJs(info.Env(), child.value());
  // A Worker that is being terminated: nobody will ever know of this child.
  if (result == nullptr) {
    EndUnheard(child.value());
  } else {
    EnvironmentData::Of(info.Env()).mailbox()->Deliver(std::move(child.value()));
  }
  return Napi::Value(info.Env(), result);
}

// (…, no_new_privs, handle?, keeps zombie?) -> job | failure. The callback of onEvents hears the
// outcome, or whoever fetches from the handle of openSyncEvents().
Napi::Value Launch(const Napi::CallbackInfo& info) {
  static std::atomic<JobId> next_id{1};
  EnsureChildrenWaitable();
  std::unique_ptr<LaunchJob> job = Decode(info);
  const JobId id = next_id++;
  if (info.Length() > kRequestLength + 1 && !info[kRequestLength + 1].IsUndefined())
    job->listener = ToSyncListener(info[kRequestLength + 1]);
  if (info.Length() > kRequestLength + 2)
    job->keeps_zombie = info[kRequestLength + 2].As<Napi::Boolean>().Value();
  job->id = id;
  const bool no_new_privileges = info[kRequestLength].As<Napi::Boolean>().Value();
  const Result<bool> submitted =
      AccountLookups::Instance().Submit(std::move(job), LanePool::Instance(no_new_privileges));
  if (!submitted.ok()) return FailureToJs(info.Env(), submitted.error());
  return Napi::Number::New(info.Env(), static_cast<double>(id));
}

// (id): our ends of its pipes are JavaScript's from now on.
void TakeOver(const Napi::CallbackInfo& info) {
  const ChildId id = static_cast<ChildId>(info[0].As<Napi::Number>().Int64Value());
  EnvironmentData::Of(info.Env()).mailbox()->TakeOver(id);
}

// (job): the outcome is ECANCELED then, or already on its way.
void CancelLaunch(const Napi::CallbackInfo& info) {
  const JobId id = static_cast<JobId>(info[0].As<Napi::Number>().Int64Value());
  if (AccountLookups::Instance().Cancel(id)) return;
  if (!LanePool::Instance(true).Cancel(id)) LanePool::Instance(false).Cancel(id);
}

// (user) -> lookup | failure. The callback of onEvents hears the outcome.
Napi::Value LookUpUserJs(const Napi::CallbackInfo& info) {
  const Result<LookupId> lookup = AccountLookups::Instance().Find(
      info[0].As<Napi::String>().Utf8Value(), EnvironmentData::Of(info.Env()).mailbox());
  if (!lookup.ok()) return FailureToJs(info.Env(), lookup.error());
  return Napi::Number::New(info.Env(), static_cast<double>(lookup.value()));
}

// (no_new_privs) -> whether its lanes have private tables | failure
Napi::Value HasPrivateLanes(const Napi::CallbackInfo& info) {
  const Result<LaneTable> table = LanePool::Instance(info[0].As<Napi::Boolean>().Value()).Table();
  if (!table.ok()) return FailureToJs(info.Env(), table.error());
  return Napi::Boolean::New(info.Env(), table.value() == LaneTable::kPrivate);
}

// -> whether a launch on the calling thread can close exactly the other descriptors
Napi::Value CanSpawnDirect(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), SpawnExtensions::Available().add_close_from != nullptr);
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

// (callback(events)): once in each environment, before its first launch.
void OnEvents(const Napi::CallbackInfo& info) {
  EnvironmentData::Of(info.Env()).mailbox()->Open(info.Env(), info[0]);
}

// (id of an init, COMMAND_* of launcher/instructions.h, argument)
void CommandInit(const Napi::CallbackInfo& info) {
  const ChildId init = static_cast<ChildId>(info[0].As<Napi::Number>().Int64Value());
  InitLinks::Instance().Send(
      init, {info[1].As<Napi::Number>().Uint32Value(), info[2].As<Napi::Number>().Int32Value()});
}

// (id): its pid, and the group of that number, are not needed any longer.
void ReleaseZombie(const Napi::CallbackInfo& info) {
  Reaper::Instance().Release(static_cast<ChildId>(info[0].As<Napi::Number>().Int64Value()));
}

// (pid, start time, signal) -> 0 or an errno value
Napi::Value SignalStranger(const Napi::CallbackInfo& info) {
  const pid_t pid = info[0].As<Napi::Number>().Int32Value();
  const uint64_t start = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
  return Napi::Number::New(info.Env(),
                           SignalProcess(pid, start, info[2].As<Napi::Number>().Int32Value()));
}

// -> [read end, write end] | failure
Napi::Value OpenPipe(const Napi::CallbackInfo& info) {
  Result<PlainPipe> pipe = OpenPlainPipe();
  if (!pipe.ok()) return FailureToJs(info.Env(), pipe.error());
  return Napi::Value(info.Env(),
                     LendToJs(info.Env(), pipe.value().read_end, pipe.value().write_end));
}

// (name) -> descriptor | failure
Napi::Value OpenMemoryFileJs(const Napi::CallbackInfo& info) {
  Result<UniqueFd> file = OpenMemoryFile(info[0].As<Napi::String>().Utf8Value().c_str());
  if (!file.ok()) return FailureToJs(info.Env(), file.error());
  return Napi::Value(info.Env(), LendToJs(info.Env(), file.value()));
}

void EnlargePipeJs(const Napi::CallbackInfo& info) {
  EnlargePipe(info[0].As<Napi::Number>().Int32Value());
}

// directory -> boolean
Napi::Value IsMarkedDelegatedJs(const Napi::CallbackInfo& info) {
  const std::string directory = info[0].As<Napi::String>().Utf8Value();
  return Napi::Boolean::New(info.Env(), IsMarkedDelegated(directory));
}

// (boolean): whether children keep this environment's event loop running.
void KeepAlive(const Napi::CallbackInfo& info) {
  const bool wanted = info[0].As<Napi::Boolean>().Value();
  EnvironmentData::Of(info.Env()).mailbox()->KeepAlive(info.Env(), wanted);
}

}  // namespace

std::unique_ptr<LaunchJob> DecodeLaunch(const Napi::CallbackInfo& info) { return Decode(info); }

Result<LaunchedChild> SpawnOnThisThread(LaunchJob& job) { return SpawnDirect(job); }

void InitLaunching(Napi::Env env, Napi::Object exports) {
  exports.Set("spawn", Napi::Function::New<Spawn>(env, "spawn"));
  exports.Set("launch", Napi::Function::New<Launch>(env, "launch"));
  exports.Set("takeOver", Napi::Function::New<TakeOver>(env, "takeOver"));
  exports.Set("cancelLaunch", Napi::Function::New<CancelLaunch>(env, "cancelLaunch"));
  exports.Set("lookUpUser", Napi::Function::New<LookUpUserJs>(env, "lookUpUser"));
  exports.Set("hasPrivateLanes", Napi::Function::New<HasPrivateLanes>(env, "hasPrivateLanes"));
  exports.Set("canSpawnDirect", Napi::Function::New<CanSpawnDirect>(env, "canSpawnDirect"));
  exports.Set("signal", Napi::Function::New<Signal>(env, "signal"));
  exports.Set("signalGroup", Napi::Function::New<SignalGroup>(env, "signalGroup"));
  exports.Set("releaseZombie", Napi::Function::New<ReleaseZombie>(env, "releaseZombie"));
  exports.Set("signalProcess", Napi::Function::New<SignalStranger>(env, "signalProcess"));
  exports.Set("openPipe", Napi::Function::New<OpenPipe>(env, "openPipe"));
  exports.Set("openMemoryFile", Napi::Function::New<OpenMemoryFileJs>(env, "openMemoryFile"));
  exports.Set("onEvents", Napi::Function::New<OnEvents>(env, "onEvents"));
  exports.Set("commandInit", Napi::Function::New<CommandInit>(env, "commandInit"));
  exports.Set("enlargePipe", Napi::Function::New<EnlargePipeJs>(env, "enlargePipe"));
  exports.Set("keepAlive", Napi::Function::New<KeepAlive>(env, "keepAlive"));
  exports.Set("isMarkedDelegated",
              Napi::Function::New<IsMarkedDelegatedJs>(env, "isMarkedDelegated"));
}

}  // namespace sallyport
