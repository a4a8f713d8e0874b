// Binding of a launch in the manner of child_process: by a name that is searched for.
#pragma once

#include <napi.h>

namespace sallyport {

void InitProgramLaunching(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
