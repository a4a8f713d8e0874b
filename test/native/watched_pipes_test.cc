// Watched pipes: told when it is worth a try, once until the next, and never after the end.
#include "core/watched_pipes.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/process_facts.h"

namespace sallyport {
namespace {

class Heard : public PipeListener {
 public:
  void PipeReady(WatchId id) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    told_.push_back(id);
    heard_.notify_all();
  }
  size_t WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    heard_.wait_for(lock, kDeadline, [&] { return told_.size() >= count; });
    return told_.size();
  }
  size_t count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return told_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<WatchId> told_;
};

// Everything that the reactor had to do by now has been done.
void RunThrough() {
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> reached = done->get_future();
  Reactor::Instance().Post([done] { done->set_value(); });
  REQUIRE(reached.wait_for(kDeadline) == std::future_status::ready);
}

// The reactor handles a whole batch between two looks at its tasks: after two of them, all that was
// ready before the first has been told.
void Settle() {
  RunThrough();
  RunThrough();
}

struct Watched {
  WatchId id = 0;
  UniqueFd theirs;
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
};

Watched Open(PipeDirection direction) {
  Result<ChannelPipe> pipe = OpenChannelPipe(direction);
  REQUIRE(pipe.ok());
  Watched watched;
  watched.theirs = std::move(pipe.value().theirs);
  watched.id = WatchedPipes::Instance().Add(std::move(pipe.value().ours), direction, watched.heard);
  REQUIRE(watched.id != 0);
  return watched;
}

bool Say(const UniqueFd& fd, const std::string& text) {
  return write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

TEST_CASE("a reader is told once, however often its child writes, and again after a try") {
  WatchedPipes& pipes = WatchedPipes::Instance();
  Watched reader = Open(PipeDirection::kFromChild);
  char buffer[64];
  CHECK(pipes.Read(reader.id, buffer, sizeof buffer) == -EAGAIN);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(Say(reader.theirs, "x"));
    Settle();
  }
  CHECK(reader.heard->WaitFor(1) == 1);
  CHECK(pipes.Read(reader.id, buffer, sizeof buffer) == 20);
  CHECK(pipes.Read(reader.id, buffer, sizeof buffer) == -EAGAIN);
  REQUIRE(Say(reader.theirs, "more"));
  CHECK(reader.heard->WaitFor(2) == 2);
  CHECK(pipes.Read(reader.id, buffer, sizeof buffer) == 4);
  CHECK(pipes.Read(reader.id, buffer, sizeof buffer) == -EAGAIN);
  reader.theirs.reset();
  CHECK(reader.heard->WaitFor(3) == 3);
  CHECK(pipes.Read(reader.id, buffer, sizeof buffer) == 0);
  pipes.Close(reader.id);
}

TEST_CASE("a writer is told when there is room again, and of a reader that has gone") {
  WatchedPipes& pipes = WatchedPipes::Instance();
  Watched writer = Open(PipeDirection::kToChild);
  CHECK(writer.heard->WaitFor(1) == 1);
  const std::string much(1 << 20, 'x');
  int64_t taken = 0;
  for (;;) {
    const int64_t count = pipes.Write(writer.id, much.data(), much.size());
    if (count < 0) {
      CHECK(count == -EAGAIN);
      break;
    }
    taken += count;
  }
  CHECK(taken > 0);
  Settle();
  const size_t before = writer.heard->count();
  std::vector<char> all(static_cast<size_t>(taken));
  CHECK(read(writer.theirs.get(), all.data(), all.size()) == taken);
  CHECK(writer.heard->WaitFor(before + 1) == before + 1);
  CHECK(pipes.Write(writer.id, "y", 1) == 1);

  signal(SIGPIPE, SIG_IGN);
  writer.theirs.reset();
  CHECK(pipes.Write(writer.id, "y", 1) == -EPIPE);
  pipes.Close(writer.id);
}

TEST_CASE("a pipe that is closed is closed at once, and nobody hears of it") {
  WatchedPipes& pipes = WatchedPipes::Instance();
  Watched reader = Open(PipeDirection::kFromChild);
  pipes.Close(reader.id);
  signal(SIGPIPE, SIG_IGN);
  CHECK_FALSE(Say(reader.theirs, "x"));
  CHECK(errno == EPIPE);
  Settle();
  CHECK(reader.heard->count() == 0);
  char byte;
  CHECK(pipes.Read(reader.id, &byte, 1) == -EBADF);
  CHECK(pipes.Write(reader.id, &byte, 1) == -EBADF);
  pipes.Close(reader.id);
}

TEST_CASE("all of one listener are closed, and those of another stay") {
  WatchedPipes& pipes = WatchedPipes::Instance();
  Watched one = Open(PipeDirection::kFromChild);
  Watched other = Open(PipeDirection::kFromChild);
  pipes.CloseAll(one.heard.get());
  signal(SIGPIPE, SIG_IGN);
  CHECK_FALSE(Say(one.theirs, "x"));
  CHECK(Say(other.theirs, "x"));
  CHECK(other.heard->WaitFor(1) == 1);
  pipes.Close(other.id);
}

TEST_CASE("what cannot be watched is refused, and closed") {
  // A file: epoll(7) takes none.
  UniqueFd file(open("/etc/hosts", O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  const int number = file.get();
  CHECK(WatchedPipes::Instance().Add(std::move(file), PipeDirection::kFromChild,
                                     std::make_shared<Heard>()) == 0);
  CHECK(errno == EPERM);
  CHECK(fcntl(number, F_GETFD) == -1);
}

TEST_CASE("a read at a position leaves the offset where it is") {
  UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  char first[4];
  char again[4];
  CHECK(ReadSome(file.get(), first, 4, 0) == 4);
  CHECK(std::memcmp(first, "\177ELF", 4) == 0);
  CHECK(ReadSome(file.get(), again, 4) == 4);
  CHECK(std::memcmp(first, again, 4) == 0);
  CHECK(ReadSome(-1, first, 4) == -EBADF);
  CHECK(WriteSome(-1, first, 4) == -EBADF);
}

}  // namespace sallyport
