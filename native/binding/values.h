// From core's values to JavaScript's.
#pragma once

#include <napi.h>

#include "core/account_lookups.h"
#include "core/accounts.h"
#include "core/descriptor_object.h"
#include "core/launch_job.h"
#include "core/reaper.h"
#include "core/result.h"
#include "core/watched_pipes.h"

namespace sallyport {

// { stage, errno, path }: src/errors.ts makes the SallyportError of it.
Napi::Object FailureToJs(Napi::Env env, const SysError& error);

// DescriptorObject of src/objects/object.ts.
Napi::Object ObjectToJs(Napi::Env env, const DescriptorObject& object);

// What follows is null where the environment refuses, as one does that is being terminated.

// [id, pid, pid of the program, our end of each pipe…]; the ends stay the child's.
napi_value ChildToJs(napi_env env, const LaunchedChild& child);

// The events of src/native-binding.ts.
napi_value ExitToJs(napi_env env, ChildId id, const ExitStatus& status);
napi_value LaunchToJs(napi_env env, JobId id, const Result<LaunchedChild>& outcome);
napi_value ReportToJs(napi_env env, ChildId init, const LauncherReport& report);
napi_value ReadyToJs(napi_env env, WatchId pipe);
napi_value UserToJs(napi_env env, LookupId id, const Result<AccountIds>& outcome);

}  // namespace sallyport
