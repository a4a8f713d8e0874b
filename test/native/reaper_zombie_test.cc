// Zombies that are kept: their number stays taken until they are released, one by one or together.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string>

#include "core/process_signal.h"
#include "core/reaper.h"
#include "support/process_facts.h"
#include "support/recorder.h"
#include "support/requests.h"
#include "support/spawn.h"

namespace sallyport {
namespace {

ChildId Keep(pid_t pid, const std::shared_ptr<Recorder>& recorder) {
  const Result<ChildId> id = Reaper::Instance().Watch(pid, true, true, recorder);
  REQUIRE(id.ok());
  return id.value();
}

bool IsZombie(pid_t pid) { return StatusField(pid, "State").rfind("Z", 0) == 0; }

}  // namespace

TEST_CASE("is told of with its status, and reaped when released") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Shell("exit 7"));
  const ChildId id = Keep(pid, recorder);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].status.code == 7);
  CHECK(recorder->exits()[0].status.usage.ru_maxrss > 0);
  CHECK(IsZombie(pid));
  CHECK(Reaper::Instance().Watches(pid));
  // Whoever is left in its group can be reached.
  CHECK(Reaper::Instance().SignalGroup(id, 0) == 0);
  Reaper::Instance().Release(id);
  CHECK_FALSE(Reaper::Instance().Watches(pid));
  CHECK(Reaper::Instance().SignalGroup(id, 0) == ESRCH);
  CHECK(waitpid(pid, nullptr, WNOHANG) == -1);
  Reaper::Instance().Release(id);
  CHECK(recorder->exits().size() == 1);
  CHECK(before.Difference() == "");
}

TEST_CASE("released before its end it is reaped like any other") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));
  const ChildId id = Keep(pid, recorder);
  Reaper::Instance().Release(id);
  CHECK(Reaper::Instance().Signal(id, SIGKILL) == 0);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(Eventually([pid] { return !Reaper::Instance().Watches(pid); }));
  CHECK(before.Difference() == "");
}

TEST_CASE("of one listener are released together, and no others") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const auto other = std::make_shared<Recorder>();
  const pid_t first = Spawn(Shell("exit 1"));
  const pid_t second = Spawn(Shell("exit 2"));
  const pid_t foreign = Spawn(Shell("exit 3"));
  Keep(first, recorder);
  Keep(second, recorder);
  const ChildId kept = Keep(foreign, other);
  REQUIRE(recorder->WaitForExits(2));
  REQUIRE(other->WaitForExits(1));
  Reaper::Instance().ReleaseAll(recorder.get());
  CHECK_FALSE(Reaper::Instance().Watches(first));
  CHECK_FALSE(Reaper::Instance().Watches(second));
  CHECK(IsZombie(foreign));
  Reaper::Instance().Release(kept);
  CHECK(before.Difference() == "");
}

TEST_CASE("a signal by start time reaches one process and no other of its pid") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));
  Keep(pid, recorder);
  // Nobody is that old.
  CHECK(SignalProcess(pid, 1, SIGKILL) == ESRCH);
  CHECK(recorder->exits().empty());
  FILE* const stat = fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  REQUIRE(stat != nullptr);
  unsigned long long start = 0;
  // Field 22; the name of sleep has no blank.
  const int found = fscanf(stat,
                           "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                           "%*d %*d %*d %*d %llu",
                           &start);
  fclose(stat);
  REQUIRE(found == 1);
  CHECK(SignalProcess(pid, start, SIGTERM) == 0);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].status.signal == SIGTERM);
  Reaper::Instance().ReleaseAll(recorder.get());
  CHECK(SignalProcess(pid, start, SIGTERM) == ESRCH);
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
