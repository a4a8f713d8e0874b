// What happened to launches, children, inits and lookups, as events for JavaScript.
#include "binding/events_to_js.h"

#include "binding/values.h"

namespace sallyport {

namespace {

napi_value EventToJs(napi_env env, const Event& event) {
  if (const ExitEvent* const exit = std::get_if<ExitEvent>(&event)) {
    return ExitToJs(env, exit->id, exit->status);
  }
  if (const LaunchEvent* const launch = std::get_if<LaunchEvent>(&event)) {
    return LaunchToJs(env, launch->id, launch->outcome);
  }
  if (const ReadyEvent* const ready = std::get_if<ReadyEvent>(&event)) {
    return ReadyToJs(env, ready->pipe);
  }
  if (const UserEvent* const user = std::get_if<UserEvent>(&event)) {
    return UserToJs(env, user->id, user->outcome);
  }
  const ReportEvent& report = std::get<ReportEvent>(event);
  return ReportToJs(env, report.init, report.report);
}

}  // namespace

napi_value EventsToJs(napi_env env, const std::vector<Event>& events) {
  napi_value batch = nullptr;
  bool complete = napi_create_array_with_length(env, events.size(), &batch) == napi_ok;
  for (uint32_t i = 0; complete && i < events.size(); ++i) {
    const napi_value value = EventToJs(env, events[i]);
    complete = value != nullptr && napi_set_element(env, batch, i, value) == napi_ok;
  }
  if (complete) return batch;
  for (const Event& event : events) AbandonEvent(event);
  return nullptr;
}

LaunchedChild* FindLaunched(Event& event) {
  LaunchEvent* const launch = std::get_if<LaunchEvent>(&event);
  return launch != nullptr && launch->outcome.ok() ? &launch->outcome.value() : nullptr;
}

void AbandonEvent(const Event& event) {
  const LaunchEvent* const launch = std::get_if<LaunchEvent>(&event);
  if (launch != nullptr && launch->outcome.ok()) EndUnheard(launch->outcome.value());
}

}  // namespace sallyport
