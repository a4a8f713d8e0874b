// The addon: what it exports, once for each Node environment that loads it.
#include <napi.h>

#include "binding/auditing.h"
#include "binding/descriptors.h"
#include "binding/environment_data.h"
#include "binding/launching.h"
#include "binding/pipe_io.h"
#include "binding/program_launching.h"
#include "binding/releasing.h"
#include "binding/sync_events.h"
#include "binding/terminal.h"
#include "binding/workspaces.h"

namespace sallyport {

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new EnvironmentData(env));
  InitAuditing(env, exports);
  InitDescriptors(env, exports);
  InitLaunching(env, exports);
  InitPipeIo(env, exports);
  InitProgramLaunching(env, exports);
  InitReleasing(env, exports);
  InitSyncEvents(env, exports);
  InitTerminal(env, exports);
  InitWorkspaces(env, exports);
  return exports;
}

}  // namespace sallyport

static Napi::Object InitSallyport(Napi::Env env, Napi::Object exports) {
  return sallyport::Init(env, exports);
}

NODE_API_MODULE(sallyport, InitSallyport)
