// Binding of waiting without the event loop: events that are fetched, and poll(2).
#pragma once

#include <napi.h>

#include <memory>

#include "core/launch_job.h"

namespace sallyport {

void InitSyncEvents(Napi::Env env, Napi::Object exports);

// The listener behind a value that openSyncEvents() gave; null for any other value.
std::shared_ptr<LaunchListener> ToSyncListener(const Napi::Value& value);

}  // namespace sallyport
