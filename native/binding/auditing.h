// Binding of the scans: processes, their descriptors and sockets, and comparisons between them.
#pragma once

#include <napi.h>

namespace sallyport {

void InitAuditing(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
