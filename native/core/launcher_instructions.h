// Writes the block that tells the launcher what to do.
#pragma once

#include <string>

#include "core/launch_request.h"

namespace sallyport {

// Pure. The layout is that of launcher/instructions.h.
std::string BuildInstructions(const LaunchRequest& request);

// The stage of an error, src/errors.ts, for a step that the launcher reports as refused.
const char* StepStage(uint32_t code);

}  // namespace sallyport
