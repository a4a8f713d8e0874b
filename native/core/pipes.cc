// The pipes between parent and child.
#include "core/pipes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace sallyport {

namespace {

constexpr int kBusyPipe = 1 << 18;  // bytes

// PIPE_DEF_BUFFERS pages of the kernel, pipe(7).
int DefaultSize() { return 16 * static_cast<int>(sysconf(_SC_PAGESIZE)); }

}  // namespace

void EnlargePipe(int fd) {
  // Any other size is somebody's wish.
  if (fcntl(fd, F_GETPIPE_SZ) == DefaultSize()) fcntl(fd, F_SETPIPE_SZ, kBusyPipe);
}

Result<PlainPipe> OpenPlainPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SysError{"descriptor", errno, ""};
  // Each end owns its number before the next may fail.
  UniqueFd read_low(ends[0]);
  UniqueFd write_low(ends[1]);
  PlainPipe pipe;
  pipe.read_end = UniqueFd(MoveAboveStandard(read_low.release()));
  if (!pipe.read_end.valid()) return SysError{"descriptor", errno, ""};
  pipe.write_end = UniqueFd(MoveAboveStandard(write_low.release()));
  if (!pipe.write_end.valid()) return SysError{"descriptor", errno, ""};
  return pipe;
}

Result<ChannelPipe> OpenChannelPipe(PipeDirection direction, int size) {
  Result<PlainPipe> opened = OpenPlainPipe();
  if (!opened.ok()) return opened.error();
  auto& [read_end, write_end] = opened.value();
  const bool to_child = direction == PipeDirection::kToChild;
  ChannelPipe pipe{std::move(to_child ? write_end : read_end),
                   std::move(to_child ? read_end : write_end)};
  // The two ends are two open file descriptions: this does not reach the child's.
  if (fcntl(pipe.ours.get(), F_SETFL, (to_child ? O_WRONLY : O_RDONLY) | O_NONBLOCK) != 0) {
    return SysError{"descriptor", errno, ""};
  }
  if (size > 0 && fcntl(pipe.ours.get(), F_SETPIPE_SZ, size) < 0) {
    return SysError{"pipeSize", errno, std::to_string(size)};
  }
  return pipe;
}

int64_t ReadSome(int fd, void* buffer, size_t size, int64_t position) {
  for (;;) {
    const ssize_t got = position < 0 ? read(fd, buffer, size) : pread(fd, buffer, size, position);
    if (got >= 0) return got;
    if (errno != EINTR) return -errno;
  }
}

int64_t WriteSome(int fd, const void* bytes, size_t size) {
  for (;;) {
    const ssize_t taken = write(fd, bytes, size);
    if (taken >= 0) return taken;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace sallyport
