// The pool of lanes when programs hang in exec: who goes on, in which order, and how it is ended.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "core/lane_pool.h"
#include "support/held_executable.h"
#include "support/process_facts.h"
#include "support/recorder.h"
#include "support/requests.h"
#include "support/tracer.h"

namespace sallyport {
namespace {

constexpr size_t kMostLanes = 32;
constexpr size_t kLongestQueue = 16'384;
constexpr char kLane[] = "sallyport-lane";

LanePool& Pool() { return LanePool::Instance(true); }

JobId NextId() {
  static JobId next = 1;
  return next++;
}

JobId Submit(const std::string& executable, const std::shared_ptr<Recorder>& recorder) {
  const JobId id = NextId();
  REQUIRE(Pool().Submit(Job({executable}, recorder, id)).ok());
  return id;
}

std::vector<pid_t> ChildrenOfLanes() {
  std::vector<pid_t> children;
  for (pid_t lane : ThreadsNamed(kLane)) {
    for (pid_t child : ChildrenOf(lane)) children.push_back(child);
  }
  return children;
}

bool HangsWith(const HeldExecutable& held, size_t children) {
  return Eventually([&] { return held.IsWaitedFor() && ChildrenOfLanes().size() == children; });
}

std::vector<JobId> Ids(const std::vector<Recorder::Launch>& launches) {
  std::vector<JobId> ids;
  for (const Recorder::Launch& launch : launches) ids.push_back(launch.id);
  return ids;
}

}  // namespace

TEST_CASE("a launch that hangs holds up its own lane only") {
  const Baseline before;
  {
    HeldExecutable held("/bin/true");
    REQUIRE(held.Hold());
    const auto recorder = std::make_shared<Recorder>();
    const auto others = std::make_shared<Recorder>();
    const JobId stuck = Submit(held.path(), recorder);
    REQUIRE(HangsWith(held, 1));
    for (int i = 0; i < 40; ++i) Submit("/bin/true", others);
    for (int i = 0; i < 10; ++i) {
      const std::unique_ptr<LaunchJob> job = Job({"/bin/true"}, others);
      CHECK(Pool().Run(*job).ok());
    }
    REQUIRE(others->WaitForLaunches(40));
    REQUIRE(others->WaitForExits(50));
    CHECK(recorder->launches().empty());
    CHECK(held.IsWaitedFor());

    held.LetGo();
    REQUIRE(recorder->WaitForLaunches(1));
    CHECK(recorder->launches()[0].id == stuck);
    CHECK(recorder->launches()[0].refused == 0);
    REQUIRE(recorder->WaitForExits(1));
    CHECK(recorder->exits()[0].status.code == 0);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a launch that hangs is ended when it is taken back") {
  const Baseline before;
  {
    HeldExecutable held("/bin/true");
    REQUIRE(held.Hold());
    const auto recorder = std::make_shared<Recorder>();

    SUBCASE("by its id") {
      const JobId stuck = Submit(held.path(), recorder);
      REQUIRE(HangsWith(held, 1));
      CHECK(Pool().Cancel(stuck));
      REQUIRE(recorder->WaitForLaunches(1));
      CHECK(recorder->launches()[0].id == stuck);
      CHECK(recorder->launches()[0].refused == ECANCELED);
      CHECK_FALSE(Pool().Cancel(stuck));
    }
    SUBCASE("with all of its listener") {
      for (int i = 0; i < 3; ++i) Submit(held.path(), recorder);
      REQUIRE(HangsWith(held, 3));
      Pool().CancelAll(recorder.get());
      CHECK(Eventually([] { return ChildrenOfLanes().empty(); }));
    }
    // By the signal, not because the file was let go.
    CHECK(Eventually([] { return HasNoChildren(); }));
    CHECK(recorder->exits().empty());
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a launch that is taken back before its child exists, and then hangs, is ended too") {
  const Baseline before;
  {
    HeldExecutable held("/bin/true");
    REQUIRE(held.Hold());
    const auto recorder = std::make_shared<Recorder>();
    {
      // Whichever lane takes it has not even read it.
      std::vector<std::unique_ptr<Tracer>> tracers;
      const std::vector<pid_t> lanes = ThreadsNamed(kLane);
      for (pid_t lane : lanes) {
        tracers.push_back(std::make_unique<Tracer>());
        REQUIRE(tracers.back()->Stop(lane));
      }
      const JobId id = Submit(held.path(), recorder);
      CHECK(Pool().Cancel(id));
      CHECK(ChildrenOfLanes().empty());
    }
    REQUIRE(recorder->WaitForLaunches(1));
    CHECK(recorder->launches()[0].refused == ECANCELED);
    CHECK(recorder->exits().empty());
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("with every lane hanging: the queue's bound, its order, and who is let in") {
  const Baseline before;
  {
    HeldExecutable held("/bin/true");
    REQUIRE(held.Hold());
    const auto hanging = std::make_shared<Recorder>();
    std::vector<JobId> stuck;
    for (size_t i = 0; i < kMostLanes; ++i) stuck.push_back(Submit(held.path(), hanging));
    // Lanes that hang are replaced, up to a bound.
    REQUIRE(HangsWith(held, kMostLanes));
    const auto queued = std::make_shared<Recorder>();
    std::vector<JobId> order;
    for (int i = 0; i < 20; ++i) order.push_back(Submit("/bin/true", queued));
    CHECK(queued->launches().empty());

    // Queued: the listener hears it before Cancel() returns.
    CHECK(Pool().Cancel(order[7]));
    REQUIRE(queued->launches().size() == 1);
    CHECK(queued->launches()[0].id == order[7]);
    CHECK(queued->launches()[0].refused == ECANCELED);
    CHECK_FALSE(Pool().Cancel(order[7]));
    order.erase(order.begin() + 7);

    const auto leaving = std::make_shared<Recorder>();
    size_t taken = order.size();
    for (;;) {
      const Result<bool> submitted = Pool().Submit(Job({"/bin/true"}, leaving, NextId()));
      if (!submitted.ok()) {
        CHECK(submitted.error().errno_value == EAGAIN);
        CHECK(std::string(submitted.error().stage) == "process");
        break;
      }
      ++taken;
    }
    CHECK(taken == kLongestQueue);
    CHECK(ThreadsNamed(kLane).size() == kMostLanes);
    Pool().CancelAll(leaving.get());

    // Who waits for the outcome gets a lane beyond the bound; it then serves the queue, alone.
    const std::unique_ptr<LaunchJob> waited_for = Job({"/bin/true"}, hanging);
    CHECK(Pool().Run(*waited_for).ok());
    REQUIRE(queued->WaitForLaunches(1 + order.size()));
    std::vector<JobId> launched = Ids(queued->launches());
    launched.erase(launched.begin());  // the one that was taken back
    CHECK(launched == order);
    CHECK(ThreadsNamed(kLane).size() == kMostLanes + 1);
    CHECK(leaving->launches().empty());

    CHECK(held.IsWaitedFor());
    CHECK(hanging->launches().empty());
    CHECK(Pool().Cancel(stuck[0]));
    REQUIRE(hanging->WaitForLaunches(1));
    CHECK(hanging->launches()[0].refused == ECANCELED);

    held.LetGo();
    REQUIRE(hanging->WaitForLaunches(kMostLanes));
    REQUIRE(hanging->WaitForExits(kMostLanes));  // without the first, with the one waited for
    REQUIRE(queued->WaitForExits(order.size()));
    for (const Recorder::Launch& launch : hanging->launches()) {
      CHECK(launch.refused == (launch.id == stuck[0] ? ECANCELED : 0));
    }
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
