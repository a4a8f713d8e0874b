// One spawner lane: what its table holds, what its children receive, what is left of a call.
#include "core/lane.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/pipes_by_name.h"
#include "support/process_facts.h"
#include "support/requests.h"

namespace sallyport {
namespace {

std::unique_ptr<Lane> StartLane(bool no_new_privileges = true) {
  Result<std::unique_ptr<Lane>> lane = Lane::Start(no_new_privileges);
  REQUIRE(lane.ok());
  REQUIRE(lane.value()->table() == LaneTable::kPrivate);
  return std::move(lane.value());
}

Result<pid_t> Call(Lane& lane, const LaunchRequest& request, bool elsewhere = false) {
  LaneCall call;
  call.request = &request;
  call.elsewhere = elsewhere;
  const Result<bool> sent = lane.Send(call);
  if (!sent.ok()) return sent.error();
  call.Wait();
  return *call.outcome;
}

void EndAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  CHECK(waitpid(pid, nullptr, 0) == pid);
}

int ExitCode(pid_t pid) {
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool HasTable(pid_t pid, const TableView& wanted) {
  // The dynamic loader opens the C library for a moment.
  if (Eventually([&] { return TableOf(pid) == wanted; })) return true;
  MESSAGE("child:" << Show(TableOf(pid)) << "; wanted:" << Show(wanted));
  return false;
}

const TableView kNullChannels = {{0, "/dev/null"}, {1, "/dev/null"}, {2, "/dev/null"}};

// The soft limit on descriptors, for a while.
class Limit {
 public:
  explicit Limit(rlim_t descriptors) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const struct rlimit low = {descriptors, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  }
  ~Limit() { setrlimit(RLIMIT_NOFILE, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  struct rlimit before_;
};

}  // namespace

TEST_CASE("a lane's table has nothing of the parent's, and ends with the lane") {
  const Baseline before;
  {
    // What a parent has to leak: with close-on-exec and without, above a gap too.
    const UniqueFd secret(open("/etc/passwd", O_RDONLY));
    const UniqueFd high(fcntl(secret.get(), F_DUPFD, 300));
    REQUIRE(TableOf("/proc/thread-self").count(high.get()) == 1);
    {
      const std::unique_ptr<Lane> lane = StartLane();
      CHECK(IsCleanLane(lane->thread_id()));
      CHECK(OwnThreads().at(lane->thread_id()) == "sallyport-lane");
      const std::string blocked = StatusField(OwnThread(lane->thread_id()), "SigBlk");
      CHECK(std::stoull(blocked, nullptr, 16) == 0xfffffffe7ffbfeffULL);
      // The other way round: the lane's /dev/nulls are not in the parent's table.
      CHECK(TableOf("/proc/thread-self").at(high.get()) == "/etc/passwd");
    }
    CHECK(Eventually([] { return ThreadsNamed("sallyport-lane").empty(); }));
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a child receives exactly its table") {
  const std::unique_ptr<Lane> lane = StartLane();
  const UniqueFd secret(open("/etc/passwd", O_RDONLY));

  SUBCASE("nothing") {
    const Result<pid_t> pid = Call(*lane, Request({"/bin/sleep", "60"}));
    REQUIRE(pid.ok());
    CHECK(IsCleanLane(lane->thread_id()));
    CHECK(HasTable(pid.value(), kNullChannels));
    EndAndReap(pid.value());
  }
  SUBCASE("the numbers of the lane itself, swaps, one source twice, gaps") {
    const std::vector<UniqueFd> ends = PipeEnds(6);
    REQUIRE(ends.size() == 6);
    const std::vector<DescriptorMove> moves = {
        {ends[0].get(), 3}, {ends[1].get(), 4},  {ends[2].get(), 1}, {ends[2].get(), 9},
        {ends[3].get(), 5}, {ends[4].get(), 40}, {ends[5].get(), 0},
    };
    TableView wanted = {{2, "/dev/null"}};
    for (const DescriptorMove& move : moves) wanted[move.target] = ObjectText(move.source);
    const Result<pid_t> pid = Call(*lane, Request({"/bin/sleep", "60"}, moves));
    REQUIRE(pid.ok());
    CHECK(IsCleanLane(lane->thread_id()));
    CHECK(HasTable(pid.value(), wanted));
    EndAndReap(pid.value());
  }
}

TEST_CASE("more descriptors than one message takes, in any order") {
  const Baseline before;
  {
    const std::unique_ptr<Lane> lane = StartLane();
    std::mt19937 random(1);
    for (size_t count : {252, 253, 254, 506, 507, 600}) {
      CAPTURE(count);
      std::vector<UniqueFd> ends = PipeEnds(count);
      REQUIRE(ends.size() == count);
      std::vector<int> targets(count);
      for (size_t i = 0; i < count; ++i) targets[i] = static_cast<int>(i);
      std::shuffle(targets.begin(), targets.end(), random);
      std::vector<DescriptorMove> moves;
      TableView wanted;
      for (size_t i = 0; i < count; ++i) {
        moves.push_back({ends[i].get(), targets[i]});
        wanted[targets[i]] = ObjectText(ends[i].get());
      }
      const LaunchRequest request = Request({"/bin/sleep", "60"}, moves);
      LaneCall call;
      call.request = &request;
      REQUIRE(lane->Send(call).ok());
      ends.clear();  // the lane has its own by now
      call.Wait();
      REQUIRE(call.outcome->ok());
      CHECK(IsCleanLane(lane->thread_id()));
      CHECK(HasTable(call.outcome->value(), wanted));
      EndAndReap(call.outcome->value());
    }
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("what a lane received is closed before the call is done") {
  const std::unique_ptr<Lane> lane = StartLane();
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);

  for (const char* executable : {"/bin/true", "/nonexistent"}) {
    const Result<pid_t> pid = Call(*lane, Request({executable}, {{write_end.get(), 1}}));
    CHECK(IsCleanLane(lane->thread_id()));
    if (pid.ok()) CHECK(ExitCode(pid.value()) == 0);
  }
  write_end.reset();
  char byte;
  CHECK(read(read_end.get(), &byte, 1) == 0);
}

TEST_CASE("refusals come back with their errno, and the lane goes on") {
  const std::unique_ptr<Lane> lane = StartLane();
  const struct {
    const char* executable;
    int refused;
  } cases[] = {{"/nonexistent", ENOENT}, {"/etc/passwd", EACCES}, {"/etc/passwd/x", ENOTDIR}};
  for (const auto& [executable, refused] : cases) {
    const Result<pid_t> pid = Call(*lane, Request({executable}));
    REQUIRE_FALSE(pid.ok());
    CHECK(pid.error().errno_value == refused);
    CHECK(std::string(pid.error().stage) == "exec");
    CHECK(pid.error().path == executable);
    CHECK(IsCleanLane(lane->thread_id()));
  }
  const Result<pid_t> pid = Call(*lane, Shell("exit 5"));
  REQUIRE(pid.ok());
  CHECK(ExitCode(pid.value()) == 5);
}

TEST_CASE("a call that cannot be sent whole is forgotten") {
  const Baseline before;
  {
    const std::unique_ptr<Lane> lane = StartLane();
    const std::vector<UniqueFd> ends = PipeEnds(300);
    REQUIRE(ends.size() == 300);
    std::vector<DescriptorMove> moves;
    for (const UniqueFd& end : ends) {
      moves.push_back({end.get(), static_cast<int>(3 + moves.size())});
    }

    SUBCASE("refused in its first message") { moves[7].source = 10'000; }
    SUBCASE("refused in its second message") { moves[299].source = 10'000; }
    for (int round = 0; round < 3; ++round) {
      const Result<pid_t> refused = Call(*lane, Request({"/bin/true"}, moves));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().errno_value == EBADF);
      CHECK(std::string(refused.error().stage) == "descriptor");
    }
    CHECK(Eventually([&] { return IsCleanLane(lane->thread_id()); }));

    // Nothing of it reaches the next one.
    const Result<pid_t> pid = Call(*lane, Request({"/bin/sleep", "60"}, {{ends[0].get(), 5}}));
    REQUIRE(pid.ok());
    TableView wanted = kNullChannels;
    wanted[5] = ObjectText(ends[0].get());
    CHECK(HasTable(pid.value(), wanted));
    EndAndReap(pid.value());
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("wherever a lane was woken, it and its children may run where they might before") {
  const auto processors = [](pid_t thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    REQUIRE(sched_getaffinity(thread, sizeof set, &set) == 0);
    return set;
  };
  const std::unique_ptr<Lane> lane = StartLane();
  const cpu_set_t wanted = processors(0);

  const Result<pid_t> pid = Call(*lane, Request({"/bin/sleep", "60"}, {}), true);
  REQUIRE(pid.ok());
  const cpu_set_t child = processors(pid.value());
  CHECK(CPU_EQUAL(&child, &wanted));
  EndAndReap(pid.value());

  // It hears nothing of a call that could not be sent.
  CHECK_FALSE(Call(*lane, Request({"/bin/true"}, {{10'000, 5}}), true).ok());
  const cpu_set_t after = processors(lane->thread_id());
  CHECK(CPU_EQUAL(&after, &wanted));
}

TEST_CASE("more descriptors than the limit allows a lane: EMFILE, and nothing of it is left") {
  const Baseline before;
  {
    const std::unique_ptr<Lane> lane = StartLane();
    const std::vector<UniqueFd> ends = PipeEnds(600);
    REQUIRE(ends.size() == 600);
    for (size_t count : {60, 253, 254, 300, 600}) {
      CAPTURE(count);
      std::vector<DescriptorMove> moves;
      for (size_t i = 0; i < count; ++i) {
        moves.push_back({ends[i].get(), static_cast<int>(3 + i)});
      }
      const LaunchRequest large = Request({"/bin/true"}, moves);
      const LaunchRequest small = Request({"/bin/sleep", "60"}, {{ends[599].get(), 5}});
      LaneCall refused;
      refused.request = &large;
      LaneCall next;
      next.request = &small;
      // One after the other, and nothing else while there is room for so little.
      std::optional<Result<bool>> sent;
      bool next_sent = false;
      {
        const Limit limit(50);
        sent.emplace(lane->Send(refused));
        if (sent->ok()) refused.Wait();
        next_sent = Eventually([&] { return lane->Send(next).ok(); });
        if (next_sent) next.Wait();
      }
      if (sent->ok()) {
        REQUIRE_FALSE(refused.outcome->ok());
        CHECK(refused.outcome->error().errno_value == EMFILE);
        CHECK(std::string(refused.outcome->error().stage) == "descriptor");
      } else {
        // Without CAP_SYS_RESOURCE there is a bound on what is sent and not yet received.
        CHECK(sent->error().errno_value == ETOOMANYREFS);
      }
      REQUIRE(next_sent);
      REQUIRE(next.outcome->ok());
      CHECK(IsCleanLane(lane->thread_id()));
      TableView wanted = kNullChannels;
      wanted[5] = ObjectText(ends[599].get());
      CHECK(HasTable(next.outcome->value(), wanted));
      EndAndReap(next.outcome->value());
    }
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("no_new_privs is the lane's and its children's, nobody else's") {
  const std::string own = StatusField("/proc/thread-self", "NoNewPrivs");
  for (bool wanted : {true, false}) {
    const std::unique_ptr<Lane> lane = StartLane(wanted);
    const std::string expected = wanted ? "1" : own;
    CHECK(StatusField(OwnThread(lane->thread_id()), "NoNewPrivs") == expected);
    const Result<pid_t> pid = Call(*lane, Request({"/bin/sleep", "60"}));
    REQUIRE(pid.ok());
    CHECK(StatusField(pid.value(), "NoNewPrivs") == expected);
    EndAndReap(pid.value());
    CHECK(StatusField("/proc/thread-self", "NoNewPrivs") == own);
  }
}

TEST_CASE("announced calls send one byte each, others none") {
  const std::unique_ptr<Lane> lane = StartLane();
  const LaunchRequest request = Request({"/bin/true"});
  const auto readable = [&lane](int timeout) {
    pollfd control = {lane->control(), POLLIN, 0};
    return poll(&control, 1, timeout) == 1;
  };
  const Result<pid_t> silent = Call(*lane, request);
  REQUIRE(silent.ok());
  CHECK(ExitCode(silent.value()) == 0);
  CHECK_FALSE(readable(0));
  CHECK(lane->TakeAnnouncements() == 0);
  for (int round = 0; round < 3; ++round) {
    LaneCall call;
    call.request = &request;
    call.announce = true;
    REQUIRE(lane->Send(call).ok());
    REQUIRE(readable(30'000));
    CHECK(call.done.load() == 1);
    CHECK(lane->TakeAnnouncements() == 1);
    CHECK(lane->TakeAnnouncements() == 0);
    REQUIRE(call.outcome->ok());
    CHECK(ExitCode(call.outcome->value()) == 0);
  }
}

TEST_CASE("many lanes at work at once, each called from its own thread") {
  const Baseline before;
  {
    constexpr int kLanes = 4;
    constexpr int kCalls = 150;
    std::vector<std::unique_ptr<Lane>> lanes;
    for (int i = 0; i < kLanes; ++i) lanes.push_back(StartLane());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kLanes; ++thread) {
      threads.emplace_back([&, thread] {
        Lane& lane = *lanes[static_cast<size_t>(thread)];
        for (int i = 0; i < kCalls; ++i) {
          // The descriptor goes there and back: the child writes its number into the pipe.
          int ends[2];
          if (pipe2(ends, O_CLOEXEC) != 0) {
            ++wrong;
            continue;
          }
          const UniqueFd read_end(ends[0]);
          UniqueFd write_end(ends[1]);
          const std::string text = std::to_string(thread * kCalls + i);
          const LaunchRequest request = Shell("echo " + text, {{write_end.get(), 1}});
          LaneCall call;
          call.request = &request;
          if (!lane.Send(call).ok()) ++wrong;
          write_end.reset();
          call.Wait();
          char buffer[32];
          const ssize_t size = read(read_end.get(), buffer, sizeof buffer);
          if (!call.outcome->ok() || size < 0 ||
              std::string(buffer, static_cast<size_t>(size)) != text + "\n" ||
              waitpid(call.outcome->value(), nullptr, 0) != call.outcome->value()) {
            ++wrong;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("signals interrupt neither the start of a lane nor a call") {
  // A handler without SA_RESTART, as another addon may have installed.
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before;
  REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
  const itimerval often = {{0, 100}, {0, 100}};
  REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    const Result<std::unique_ptr<Lane>> lane = Lane::Start(true);
    if (!lane.ok()) {
      ++refused;
      continue;
    }
    const Result<pid_t> pid = Call(*lane.value(), Request({"/bin/true"}));
    if (!pid.ok()) ++refused;
    while (pid.ok() && waitpid(pid.value(), nullptr, 0) == -1 && errno == EINTR) {
    }
  }
  const itimerval never = {};
  REQUIRE(setitimer(ITIMER_REAL, &never, nullptr) == 0);
  REQUIRE(sigaction(SIGALRM, &before, nullptr) == 0);
  CHECK(refused == 0);
}

}  // namespace sallyport
