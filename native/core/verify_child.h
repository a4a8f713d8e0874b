// Compares a child with what was asked for: while it holds before its exec, or after it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/launch_request.h"
#include "core/result.h"

namespace sallyport {

// A child that holds immediately before its exec.
struct HeldChild {
  pid_t pid;       // of the program to be
  pid_t parent;    // who must be its parent: we ourselves, or its init
  uint64_t block;  // where its instructions are in its memory
};

// What was seen, and each difference from the plan, as src/launch/evidence.ts reads it. `matches`:
// there was none. Refused with stage "verify" where it could not be seen.
struct Verdict {
  bool matches;
  std::string evidence;
};

// `instructions`: the block that the child was told by. Its memory must hold the same: the
// program's path, arguments and environment. `moves`: what the calling thread handed over, by
// numbers of its own table: where the kernel compares them, they must be the same open files.
Result<Verdict> VerifyHeld(const LaunchRequest& request, const std::string& instructions,
                           const HeldChild& child, const std::vector<DescriptorMove>& moves);

// A later look, when the program runs already and may have changed anything. Never refused: what
// could not be seen is in the evidence.
std::string LookAfterExec(const LaunchRequest& request, pid_t pid);

}  // namespace sallyport
