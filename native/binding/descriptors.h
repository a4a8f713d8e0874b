// Binding of the descriptor table: list, describe, hold, release, seal; and the probes of paths.
#pragma once

#include <napi.h>

namespace sallyport {

void InitDescriptors(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
