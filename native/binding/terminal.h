// Binding of the terminal and job control, for the command line.
#pragma once

#include <napi.h>

namespace sallyport {

void InitTerminal(Napi::Env env, Napi::Object exports);

}  // namespace sallyport
