// From core's values to JavaScript's.
#pragma once

#include <napi.h>

#include "core/descriptor_object.h"
#include "core/result.h"

namespace sallyport {

// { stage, errno, path }: src/errors.ts makes the SallyportError of it.
Napi::Object FailureToJs(Napi::Env env, const SysError& error);

// DescriptorObject of src/objects/object.ts.
Napi::Object ObjectToJs(Napi::Env env, const DescriptorObject& object);

}  // namespace sallyport
