// The reactor: tasks, ticks and descriptors, from many threads at once.
#include "core/reactor.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/process_facts.h"

namespace sallyport {
namespace {

Reactor& Running() {
  REQUIRE(Reactor::Instance().Run());
  return Reactor::Instance();
}

// What was posted before has been done when this returns.
bool RunThrough(Reactor& reactor) {
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> reached = done->get_future();
  reactor.Post([done] { done->set_value(); });
  return reached.wait_for(kDeadline) == std::future_status::ready;
}

UniqueFd EventFd() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

bool Raise(int fd) {
  const uint64_t one = 1;
  return write(fd, &one, sizeof one) == sizeof one;
}

bool Lower(int fd) {
  uint64_t value;
  return read(fd, &value, sizeof value) == sizeof value;
}

}  // namespace

TEST_CASE("tasks run once each, in the order of their thread, on the reactor's thread") {
  Reactor& reactor = Running();
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  // Touched by the reactor's thread only.
  const auto order = std::make_shared<std::vector<std::pair<int, int>>>();
  const auto runners = std::make_shared<std::set<std::thread::id>>();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&reactor, order, runners, thread] {
      for (int task = 0; task < kTasks; ++task) {
        reactor.Post([order, runners, thread, task] {
          order->emplace_back(thread, task);
          runners->insert(std::this_thread::get_id());
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(RunThrough(reactor));

  CHECK(order->size() == kThreads * kTasks);
  CHECK(runners->size() == 1);
  CHECK(runners->count(std::this_thread::get_id()) == 0);
  std::vector<int> next(kThreads, 0);
  bool in_order = true;
  for (const auto& [thread, task] : *order) {
    in_order = in_order && next[static_cast<size_t>(thread)]++ == task;
  }
  CHECK(in_order);
}

TEST_CASE("a task may post tasks, start ticks and remove itself from a descriptor") {
  Reactor& reactor = Running();
  const auto done = std::make_shared<std::promise<int>>();
  std::future<int> result = done->get_future();
  reactor.Post([&reactor, done] {
    reactor.Post([&reactor, done] {
      reactor.Tick([done] {
        done->set_value(1);
        return false;
      });
    });
  });
  REQUIRE(result.wait_for(kDeadline) == std::future_status::ready);

  const UniqueFd event = EventFd();
  const auto token = std::make_shared<std::promise<Reactor::Token>>();
  const auto known = std::make_shared<std::shared_future<Reactor::Token>>(token->get_future());
  const auto calls = std::make_shared<std::atomic<int>>(0);
  token->set_value(reactor.Add(event.get(), [&reactor, known, calls, fd = event.get()] {
    ++*calls;
    reactor.Remove(known->get(), fd);
  }));
  REQUIRE(known->get() != 0);
  REQUIRE(Raise(event.get()));
  CHECK(Eventually([&] { return *calls == 1; }));
  REQUIRE(Raise(event.get()));
  REQUIRE(RunThrough(reactor));
  REQUIRE(RunThrough(reactor));
  CHECK(*calls == 1);
}

TEST_CASE("a tick comes until it returns false") {
  Reactor& reactor = Running();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto others = std::make_shared<std::atomic<int>>(0);
  reactor.Tick([calls] { return ++*calls < 3; });
  reactor.Tick([others] { return ++*others < 6; });
  CHECK(Eventually([&] { return *others == 6; }));
  CHECK(*calls == 3);
}

TEST_CASE("ticks come however busy the descriptors are") {
  Reactor& reactor = Running();
  const UniqueFd event = EventFd();
  const auto ticked = std::make_shared<std::atomic<bool>>(false);
  const auto events = std::make_shared<std::atomic<long>>(0);
  // Each call makes the next event.
  const Reactor::Token token = reactor.Add(event.get(), [fd = event.get(), ticked, events] {
    ++*events;
    if (!*ticked) Raise(fd);
  });
  REQUIRE(token != 0);
  REQUIRE(Raise(event.get()));
  reactor.Tick([ticked] {
    *ticked = true;
    return false;
  });
  CHECK(Eventually([&] { return ticked->load(); }));
  CHECK(*events > 1);
  *ticked = true;
  reactor.Remove(token, event.get());
  REQUIRE(RunThrough(reactor));
}

TEST_CASE("each change is told once, and nothing after Remove") {
  Reactor& reactor = Running();
  const UniqueFd event = EventFd();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Reactor::Token token = reactor.Add(event.get(), [calls] { ++*calls; });
  REQUIRE(token != 0);
  REQUIRE(Raise(event.get()));
  CHECK(Eventually([&] { return *calls == 1; }));
  // It is still readable: edge-triggered, so it does not come again by itself.
  REQUIRE(RunThrough(reactor));
  REQUIRE(RunThrough(reactor));
  CHECK(*calls == 1);
  REQUIRE(Raise(event.get()));
  CHECK(Eventually([&] { return *calls == 2; }));
  reactor.Remove(token, event.get());
  REQUIRE(RunThrough(reactor));
  REQUIRE(Raise(event.get()));
  REQUIRE(RunThrough(reactor));
  REQUIRE(RunThrough(reactor));
  CHECK(*calls == 2);
}

TEST_CASE("a copy that outlives the descriptor brings no event") {
  // As a child between clone and exec holds one.
  Reactor& reactor = Running();
  UniqueFd event = EventFd();
  const UniqueFd copy(fcntl(event.get(), F_DUPFD_CLOEXEC, 3));
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Reactor::Token first = reactor.Add(event.get(), [calls] { ++*calls; });
  REQUIRE(first != 0);
  reactor.Remove(first, event.get());
  event.reset();
  REQUIRE(Raise(copy.get()));
  REQUIRE(RunThrough(reactor));
  REQUIRE(RunThrough(reactor));
  CHECK(*calls == 0);
}

TEST_CASE("a descriptor that cannot be waited for is refused, with errno") {
  Reactor& reactor = Running();
  const UniqueFd file(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  errno = 0;
  CHECK(reactor.Add(file.get(), [] {}) == 0);
  CHECK(errno == EPERM);
  errno = 0;
  CHECK(reactor.Add(-1, [] {}) == 0);
  CHECK(errno == EBADF);
}

TEST_CASE("descriptors are added and removed on many threads while their events come") {
  Reactor& reactor = Running();
  const Baseline before;
  {
    constexpr int kThreads = 4;
    constexpr int kRounds = 500;
    std::atomic<int> told{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          const UniqueFd event = EventFd();
          const auto calls = std::make_shared<std::atomic<int>>(0);
          const Reactor::Token token = reactor.Add(event.get(), [calls, fd = event.get()] {
            ++*calls;
            Lower(fd);
          });
          if (token == 0 || !Raise(event.get())) ++refused;
          // Half of them go away while their event is on its way.
          if (round % 2 == 0 && Eventually([&] { return *calls > 0; })) ++told;
          reactor.Remove(token, event.get());
          // A handler that runs already goes on, and uses the number: wait before closing it.
          if (!RunThrough(reactor)) ++refused;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(told == kThreads * kRounds / 2);
    CHECK(refused == 0);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("one thread, with every signal blocked") {
  Running();
  const std::vector<pid_t> threads = ThreadsNamed("sallyport-react");
  REQUIRE(threads.size() == 1);
  // Node's V8 profiler, libuv and JavaScript want their signals on the main thread. 32 and 33 are
  // the C library's own and cannot be blocked.
  const std::string blocked = StatusField(OwnThread(threads[0]), "SigBlk");
  CHECK(std::stoull(blocked, nullptr, 16) == 0xfffffffe7ffbfeffULL);
}

}  // namespace sallyport
