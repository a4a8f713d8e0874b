// The reaper: exits, signals, many children at once, children that others reaped.
#include "core/reaper.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/pipes.h"
#include "core/posix_spawner.h"
#include "support/process_facts.h"
#include "support/recorder.h"
#include "support/requests.h"
#include "support/spawn.h"

namespace sallyport {
namespace {

// -1 when refused.
ChildId Watch(pid_t pid, const std::shared_ptr<Recorder>& recorder, bool leads_group = true) {
  const Result<ChildId> id = Reaper::Instance().Watch(pid, leads_group, false, recorder);
  return id.ok() ? id.value() : static_cast<ChildId>(-1);
}

// While it lives, the reactor's thread does nothing.
class ReactorHeldUp {
 public:
  ReactorHeldUp() {
    REQUIRE(Reactor::Instance().Run());
    const auto there = std::make_shared<std::promise<void>>();
    std::future<void> reached = there->get_future();
    Reactor::Instance().Post([there, go_on = go_on_.get_future().share()] {
      there->set_value();
      go_on.wait();
    });
    REQUIRE(reached.wait_for(kDeadline) == std::future_status::ready);
  }
  ~ReactorHeldUp() { go_on_.set_value(); }
  ReactorHeldUp(const ReactorHeldUp&) = delete;
  ReactorHeldUp& operator=(const ReactorHeldUp&) = delete;

 private:
  std::promise<void> go_on_;
};

}  // namespace

TEST_CASE("every exit code and how it came about") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  std::map<ChildId, int> wanted;
  for (int code : {0, 1, 2, 42, 126, 127, 128, 143, 255}) {
    wanted[Watch(Spawn(Shell("exit " + std::to_string(code))), recorder)] = code;
  }
  REQUIRE(recorder->WaitForExits(wanted.size()));
  for (const Recorder::Exit& exit : recorder->exits()) {
    CHECK(exit.status.code == wanted.at(exit.id));
    CHECK(exit.status.signal == 0);
    CHECK_FALSE(exit.status.core_dumped);
    CHECK_FALSE(exit.status.lost);
    CHECK(exit.status.usage.ru_maxrss > 0);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("the signal that ended a child") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  std::map<ChildId, int> wanted;
  for (int signal : {SIGHUP, SIGINT, SIGKILL, SIGUSR1, SIGALRM, SIGTERM, SIGRTMIN, SIGRTMAX}) {
    const ChildId id = Watch(Spawn(Request({"/bin/sleep", "60"})), recorder);
    wanted[id] = signal;
    CHECK(Reaper::Instance().Signal(id, 0) == 0);
    CHECK(Reaper::Instance().Signal(id, signal) == 0);
  }
  REQUIRE(recorder->WaitForExits(wanted.size()));
  for (const Recorder::Exit& exit : recorder->exits()) {
    CHECK(exit.status.signal == wanted.at(exit.id));
    CHECK(exit.status.code == -1);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a stopped child has not ended") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));
  const ChildId id = Watch(pid, recorder);
  CHECK(Reaper::Instance().Signal(id, SIGSTOP) == 0);
  CHECK(Eventually([pid] { return StatusField(pid, "State").rfind("T", 0) == 0; }));
  CHECK(recorder->exits().empty());
  CHECK(Reaper::Instance().Signal(id, SIGCONT) == 0);
  CHECK(Reaper::Instance().Signal(id, SIGTERM) == 0);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].status.signal == SIGTERM);
  CHECK(before.Difference() == "");
}

TEST_CASE("signals are refused where they cannot be right") {
  const Baseline before;
  Reaper& reaper = Reaper::Instance();
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));
  const ChildId id = Watch(pid, recorder, false);
  CHECK(reaper.Watches(pid));
  CHECK(reaper.Signal(id, 12345) == EINVAL);
  // Its group may be ours.
  CHECK(reaper.SignalGroup(id, SIGTERM) == EINVAL);
  CHECK(reaper.Signal(id, SIGTERM) == 0);
  REQUIRE(recorder->WaitForExits(1));
  CHECK_FALSE(reaper.Watches(pid));
  CHECK(reaper.Signal(id, SIGTERM) == ESRCH);
  CHECK(reaper.SignalGroup(id, SIGTERM) == ESRCH);
  CHECK(reaper.Signal(999'999'999, SIGTERM) == ESRCH);
  CHECK(reaper.SignalGroup(999'999'999, SIGTERM) == ESRCH);
  CHECK(before.Difference() == "");
}

TEST_CASE("a group's signal reaches its grandchildren, and nobody once the leader is reaped") {
  const Baseline before;
  Reaper& reaper = Reaper::Instance();
  const auto recorder = std::make_shared<Recorder>();
  // The end of the pipe says that no writer is left: neither the leader nor a grandchild.
  Result<ChannelPipe> pipe = OpenChannelPipe(PipeDirection::kFromChild);
  REQUIRE(pipe.ok());
  const auto lives = [&pipe] {
    char byte;
    return read(pipe.value().ours.get(), &byte, 1) != 0;
  };

  SUBCASE("the whole group") {
    const ChildId id = Watch(
        Spawn(Shell("sleep 60 & sleep 60 & wait", {{pipe.value().theirs.get(), 1}})), recorder);
    pipe.value().theirs.reset();
    CHECK(lives());
    CHECK(reaper.SignalGroup(id, SIGTERM) == 0);
    CHECK(Eventually([&] { return !lives(); }));
    REQUIRE(recorder->WaitForExits(1));
  }
  SUBCASE("what outlives its leader") {
    const pid_t pid = Spawn(Shell("sleep 60 & exit 3", {{pipe.value().theirs.get(), 1}}));
    const ChildId id = Watch(pid, recorder);
    pipe.value().theirs.reset();
    REQUIRE(recorder->WaitForExits(1));
    CHECK(recorder->exits()[0].status.code == 3);
    CHECK(reaper.SignalGroup(id, SIGKILL) == ESRCH);
    CHECK(lives());
    CHECK(kill(-pid, SIGKILL) == 0);
    CHECK(Eventually([&] { return !lives(); }));
  }
  pipe.value().ours.reset();
  CHECK(recorder->exits().size() == 1);
  CHECK(before.Difference() == "");
}

TEST_CASE("a thousand children at once, watched from four threads") {
  const Baseline before;
  constexpr int kThreads = 4;
  constexpr int kEach = 250;
  const auto recorder = std::make_shared<Recorder>();
  std::array<std::map<ChildId, int>, kThreads> wanted;
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const int code = (thread * kEach + i) % 256;
        const LaunchRequest request = Shell("exit " + std::to_string(code));
        const Result<pid_t> pid =
            PosixSpawn(request, OrderDescriptorSteps(request.descriptors, request.null_targets));
        if (pid.ok()) {
          wanted[static_cast<size_t>(thread)][Watch(pid.value(), recorder)] = code;
        } else {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(refused == 0);
  REQUIRE(recorder->WaitForExits(kThreads * kEach));

  std::map<ChildId, int> all;
  for (const auto& part : wanted) all.insert(part.begin(), part.end());
  REQUIRE(all.size() == kThreads * kEach);
  std::set<ChildId> heard;
  int wrong = 0;
  for (const Recorder::Exit& exit : recorder->exits()) {
    if (exit.status.code != all.at(exit.id)) ++wrong;
    heard.insert(exit.id);
  }
  CHECK(wrong == 0);
  CHECK(heard.size() == all.size());
  CHECK(recorder->exits().size() == all.size());
  CHECK(before.Difference() == "");
}

TEST_CASE("signals and exits that cross each other") {
  const Baseline before;
  constexpr int kThreads = 3;
  constexpr int kEach = 60;
  const auto recorder = std::make_shared<Recorder>();
  std::atomic<int> odd{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const LaunchRequest request = Request({"/bin/true"});
        const Result<pid_t> pid =
            PosixSpawn(request, OrderDescriptorSteps(request.descriptors, request.null_targets));
        if (!pid.ok()) {
          ++odd;
          continue;
        }
        const ChildId id = Watch(pid.value(), recorder);
        for (int refused = 0; refused != ESRCH;) {
          refused = i % 2 == 0 ? Reaper::Instance().Signal(id, SIGTERM)
                               : Reaper::Instance().SignalGroup(id, SIGTERM);
          if (refused != 0 && refused != ESRCH) {
            ++odd;
            break;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(odd == 0);
  REQUIRE(recorder->WaitForExits(kThreads * kEach));
  int wrong = 0;
  for (const Recorder::Exit& exit : recorder->exits()) {
    const bool right = exit.status.code == 0 || exit.status.signal == SIGTERM;
    if (!right || recorder->ExitsOf(exit.id) != 1) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(before.Difference() == "");
}

TEST_CASE("a child that somebody else reaped") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));

  SUBCASE("after it was watched") {
    ChildId id;
    {
      const ReactorHeldUp held;
      id = Watch(pid, recorder);
      kill(pid, SIGKILL);
      CHECK(waitpid(pid, nullptr, 0) == pid);
      CHECK(Reaper::Instance().Signal(id, SIGTERM) == ESRCH);
    }
    REQUIRE(recorder->WaitForExits(1));
    const Recorder::Exit exit = recorder->exits()[0];
    CHECK(exit.id == id);
    // Kernel 6.15 and later still know how it ended.
    if (!exit.status.lost) CHECK(exit.status.signal == SIGKILL);
  }
  SUBCASE("before it was watched") {
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, nullptr, 0) == pid);
    const ChildId id = Watch(pid, recorder);
    REQUIRE(recorder->WaitForExits(1));
    CHECK(recorder->exits()[0].id == id);
    CHECK(recorder->exits()[0].status.lost);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("an ended child is reaped though its reactor was busy when it ended") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  {
    const ReactorHeldUp held;
    const pid_t pid = Spawn(Request({"/bin/true"}));
    const ChildId id = Watch(pid, recorder);
    CHECK(Eventually([pid] { return StatusField(pid, "State").rfind("Z", 0) == 0; }));
    // A zombie may still be signalled: it is not reaped, so the number is its own.
    CHECK(Reaper::Instance().Signal(id, SIGTERM) == 0);
  }
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].status.code == 0);
  CHECK(before.Difference() == "");
}

TEST_CASE("at the descriptor limit a thread waits for the child") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));
  struct rlimit limit;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const struct rlimit none = {3, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const ChildId id = Watch(pid, recorder);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);

  CHECK(Eventually([] { return ThreadsNamed("sallyport-wait").size() == 1; }));
  CHECK(Reaper::Instance().Signal(id, SIGUSR1) == 0);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].status.signal == SIGUSR1);
  CHECK(Reaper::Instance().Signal(id, SIGUSR1) == ESRCH);
  CHECK(before.Difference() == "");
}

TEST_CASE("children can be waited for whatever the parent did with SIGCHLD") {
  struct sigaction before;
  REQUIRE(sigaction(SIGCHLD, nullptr, &before) == 0);
  struct sigaction action = {};
  struct sigaction after = {};

  action.sa_handler = SIG_IGN;
  REQUIRE(sigaction(SIGCHLD, &action, nullptr) == 0);
  EnsureChildrenWaitable();
  REQUIRE(sigaction(SIGCHLD, nullptr, &after) == 0);
  CHECK((after.sa_handler == SIG_DFL));

  // A handler, libuv's for one, stays; only the flag goes.
  const auto handler = [](int) {};
  action.sa_handler = handler;
  action.sa_flags = SA_NOCLDWAIT | SA_RESTART;
  REQUIRE(sigaction(SIGCHLD, &action, nullptr) == 0);
  EnsureChildrenWaitable();
  REQUIRE(sigaction(SIGCHLD, nullptr, &after) == 0);
  CHECK((after.sa_handler == action.sa_handler));
  CHECK((after.sa_flags & SA_NOCLDWAIT) == 0);
  CHECK((after.sa_flags & SA_RESTART) != 0);

  const auto recorder = std::make_shared<Recorder>();
  Watch(Spawn(Shell("exit 7")), recorder);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].status.code == 7);
  REQUIRE(sigaction(SIGCHLD, &before, nullptr) == 0);
}

}  // namespace sallyport
