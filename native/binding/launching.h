// Binding of launching: decode a request, start the child, hand it to the reaper, signal it.
#pragma once

#include <napi.h>

#include <memory>

#include "core/launch_job.h"
#include "core/result.h"

namespace sallyport {

// The first arguments of every launch, NativeRequest of src/native-binding.ts.
constexpr size_t kRequestLength = 15;
std::unique_ptr<LaunchJob> DecodeLaunch(const Napi::CallbackInfo& info);

// By the calling thread, which waits until the program runs.
Result<LaunchedChild> SpawnOnThisThread(LaunchJob& job);

void InitLaunching(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
