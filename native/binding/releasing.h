// Binding of what changes this process's standing or another's listener: shield, release, seal one.
#pragma once

#include <napi.h>

namespace sallyport {

void InitReleasing(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
