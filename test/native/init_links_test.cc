// The links to inits: reports in pieces, silence, commands, from the init's side of the socket.
#include "core/init_links.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/process_facts.h"

namespace sallyport {
namespace {

class Heard : public InitListener {
 public:
  void InitReported(ChildId init, const LauncherReport& report) override {
    Note({init, static_cast<int>(report.kind), report.pid});
  }
  void InitSilent(ChildId init) override { Note({init, kSilent, 0}); }

  static constexpr int kSilent = -1;
  struct Event {
    ChildId init;
    int kind;
    int pid;
    bool operator==(const Event& other) const {
      return init == other.init && kind == other.kind && pid == other.pid;
    }
  };

  std::vector<Event> WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    heard_.wait_for(lock, kDeadline, [&] { return events_.size() >= count; });
    return events_;
  }

 private:
  void Note(Event event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
    heard_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Event> events_;
};

// Our end is given to the link; this is the init's.
UniqueFd Link(ChildId init, const std::shared_ptr<Heard>& heard) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  InitLinks::Instance().Add(init, UniqueFd(ends[0]), heard);
  return UniqueFd(ends[1]);
}

std::string Report(LauncherReportKind kind, int pid) {
  LauncherReport report = {};
  report.kind = kind;
  report.pid = pid;
  return std::string(reinterpret_cast<const char*>(&report), sizeof report);
}

bool Say(const UniqueFd& end, const std::string& bytes) {
  return send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

bool IsClosed(const UniqueFd& end) {
  char byte;
  return Eventually([&] { return recv(end.get(), &byte, 1, MSG_DONTWAIT) == 0; });
}

}  // namespace

TEST_CASE("reports come whole however they are cut, and the end after them") {
  const Baseline before;
  const auto heard = std::make_shared<Heard>();
  const std::string reports =
      Report(REPORT_SIGNALLED, 3) + Report(REPORT_EXITED, 4) + Report(REPORT_EMPTY, 5);
  const std::vector<Heard::Event> wanted = {{7, REPORT_SIGNALLED, 3},
                                            {7, REPORT_EXITED, 4},
                                            {7, REPORT_EMPTY, 5},
                                            {7, Heard::kSilent, 0}};
  for (size_t piece : {size_t{1}, size_t{13}, sizeof(LauncherReport), reports.size()}) {
    CAPTURE(piece);
    const auto fresh = std::make_shared<Heard>();
    UniqueFd end = Link(7, fresh);
    for (size_t at = 0; at < reports.size(); at += piece) {
      REQUIRE(Say(end, reports.substr(at, piece)));
    }
    end.reset();
    CHECK(fresh->WaitFor(4) == wanted);
  }
  // Half a report is none.
  UniqueFd end = Link(8, heard);
  REQUIRE(Say(end, reports.substr(0, sizeof(LauncherReport) - 1)));
  end.reset();
  CHECK(heard->WaitFor(1) == std::vector<Heard::Event>{{8, Heard::kSilent, 0}});
  CHECK(before.Difference() == "");
}

TEST_CASE("commands reach their init; to one that is gone they go nowhere") {
  const Baseline before;
  const auto heard = std::make_shared<Heard>();
  UniqueFd end = Link(9, heard);
  InitLinks::Instance().Send(9, {COMMAND_END, 250});
  InitLinks::Instance().Send(9, {COMMAND_SIGNAL, 15});
  InitLinks::Instance().Send(10, {COMMAND_KILL, 0});
  LauncherCommand commands[2];
  REQUIRE(recv(end.get(), commands, sizeof commands, MSG_WAITALL) == sizeof commands);
  CHECK(commands[0].kind == COMMAND_END);
  CHECK(commands[0].argument == 250);
  CHECK(commands[1].kind == COMMAND_SIGNAL);
  end.reset();
  REQUIRE(heard->WaitFor(1).size() == 1);
  InitLinks::Instance().Send(9, {COMMAND_KILL, 0});
  CHECK(before.Difference() == "");
}

TEST_CASE("a listener that goes away takes its own links with it") {
  const Baseline before;
  const auto leaving = std::make_shared<Heard>();
  const auto staying = std::make_shared<Heard>();
  const UniqueFd first = Link(11, leaving);
  const UniqueFd second = Link(12, leaving);
  UniqueFd third = Link(13, staying);
  InitLinks::Instance().CloseAll(leaving.get());
  // The init takes this for the end of its parent.
  CHECK(IsClosed(first));
  CHECK(IsClosed(second));
  REQUIRE(Say(third, Report(REPORT_EXITED, 1)));
  CHECK(staying->WaitFor(1).size() == 1);
  third.reset();
  CHECK(staying->WaitFor(2).size() == 2);
  CHECK(leaving->WaitFor(0).empty());
}

TEST_CASE("many inits that report, obey and end at once") {
  const Baseline before;
  {
    constexpr int kThreads = 4;
    constexpr int kEach = 60;
    const auto heard = std::make_shared<Heard>();
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kEach; ++i) {
          const auto init = static_cast<ChildId>(1000 + thread * kEach + i);
          int ends[2];
          if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) ++wrong;
          InitLinks::Instance().Add(init, UniqueFd(ends[0]), heard);
          UniqueFd end(ends[1]);
          InitLinks::Instance().Send(init, {COMMAND_END, i});
          LauncherCommand command;
          if (recv(end.get(), &command, sizeof command, MSG_WAITALL) != sizeof command) ++wrong;
          if (command.argument != i || !Say(end, Report(REPORT_EMPTY, i))) ++wrong;
          end.reset();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(heard->WaitFor(2 * kThreads * kEach).size() == 2 * kThreads * kEach);
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
