// Binding of launching: decode a request, start the child, hand it to the reaper, signal it.
#pragma once

#include <napi.h>

namespace sallyport {

void InitLaunching(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
