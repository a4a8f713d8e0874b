// What a child holds before its first instruction: a copy of its parent thread's table.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/lane.h"
#include "core/posix_spawner.h"
#include "support/pipes_by_name.h"
#include "support/process_facts.h"
#include "support/requests.h"
#include "support/tracer.h"

namespace sallyport {
namespace {

constexpr char kSecret[] = "/etc/passwd";

bool Holds(const TableView& table, const std::string& target) {
  return std::any_of(table.begin(), table.end(),
                     [&](const auto& entry) { return entry.second == target; });
}

// Exactly these, each as often as it is named: the numbers are the lane's own affair.
std::vector<std::string> Targets(const TableView& table) {
  std::vector<std::string> targets;
  for (const auto& [fd, target] : table) targets.push_back(target);
  std::sort(targets.begin(), targets.end());
  return targets;
}

}  // namespace

TEST_CASE("a child of an ordinary thread holds all that its parent has, close-on-exec or not") {
  // What the next test must be able to see.
  const Baseline before;
  {
    const UniqueFd secret(open(kSecret, O_RDONLY | O_CLOEXEC));
    std::promise<pid_t> ready;
    std::promise<void> go_on;
    pid_t pid = -1;
    std::thread thread([&] {
      ready.set_value(static_cast<pid_t>(syscall(SYS_gettid)));
      go_on.get_future().wait();
      const LaunchRequest request = Request({"/bin/true"});
      const Result<pid_t> started = PosixSpawn(request, OrderDescriptorSteps({}, {0, 1, 2}));
      if (started.ok()) pid = started.value();
    });
    pid_t child = -1;
    TableView table;
    {
      Tracer tracer;
      CHECK(tracer.StopNextChild(ready.get_future().get()));
      go_on.set_value();
      child = tracer.StoppedChild();
      table = TableOf(child);
      CHECK(tracer.LetGo(child));
    }
    thread.join();
    CHECK(pid == child);
    CHECK(Holds(table, kSecret));
    CHECK(waitpid(pid, nullptr, 0) == pid);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a child of a lane holds what it is to receive and the lane's own, never more") {
  const Baseline before;
  {
    Result<std::unique_ptr<Lane>> started = Lane::Start(true);
    REQUIRE(started.ok());
    Lane& lane = *started.value();
    const UniqueFd secret(open(kSecret, O_RDONLY | O_CLOEXEC));
    const UniqueFd unsealed(open(kSecret, O_RDONLY));
    const std::vector<UniqueFd> ends = PipeEnds(4);
    REQUIRE(ends.size() == 4);
    const std::string control = TableOf(OwnThread(lane.thread_id())).at(3);

    for (size_t passed = 0; passed <= ends.size(); ++passed) {
      CAPTURE(passed);
      std::vector<DescriptorMove> moves;
      std::vector<std::string> wanted = {"/dev/null", "/dev/null", "/dev/null", control};
      for (size_t i = 0; i < passed; ++i) {
        moves.push_back({ends[i].get(), static_cast<int>(10 + i)});
        wanted.push_back(ObjectText(ends[i].get()));
      }
      std::sort(wanted.begin(), wanted.end());
      const LaunchRequest request = Request({"/bin/true"}, moves);
      LaneCall call;
      call.request = &request;
      pid_t child = -1;
      TableView table;
      {
        Tracer tracer;
        REQUIRE(tracer.StopNextChild(lane.thread_id()));
        REQUIRE(lane.Send(call).ok());
        child = tracer.StoppedChild();
        table = TableOf(child);
        CHECK(call.done.load() == 0);
        CHECK(tracer.LetGo(child));
      }
      call.Wait();
      REQUIRE(call.outcome->ok());
      CHECK(call.outcome->value() == child);
      CHECK(Targets(table) == wanted);
      CHECK_FALSE(Holds(table, kSecret));
      CHECK(waitpid(child, nullptr, 0) == child);
    }
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
