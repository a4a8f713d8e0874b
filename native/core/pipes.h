// The pipes between parent and child.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

enum class PipeDirection { kToChild, kFromChild };

struct ChannelPipe {
  UniqueFd ours;    // non-blocking: it becomes a stream
  UniqueFd theirs;  // blocking: programs expect that of their standard channels
};

// Enlarges a pipe of the default size to 256 KiB, F_SETPIPE_SZ of fcntl(2): larger ones are slower
// again, as their pages fall out of the cache. Refused quietly where the user's pipes hold too much
// already.
void EnlargePipe(int fd);

struct PlainPipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Between two children: pipe2(O_CLOEXEC), both ends blocking and above 2. Stage "descriptor".
Result<PlainPipe> OpenPlainPipe();

// A real pipe, pipe2(O_CLOEXEC), both ends above 2. The child can open /dev/stdout on a pipe, which
// it cannot on the socket pairs that Node makes. `size` in bytes, which the kernel rounds up; below
// 1: the kernel's default. Stages "descriptor" and, with the size as its path, "pipeSize".
Result<ChannelPipe> OpenChannelPipe(PipeDirection direction, int size = 0);

// read(2) and write(2), begun again after EINTR: how much, or a negative errno value. SIGPIPE is
// ignored, as in every JavaScript runtime. A position from 0 on: pread(2).
int64_t ReadSome(int fd, void* buffer, size_t size, int64_t position = -1);
int64_t WriteSome(int fd, const void* bytes, size_t size);

}  // namespace sallyport
