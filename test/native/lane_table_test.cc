// The private table of a lane where the system refuses the ways to it, one after the other.
#include "core/lane_table.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/lane.h"
#include "core/posix_spawner.h"
#include "support/pipes_by_name.h"
#include "support/process_facts.h"
#include "support/refusal.h"
#include "support/requests.h"

namespace sallyport {
namespace {

constexpr long kCloseRange = 436;

struct Seen {
  std::optional<Result<LaneTable>> isolated;
  int control;
  TableView table;  // of the thread, seen from outside
};

// On a thread of its own, with some calls refused there. Nothing on it may use a descriptor.
Seen Isolate(const std::vector<RefusedCall>& refused, int errno_value) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  Seen seen = {};
  seen.control = theirs.get();
  std::promise<pid_t> done;
  std::promise<void> looked;
  std::thread thread([&] {
    const bool ready = refused.empty() || Refuse(refused, errno_value, RefusedFor::kThread);
    if (ready) seen.isolated.emplace(IsolateTable(&seen.control));
    done.set_value(static_cast<pid_t>(syscall(SYS_gettid)));
    looked.get_future().wait();
  });
  seen.table = TableOf(OwnThread(done.get_future().get()));
  looked.set_value();
  thread.join();
  REQUIRE(seen.isolated.has_value());
  return seen;
}

void CheckPrivate(const Seen& seen) {
  REQUIRE(seen.isolated->ok());
  CHECK(seen.isolated->value() == LaneTable::kPrivate);
  CHECK(seen.control == 3);
  REQUIRE(seen.table.size() == 4);
  CHECK(seen.table.at(3).rfind("socket:[", 0) == 0);
  for (int standard = 0; standard <= 2; ++standard) {
    CHECK(seen.table.at(standard) == "/dev/null");
  }
}

// A lane whose thread starts under the refusals of this one.
std::unique_ptr<Lane> StartRefused(const std::vector<RefusedCall>& refused, int errno_value) {
  std::unique_ptr<Lane> lane;
  std::thread([&] {
    if (!Refuse(refused, errno_value, RefusedFor::kThread)) return;
    Result<std::unique_ptr<Lane>> started = Lane::Start(true);
    if (started.ok()) lane = std::move(started.value());
  }).join();
  return lane;
}

}  // namespace

TEST_CASE("by close_range, or else by unshare and the list") {
  const Baseline before;
  {
    const std::vector<UniqueFd> secrets = PipeEnds(40);
    const UniqueFd high(fcntl(secrets[0].get(), F_DUPFD, 400));
    REQUIRE(high.valid());
    CheckPrivate(Isolate({}, 0));
    CheckPrivate(Isolate({{kCloseRange}}, ENOSYS));
    CheckPrivate(Isolate({{kCloseRange}}, EPERM));
    CHECK(ObjectText(high.get()) == ObjectText(secrets[0].get()));
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("where both are refused the table is the process's own, untouched") {
  const Baseline before;
  {
    const std::vector<UniqueFd> others = PipeEnds(4);
    const TableView own = TableOf("/proc/thread-self");
    const Seen seen = Isolate({{kCloseRange}, {SYS_unshare}}, EPERM);
    REQUIRE(seen.isolated->ok());
    CHECK(seen.isolated->value() == LaneTable::kShared);
    CHECK(seen.table.size() == own.size() + 2);
    CHECK(seen.table.at(seen.control).rfind("socket:[", 0) == 0);
    CHECK(TableOf("/proc/thread-self") == own);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("without /dev/null it fails, and says so") {
  const Baseline before;
  const TableView own = TableOf("/proc/thread-self");
  const Seen seen = Isolate({{SYS_openat}}, ENOENT);
  REQUIRE_FALSE(seen.isolated->ok());
  CHECK(seen.isolated->error().errno_value == ENOENT);
  CHECK(std::string(seen.isolated->error().stage) == "descriptor");
  CHECK(seen.isolated->error().path == "/dev/null");
  CHECK(seen.control == 3);
  CHECK(TableOf("/proc/thread-self") == own);
  CHECK(before.Difference() == "");
}

TEST_CASE("a lane that cannot have its table says why and is gone") {
  const Baseline before;
  std::optional<Result<std::unique_ptr<Lane>>> outcome;
  std::thread([&] {
    if (!Refuse({{SYS_openat}}, EACCES, RefusedFor::kThread)) return;
    outcome.emplace(Lane::Start(true));
  }).join();
  REQUIRE(outcome.has_value());
  REQUIRE_FALSE(outcome->ok());
  CHECK(outcome->error().errno_value == EACCES);
  CHECK(std::string(outcome->error().stage) == "descriptor");
  CHECK(outcome->error().path == "/dev/null");
  outcome.reset();
  CHECK(before.Difference() == "");
}

TEST_CASE("a lane without a table of its own is exact all the same, and leaves nothing") {
  const Baseline before;
  {
    const std::unique_ptr<Lane> lane = StartRefused({{kCloseRange}, {SYS_unshare}}, EPERM);
    REQUIRE(lane != nullptr);
    CHECK(lane->table() == LaneTable::kShared);
    const std::vector<UniqueFd> ends = PipeEnds(300);
    REQUIRE(ends.size() == 300);
    const UniqueFd secret(open("/etc/passwd", O_RDONLY));
    const TableView own = TableOf("/proc/thread-self");

    std::vector<DescriptorMove> moves;
    TableView wanted = {{0, "/dev/null"}, {1, "/dev/null"}, {2, "/dev/null"}};
    for (const UniqueFd& end : ends) {
      moves.push_back({end.get(), static_cast<int>(310 - moves.size())});
      wanted[moves.back().target] = ObjectText(end.get());
    }
    const LaunchRequest request = Request({"/bin/sleep", "60"}, moves);
    LaneCall call;
    call.request = &request;
    REQUIRE(lane->Send(call).ok());
    call.Wait();
    REQUIRE(call.outcome->ok());
    const pid_t pid = call.outcome->value();
    CHECK(TableOf("/proc/thread-self") == own);
    CHECK(Eventually([&] { return TableOf(pid) == wanted; }));
    CHECK(StatusField(pid, "NoNewPrivs") == "1");
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, nullptr, 0) == pid);
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
