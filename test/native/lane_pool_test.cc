// The pool of lanes with launches that do not hang: their outcomes, from many threads at once.
#include "core/lane_pool.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/pipes_by_name.h"
#include "support/process_facts.h"
#include "support/recorder.h"
#include "support/requests.h"

namespace sallyport {
namespace {

using Kind = TableEntry::Kind;

LanePool& Pool() { return LanePool::Instance(true); }

int ExitCodeOf(Recorder& recorder, ChildId id) {
  if (!Eventually([&] { return recorder.ExitsOf(id) > 0; })) return -1;
  for (const Recorder::Exit& exit : recorder.exits()) {
    if (exit.id == id) return exit.status.code;
  }
  return -1;
}

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[256];
  const bool ended = Eventually([&] {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
    return size == 0;
  });
  return ended ? text : text + " (not ended)";
}

}  // namespace

TEST_CASE("a child with pipes and held descriptors, waited for or not") {
  const Baseline before;
  {
    const auto recorder = std::make_shared<Recorder>();
    std::vector<UniqueFd> secrets = PipeEnds(2);
    REQUIRE(secrets.size() == 2);
    const std::string object = ObjectText(secrets[1].get());
    const std::vector<std::string> command = {"/bin/sh", "-c", "cat; readlink /proc/self/fd/7 >&2"};
    std::unique_ptr<LaunchJob> job = Job(command, recorder);
    const UniqueFd& held = job->held.emplace_back(secrets[1].release());
    job->table = {{0, Kind::kPipeToChild, -1},
                  {1, Kind::kPipeFromChild, -1},
                  {2, Kind::kPipeFromChild, -1},
                  {7, Kind::kHeld, held.get()}};

    Result<LaunchedChild> launched = Pool().Run(*job);
    REQUIRE(launched.ok());
    LaunchedChild& child = launched.value();
    REQUIRE(child.ours.size() == 3);
    job.reset();
    CHECK(write(child.ours[0].get(), "through", 7) == 7);
    child.ours[0].reset();
    CHECK(ReadToEnd(child.ours[1].get()) == "through");
    CHECK(ReadToEnd(child.ours[2].get()) == object + "\n");
    CHECK(ExitCodeOf(*recorder, child.id) == 0);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("what was handed over is closed when the launch is under way") {
  const Baseline before;
  {
    const auto recorder = std::make_shared<Recorder>();
    std::vector<UniqueFd> ends = PipeEnds(2);
    REQUIRE(ends.size() == 2);
    std::unique_ptr<LaunchJob> job = Job({"/bin/true"}, recorder, 1);
    const UniqueFd& held = job->held.emplace_back(ends[1].release());
    job->table[1] = {1, Kind::kHeld, held.get()};
    REQUIRE(Pool().Submit(std::move(job)).ok());
    // The end comes once nobody holds the other side: neither we, nor the lane, nor the child.
    CHECK(ReadToEnd(ends[0].get()) == "");
    REQUIRE(recorder->WaitForLaunches(1));
    CHECK(recorder->launches()[0].id == 1);
    CHECK(recorder->launches()[0].refused == 0);
    CHECK(ExitCodeOf(*recorder, recorder->launches()[0].child) == 0);
    CHECK_FALSE(Pool().Cancel(1));
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("refusals, waited for or not") {
  const Baseline before;
  {
    const auto recorder = std::make_shared<Recorder>();
    std::unique_ptr<LaunchJob> job = Job({"/nonexistent"}, recorder);
    job->table[1].kind = Kind::kPipeFromChild;
    const Result<LaunchedChild> refused = Pool().Run(*job);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().errno_value == ENOENT);
    CHECK(refused.error().path == "/nonexistent");

    std::unique_ptr<LaunchJob> submitted = Job({"/etc/passwd"}, recorder, 2);
    submitted->table[1].kind = Kind::kPipeFromChild;
    REQUIRE(Pool().Submit(std::move(submitted)).ok());
    REQUIRE(recorder->WaitForLaunches(1));
    CHECK(recorder->launches()[0].id == 2);
    CHECK(recorder->launches()[0].refused == EACCES);

    // A number that is not open cannot be sent.
    std::unique_ptr<LaunchJob> closed = Job({"/bin/true"}, recorder, 3);
    closed->table[1] = {1, Kind::kHeld, 12'345};
    REQUIRE(Pool().Submit(std::move(closed)).ok());
    REQUIRE(recorder->WaitForLaunches(2));
    CHECK(recorder->launches()[1].id == 3);
    CHECK(recorder->launches()[1].refused == EBADF);
    CHECK(recorder->exits().empty());
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("one pool gives no_new_privs, the other does not") {
  const Baseline before;
  const std::string own = StatusField("/proc/thread-self", "NoNewPrivs");
  for (bool wanted : {true, false}) {
    LanePool& pool = LanePool::Instance(wanted);
    const Result<LaneTable> table = pool.Table();
    REQUIRE(table.ok());
    CHECK(table.value() == LaneTable::kPrivate);
    const auto recorder = std::make_shared<Recorder>();
    const std::unique_ptr<LaunchJob> job = Job({"/bin/sleep", "60"}, recorder);
    const Result<LaunchedChild> child = pool.Run(*job);
    REQUIRE(child.ok());
    CHECK(StatusField(child.value().pid, "NoNewPrivs") == (wanted ? "1" : own));
    CHECK(Reaper::Instance().Signal(child.value().id, SIGKILL) == 0);
    REQUIRE(recorder->WaitForExits(1));
  }
  CHECK(StatusField("/proc/thread-self", "NoNewPrivs") == own);
  CHECK(before.Difference() == "");
}

TEST_CASE("launches from many threads, waited for and not, all at once") {
  const Baseline before;
  {
    constexpr int kThreads = 6;
    constexpr int kEach = 100;
    const auto recorder = std::make_shared<Recorder>();
    std::atomic<int> wrong{0};
    std::array<std::map<ChildId, int>, kThreads> run;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kEach; ++i) {
          const int number = thread * kEach + i;
          const std::vector<std::string> command = {"/bin/sh", "-c",
                                                    "exit " + std::to_string(number % 256)};
          if (thread % 2 == 0) {
            std::unique_ptr<LaunchJob> job =
                Job(command, recorder, static_cast<JobId>(10'000 + number));
            job->table[1].kind = Kind::kPipeFromChild;
            if (!Pool().Submit(std::move(job)).ok()) ++wrong;
          } else {
            const std::unique_ptr<LaunchJob> job = Job(command, recorder);
            const Result<LaunchedChild> child = Pool().Run(*job);
            if (child.ok()) {
              run[static_cast<size_t>(thread)][child.value().id] = number % 256;
            } else {
              ++wrong;
            }
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    REQUIRE(recorder->WaitForLaunches(kThreads / 2 * kEach));
    REQUIRE(recorder->WaitForExits(kThreads * kEach));

    std::map<ChildId, int> wanted;
    for (const auto& part : run) wanted.insert(part.begin(), part.end());
    for (const Recorder::Launch& launch : recorder->launches()) {
      if (launch.refused != 0) ++wrong;
      wanted[launch.child] = static_cast<int>(launch.id - 10'000) % 256;
    }
    CHECK(wanted.size() == kThreads * kEach);
    for (const Recorder::Exit& exit : recorder->exits()) {
      if (wanted.count(exit.id) == 0 || wanted.at(exit.id) != exit.status.code) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(recorder->exits().size() == kThreads * kEach);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("launches that are taken back while others start them") {
  const Baseline before;
  {
    constexpr JobId kFirst = 100'000;
    constexpr JobId kJobs = 600;
    const auto recorder = std::make_shared<Recorder>();
    std::atomic<JobId> submitted{kFirst};
    std::map<JobId, bool> canceled;
    std::atomic<int> wrong{0};
    std::thread submitter([&] {
      for (JobId id = kFirst; id < kFirst + kJobs; ++id) {
        if (!Pool().Submit(Job({"/bin/true"}, recorder, id)).ok()) ++wrong;
        submitted = id + 1;
      }
    });
    // Every second one, at whatever point of its way it is.
    for (JobId id = kFirst; id < kFirst + kJobs; id += 2) {
      while (submitted <= id) std::this_thread::yield();
      canceled[id] = Pool().Cancel(id);
    }
    submitter.join();
    REQUIRE(recorder->WaitForLaunches(kJobs));

    std::map<JobId, Recorder::Launch> outcomes;
    for (const Recorder::Launch& launch : recorder->launches()) outcomes[launch.id] = launch;
    REQUIRE(outcomes.size() == kJobs);
    size_t children = 0;
    for (const auto& [id, launch] : outcomes) {
      const auto found = canceled.find(id);
      const bool taken_back = found != canceled.end() && found->second;
      if (launch.refused != (taken_back ? ECANCELED : 0)) ++wrong;
      if (launch.refused == 0) ++children;
    }
    CHECK(wrong == 0);
    REQUIRE(recorder->WaitForExits(children));
    CHECK(recorder->launches().size() == kJobs);
    CHECK(recorder->exits().size() == children);
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
