// The pipes between parent and child: directions, modes, and parents without a 0, 1 or 2.
#include "core/pipes.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "support/process_facts.h"
#include "support/standard_channels.h"

namespace sallyport {
namespace {

void CheckPipe(PipeDirection direction) {
  Result<ChannelPipe> opened = OpenChannelPipe(direction);
  REQUIRE(opened.ok());
  const int ours = opened.value().ours.get();
  const int theirs = opened.value().theirs.get();
  const bool to_child = direction == PipeDirection::kToChild;
  CHECK(ours > 2);
  CHECK(theirs > 2);
  CHECK(fcntl(ours, F_GETFD) == FD_CLOEXEC);
  CHECK(fcntl(theirs, F_GETFD) == FD_CLOEXEC);
  CHECK((fcntl(ours, F_GETFL) & O_ACCMODE) == (to_child ? O_WRONLY : O_RDONLY));
  CHECK((fcntl(theirs, F_GETFL) & O_ACCMODE) == (to_child ? O_RDONLY : O_WRONLY));
  CHECK((fcntl(ours, F_GETFL) & O_NONBLOCK) != 0);
  CHECK((fcntl(theirs, F_GETFL) & O_NONBLOCK) == 0);
  struct stat info;
  REQUIRE(fstat(ours, &info) == 0);
  CHECK(S_ISFIFO(info.st_mode));

  char byte = 0;
  if (!to_child) {
    CHECK(read(ours, &byte, 1) == -1);
    CHECK(errno == EAGAIN);
  }
  CHECK(write(to_child ? ours : theirs, "x", 1) == 1);
  CHECK(read(to_child ? theirs : ours, &byte, 1) == 1);
  CHECK(byte == 'x');
  (to_child ? opened.value().ours : opened.value().theirs).reset();
  CHECK(read(to_child ? theirs : ours, &byte, 1) == 0);
}

TEST_CASE("a pipe has the size that was asked for, and only one of the default size is enlarged") {
  Result<ChannelPipe> sized = OpenChannelPipe(PipeDirection::kFromChild, 10'000);
  REQUIRE(sized.ok());
  const int ours = sized.value().ours.get();
  CHECK(fcntl(ours, F_GETPIPE_SZ) == 16'384);
  EnlargePipe(ours);
  CHECK(fcntl(ours, F_GETPIPE_SZ) == 16'384);

  Result<ChannelPipe> plain = OpenChannelPipe(PipeDirection::kFromChild);
  REQUIRE(plain.ok());
  EnlargePipe(plain.value().ours.get());
  CHECK(fcntl(plain.value().ours.get(), F_GETPIPE_SZ) == 1 << 18);
}

}  // namespace

TEST_CASE("both directions, with each of 0, 1 and 2 open or closed") {
  const Baseline before;
  for (unsigned closed = 0; closed < 8; ++closed) {
    CAPTURE(closed);
    const StandardChannelsClosed without(closed);
    CheckPipe(PipeDirection::kToChild);
    CheckPipe(PipeDirection::kFromChild);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("at the limit the pipe is refused and nothing stays open") {
  const Baseline before;
  struct rlimit limit;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  // Room for no descriptor, for one, and for two of which none may be below 3.
  for (unsigned closed : {0u, 1u, 3u, 7u}) {
    CAPTURE(closed);
    const StandardChannelsClosed without(closed);
    const struct rlimit low = {3, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    const Result<ChannelPipe> refused = OpenChannelPipe(PipeDirection::kToChild);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE_FALSE(refused.ok());
    // fcntl(F_DUPFD) above the limit says EINVAL, pipe2 at it EMFILE.
    CHECK((refused.error().errno_value == EMFILE || refused.error().errno_value == EINVAL));
    CHECK(std::string(refused.error().stage) == "descriptor");
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a pipe grows, where the system lets it") {
  const Result<ChannelPipe> opened = OpenChannelPipe(PipeDirection::kFromChild);
  REQUIRE(opened.ok());
  const int before = fcntl(opened.value().ours.get(), F_GETPIPE_SZ);
  EnlargePipe(opened.value().ours.get());
  CHECK(fcntl(opened.value().ours.get(), F_GETPIPE_SZ) >= before);
  EnlargePipe(-1);
}

}  // namespace sallyport
