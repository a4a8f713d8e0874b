// Binding of the directories of a workspace: made, and removed.
#pragma once

#include <napi.h>

namespace sallyport {

void InitWorkspaces(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
