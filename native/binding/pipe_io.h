// Binding of reads and writes of descriptors that the addon opened.
#pragma once

#include <napi.h>

namespace sallyport {

void InitPipeIo(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
