// The reaper where the system refuses pidfds, in part or altogether. A program of its own: a
// refusal is for good and for the whole process.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/reaper.h"
#include "support/process_facts.h"
#include "support/recorder.h"
#include "support/refusal.h"
#include "support/requests.h"
#include "support/spawn.h"

namespace sallyport {
namespace {

constexpr long kPidfd = 3;  // P_PIDFD
constexpr long kPidfdSendSignal = 424;
constexpr long kPidfdOpen = 434;

ChildId Watch(pid_t pid, const std::shared_ptr<Recorder>& recorder) {
  const Result<ChildId> id = Reaper::Instance().Watch(pid, true, false, recorder);
  REQUIRE(id.ok());
  return id.value();
}

void CheckExitsAndSignals(int children) {
  const Baseline before;
  Reaper& reaper = Reaper::Instance();
  const auto recorder = std::make_shared<Recorder>();
  std::map<ChildId, int> codes;
  std::map<ChildId, int> signals;
  for (int i = 0; i < children; ++i) {
    codes[Watch(Spawn(Shell("exit " + std::to_string(i % 256))), recorder)] = i % 256;
  }
  for (int signal : {SIGTERM, SIGKILL, SIGUSR2}) {
    const ChildId id = Watch(Spawn(Request({"/bin/sleep", "60"})), recorder);
    signals[id] = signal;
    CHECK(reaper.Signal(id, signal) == 0);
  }
  const ChildId leader = Watch(Spawn(Request({"/bin/sleep", "60"})), recorder);
  signals[leader] = SIGHUP;
  CHECK(reaper.SignalGroup(leader, SIGHUP) == 0);

  REQUIRE(recorder->WaitForExits(codes.size() + signals.size()));
  CHECK(recorder->exits().size() == codes.size() + signals.size());
  for (const Recorder::Exit& exit : recorder->exits()) {
    CHECK_FALSE(exit.status.lost);
    CHECK(exit.status.usage.ru_maxrss > 0);
    if (codes.count(exit.id) != 0) {
      CHECK(exit.status.code == codes.at(exit.id));
    } else {
      CHECK(exit.status.signal == signals.at(exit.id));
    }
  }
  CHECK(reaper.Signal(leader, SIGTERM) == ESRCH);
  CHECK(reaper.SignalGroup(leader, SIGTERM) == ESRCH);
  CHECK(before.Difference() == "");
}

}  // namespace

// In this order: each refusal stays.
TEST_CASE("kernel 5.3: pidfds can be opened but not waited on, nor signalled") {
  REQUIRE(Refuse({{SYS_waitid, kPidfd}}, EINVAL, RefusedFor::kProcess));
  REQUIRE(Refuse({{kPidfdSendSignal}}, EPERM, RefusedFor::kProcess));
  CheckExitsAndSignals(50);
  CHECK(ThreadsNamed("sallyport-wait").empty());
}

TEST_CASE("an old container profile: no pidfds, and EPERM instead of ENOSYS") {
  REQUIRE(Refuse({{kPidfdOpen}}, EPERM, RefusedFor::kProcess));
  {
    const auto recorder = std::make_shared<Recorder>();
    const ChildId id = Watch(Spawn(Request({"/bin/sleep", "60"})), recorder);
    CHECK(Eventually([] { return ThreadsNamed("sallyport-wait").size() == 1; }));
    CHECK(Reaper::Instance().Signal(id, SIGKILL) == 0);
    REQUIRE(recorder->WaitForExits(1));
  }
  CheckExitsAndSignals(200);
}

TEST_CASE("a child that somebody else reaped is lost") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/true"}));
  CHECK(waitpid(pid, nullptr, 0) == pid);
  const ChildId id = Watch(pid, recorder);
  REQUIRE(recorder->WaitForExits(1));
  CHECK(recorder->exits()[0].id == id);
  CHECK(recorder->exits()[0].status.lost);
  CHECK(before.Difference() == "");
}

TEST_CASE("no pidfd and no thread: the launch has failed and its child is gone") {
  const Baseline before;
  const auto recorder = std::make_shared<Recorder>();
  const pid_t pid = Spawn(Request({"/bin/sleep", "60"}));
  std::optional<Result<ChildId>> outcome;
  std::thread([&] {
    // clone3 too: where it is refused the C library uses clone.
    if (!Refuse({{SYS_clone}, {435}}, EAGAIN, RefusedFor::kThread)) return;
    outcome.emplace(Reaper::Instance().Watch(pid, true, false, recorder));
  }).join();
  REQUIRE(outcome.has_value());
  const Result<ChildId>& refused = *outcome;
  REQUIRE_FALSE(refused.ok());
  CHECK(std::string(refused.error().stage) == "process");
  CHECK(refused.error().errno_value == EAGAIN);
  CHECK_FALSE(Reaper::Instance().Watches(pid));
  CHECK(recorder->exits().empty());
  CHECK(before.Difference() == "");
}

TEST_CASE("the same of an init: it ends by itself, after its program") {
  const Baseline before;
  {
    int link[2];
    int last_word[2];
    REQUIRE(pipe2(link, O_CLOEXEC) == 0);
    REQUIRE(pipe2(last_word, O_CLOEXEC) == 0);
    const UniqueFd theirs(link[0]);
    UniqueFd ours(link[1]);
    const UniqueFd heard(last_word[0]);
    UniqueFd said(last_word[1]);
    const pid_t pid = fork();
    if (pid == 0) {
      close(ours.get());
      char byte = 0;
      // Stopped, as a program may do with its init, until it is continued.
      raise(SIGSTOP);
      const bool ended = read(theirs.get(), &byte, 1) == 0;
      _exit(ended && write(said.get(), "x", 1) == 1 ? 0 : 1);
    }
    REQUIRE(pid > 0);
    said.reset();
    int status = 0;
    REQUIRE(waitpid(pid, &status, WUNTRACED) == pid);
    std::optional<Result<ChildId>> outcome;
    std::thread([&] {
      if (!Refuse({{SYS_clone}, {435}}, EAGAIN, RefusedFor::kThread)) return;
      outcome.emplace(
          Reaper::Instance().Watch(pid, true, false, std::make_shared<Recorder>(), &ours));
    }).join();
    REQUIRE(outcome.has_value());
    CHECK_FALSE(outcome->ok());
    CHECK_FALSE(ours.valid());
    char byte = 0;
    CHECK(read(heard.get(), &byte, 1) == 1);
    CHECK(waitpid(pid, nullptr, WNOHANG) == -1);
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
