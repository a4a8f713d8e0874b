// What happened to launches, children, inits and lookups, as events for JavaScript.
#pragma once

#include <napi.h>

#include <variant>
#include <vector>

#include "core/account_lookups.h"
#include "core/accounts.h"
#include "core/launch_job.h"
#include "core/reaper.h"
#include "core/watched_pipes.h"

namespace sallyport {

struct ExitEvent {
  ChildId id;
  ExitStatus status;
};
struct LaunchEvent {
  JobId id;
  Result<LaunchedChild> outcome;
};
struct ReportEvent {
  ChildId init;
  LauncherReport report;  // kind 0: the init is silent
};
struct ReadyEvent {
  WatchId pipe;
};
struct UserEvent {
  LookupId id;
  Result<AccountIds> outcome;
};
using Event = std::variant<ExitEvent, LaunchEvent, ReportEvent, ReadyEvent, UserEvent>;

// An array of NativeEvent, src/native-binding.ts; null where the environment refuses, as one does
// that is being terminated. Children that JavaScript did not get are ended then. Otherwise our ends
// of their pipes are numbers there, and still the events'.
napi_value EventsToJs(napi_env env, const std::vector<Event>& events);

// The child that an event tells of; null: it tells of none.
LaunchedChild* FindLaunched(Event& event);

// Nobody will ever know of this child.
void AbandonEvent(const Event& event);

}  // namespace sallyport
