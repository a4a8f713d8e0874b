// The order of descriptor steps, carried out on a model of a descriptor table.
#include "core/descriptor_steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sallyport {
namespace {

using Kind = DescriptorStep::Kind;
using Moves = std::vector<DescriptorMove>;

constexpr int kNull = -1;  // the object at a number that was opened on /dev/null

struct Entry {
  int object;
  bool close_on_exec;
};
using Table = std::map<int, Entry>;
using Objects = std::map<int, int>;  // number -> object, as the child has them after exec

enum class CloseFrom { kWorks, kMissing };

int LowestFree(const Table& table) {
  int fd = 0;
  while (table.count(fd) != 0) ++fd;
  return fd;
}

// What the child that posix_spawn makes does between clone and exec, and the exec. Nothing when a
// step would fail there.
std::optional<Objects> Carry(Table table, const std::vector<DescriptorStep>& steps,
                             CloseFrom close_from) {
  for (const DescriptorStep& step : steps) {
    switch (step.kind) {
      case Kind::kDup2:
        // Before glibc 2.29 it would leave close-on-exec set.
        if (step.fd == step.target) return std::nullopt;
        if (table.count(step.fd) == 0) return std::nullopt;
        table[step.target] = {table[step.fd].object, false};
        break;
      case Kind::kOpenNull: {
        // As glibc does it: closes the number, opens at the lowest free one, moves it there.
        table.erase(step.fd);
        const int opened = LowestFree(table);
        table[opened] = {kNull, false};
        if (opened == step.fd) break;
        table[step.fd] = table[opened];
        table.erase(opened);
        break;
      }
      case Kind::kClose:
        table.erase(step.fd);
        break;
      case Kind::kCloseFrom:
        table.erase(table.lower_bound(step.fd), table.end());
        break;
      case Kind::kCloseFromIfPossible:
        if (close_from == CloseFrom::kWorks) table.erase(table.lower_bound(step.fd), table.end());
        break;
    }
  }
  Objects after;
  for (const auto& [fd, entry] : table) {
    if (!entry.close_on_exec) after[fd] = entry.object;
  }
  return after;
}

Objects Wanted(const Table& before, const Moves& moves, const std::vector<int>& null_targets) {
  Objects wanted;
  for (int fd : null_targets) wanted[fd] = kNull;
  for (const DescriptorMove& move : moves) wanted[move.target] = before.at(move.source).object;
  return wanted;
}

std::string Show(const Moves& moves, const std::vector<int>& null_targets,
                 const std::vector<DescriptorStep>& steps) {
  static const char* const names[] = {"dup2", "null", "close", "closefrom", "closefrom?"};
  std::string text = "moves";
  for (const DescriptorMove& move : moves) {
    text += " " + std::to_string(move.source) + ">" + std::to_string(move.target);
  }
  text += "; null";
  for (int fd : null_targets) text += " " + std::to_string(fd);
  text += "; steps";
  for (const DescriptorStep& step : steps) {
    text += std::string(" ") + names[static_cast<int>(step.kind)] + " " + std::to_string(step.fd);
    if (step.kind == Kind::kDup2) text += ">" + std::to_string(step.target);
  }
  return text;
}

// Beside sources and targets only the lowest free number may be written to: any other could be at
// or above the limit on open descriptors.
bool KeepsToItsNumbers(const Moves& moves, const std::vector<int>& null_targets,
                       const std::vector<DescriptorStep>& steps) {
  std::set<int> used(null_targets.begin(), null_targets.end());
  std::set<int> targets(used);
  for (const DescriptorMove& move : moves) {
    used.insert({move.source, move.target});
    targets.insert(move.target);
  }
  int temporary = 3;
  while (used.count(temporary) != 0) ++temporary;
  return std::all_of(steps.begin(), steps.end(), [&](const DescriptorStep& step) {
    return step.kind != Kind::kDup2 || step.target == temporary || targets.count(step.target) != 0;
  });
}

// "" or what is wrong. Not CHECK: hundreds of thousands of them take minutes.
std::string CheckShared(const Table& before, const Moves& moves,
                        const std::vector<int>& null_targets) {
  const std::vector<DescriptorStep> steps = OrderDescriptorSteps(moves, null_targets);
  const bool right = Carry(before, steps, CloseFrom::kWorks) == Wanted(before, moves, null_targets);
  return right && KeepsToItsNumbers(moves, null_targets, steps) ? ""
                                                                : Show(moves, null_targets, steps);
}

std::string CheckLane(const Table& before, const Moves& moves,
                      const std::vector<int>& null_targets) {
  const std::vector<DescriptorStep> steps = OrderLaneSteps(moves, null_targets);
  const Objects wanted = Wanted(before, moves, null_targets);
  const bool right = Carry(before, steps, CloseFrom::kWorks) == wanted &&
                     Carry(before, steps, CloseFrom::kMissing) == wanted;
  return right && KeepsToItsNumbers(moves, null_targets, steps) ? ""
                                                                : Show(moves, null_targets, steps);
}

// Every number holds an object of its own; every third is sealed.
Table DirtyTable(int size) {
  Table table;
  for (int fd = 0; fd < size; ++fd) table[fd] = {100 + fd, fd % 3 == 0};
  return table;
}

Table LaneTable(int size) {
  Table table;
  for (int fd = 0; fd < size; ++fd) table[fd] = {fd <= 2 ? kNull : 100 + fd, fd > 2};
  return table;
}

}  // namespace

TEST_CASE("every table of six numbers comes out right in a shared table") {
  // Each target 0..5: absent, null, or any of the sources 0..5.
  constexpr int kNumbers = 6;
  constexpr int kChoices = kNumbers + 2;
  const Table before = DirtyTable(10);
  long tried = 0;
  long combinations = 1;
  for (int i = 0; i < kNumbers; ++i) combinations *= kChoices;
  for (long code = 0; code < combinations; ++code) {
    Moves moves;
    std::vector<int> null_targets;
    long rest = code;
    for (int target = 0; target < kNumbers; ++target, rest /= kChoices) {
      const int choice = static_cast<int>(rest % kChoices);
      if (choice == kNumbers) null_targets.push_back(target);
      if (choice < kNumbers) moves.push_back({choice, target});
    }
    const std::string wrong = CheckShared(before, moves, null_targets);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
    ++tried;
  }
  CHECK(tried == 262144);
}

TEST_CASE("every small table comes out right on a lane, with closefrom and without") {
  // 0, 1, 2: null or one of 3..6; 3..6: absent or one of 3..6. 3 is the lane's control socket.
  constexpr int kNumbers = 7;
  constexpr int kSources = 4;
  const Table before = LaneTable(10);
  long combinations = 1;
  for (int i = 0; i < kNumbers; ++i) combinations *= kSources + 1;
  for (long code = 0; code < combinations; ++code) {
    Moves moves;
    std::vector<int> null_targets;
    long rest = code;
    for (int target = 0; target < kNumbers; ++target, rest /= kSources + 1) {
      const int choice = static_cast<int>(rest % (kSources + 1));
      if (choice < kSources) {
        moves.push_back({3 + choice, target});
      } else if (target <= 2) {
        null_targets.push_back(target);
      }
    }
    const std::string wrong = CheckLane(before, moves, null_targets);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
}

TEST_CASE("every order in which the moves may be named gives the same table") {
  const Moves cases[] = {
      {{3, 4}, {4, 3}, {5, 5}, {6, 0}},          // a swap, a self move
      {{3, 4}, {4, 5}, {5, 3}, {4, 1}},          // a cycle with a branch
      {{3, 4}, {4, 3}, {5, 6}, {6, 5}, {7, 1}},  // two cycles share the temporary
      {{8, 3}, {8, 4}, {8, 8}, {8, 0}, {8, 1}},  // one source for several targets
      {{3, 0}, {3, 1}, {4, 2}, {5, 3}, {3, 5}},  // the control socket's number is wanted
  };
  for (Moves moves : cases) {
    std::vector<int> null_targets = {0, 1, 2};
    for (const DescriptorMove& move : moves) {
      null_targets.erase(std::remove(null_targets.begin(), null_targets.end(), move.target),
                         null_targets.end());
    }
    const auto by_target = [](const DescriptorMove& a, const DescriptorMove& b) {
      return a.target < b.target;
    };
    std::sort(moves.begin(), moves.end(), by_target);
    do {
      CHECK(CheckShared(DirtyTable(12), moves, null_targets) == "");
      CHECK(CheckLane(LaneTable(12), moves, null_targets) == "");
    } while (std::next_permutation(moves.begin(), moves.end(), by_target));
  }
}

TEST_CASE("large random tables come out right") {
  std::mt19937 random(20240229);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    constexpr int kHighest = 700;
    std::vector<int> numbers(kHighest);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), random);
    const size_t count = 1 + random() % 400;
    const std::vector<int> targets(numbers.begin(), numbers.begin() + static_cast<long>(count));
    // Every other round a permutation of the targets among themselves: nothing but cycles.
    std::vector<int> sources(targets);
    if (round % 2 == 0) {
      for (int& source : sources) source = static_cast<int>(random() % kHighest);
    } else {
      std::shuffle(sources.begin(), sources.end(), random);
    }
    Moves shared;
    std::vector<int> shared_null;
    Moves lane;
    std::vector<int> lane_null;
    std::set<int> standard = {0, 1, 2};
    for (size_t i = 0; i < count; ++i) {
      standard.erase(targets[i]);
      if (random() % 10 == 0) {
        shared_null.push_back(targets[i]);
      } else {
        shared.push_back({sources[i], targets[i]});
      }
      if (targets[i] <= 2 && random() % 2 == 0) {
        lane_null.push_back(targets[i]);
      } else {
        lane.push_back({std::max(3, sources[i]), targets[i]});
      }
    }
    // A plan always names 0, 1 and 2.
    lane_null.insert(lane_null.end(), standard.begin(), standard.end());
    REQUIRE(CheckShared(DirtyTable(kHighest + 50), shared, shared_null) == "");
    REQUIRE(CheckLane(LaneTable(kHighest + 50), lane, lane_null) == "");
  }
}

TEST_CASE("a plain table needs no temporary") {
  for (const DescriptorStep& step : OrderDescriptorSteps({{10, 0}, {11, 1}, {12, 2}}, {})) {
    CHECK((step.kind != Kind::kDup2 || step.target <= 2));
  }
  CHECK(OrderLaneSteps({{4, 0}, {5, 1}, {6, 2}}, {}).size() == 4);
  CHECK(OrderLaneSteps({}, {0, 1, 2}).size() == 1);
}

TEST_CASE("an empty table closes everything") {
  const std::vector<DescriptorStep> steps = OrderDescriptorSteps({}, {});
  CHECK(Carry(DirtyTable(5), steps, CloseFrom::kWorks) == Objects());
}

}  // namespace sallyport
