// The pipes between parent and child.
#pragma once

#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

enum class PipeDirection { kToChild, kFromChild };

struct ChannelPipe {
  UniqueFd ours;    // non-blocking: it becomes a stream
  UniqueFd theirs;  // blocking: programs expect that of their standard channels
};

// A real pipe, pipe2(O_CLOEXEC), both ends above 2. The child can open /dev/stdout on a pipe, which
// it cannot on the socket pairs that Node makes. Stage "descriptor".
Result<ChannelPipe> OpenChannelPipe(PipeDirection direction);

}  // namespace sallyport
