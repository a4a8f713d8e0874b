// The order of descriptor steps that turns the parent's table into exactly the child's.
#include "core/descriptor_steps.h"

#include <algorithm>
#include <unordered_map>

namespace sallyport {

namespace {

using Kind = DescriptorStep::Kind;

int LowestFree(const std::vector<DescriptorMove>& moves, const std::vector<int>& null_targets) {
  std::vector<int> used(null_targets);
  for (const DescriptorMove& move : moves) {
    used.push_back(move.source);
    used.push_back(move.target);
  }
  std::sort(used.begin(), used.end());
  int candidate = 3;
  for (int fd : used) {
    if (fd == candidate) ++candidate;
  }
  return candidate;
}

// Makes the moves in an order in which no source is overwritten while it is needed.
std::vector<DescriptorStep> OrderMoves(const std::vector<DescriptorMove>& moves, int temporary) {
  std::vector<DescriptorStep> steps;

  // dup2(n, n) keeps close-on-exec set before glibc 2.29: such a source goes by the temporary.
  std::unordered_map<int, int> uses;       // how many moves still need this number as source
  std::unordered_map<int, int> source_of;  // target -> source, of the moves still to be made
  for (const DescriptorMove& move : moves) {
    if (move.source == move.target) {
      steps.push_back({Kind::kDup2, move.source, temporary});
      steps.push_back({Kind::kDup2, temporary, move.target});
    } else {
      ++uses[move.source];
      source_of[move.target] = move.source;
    }
  }

  std::vector<int> ready;
  std::vector<int> order;
  for (const DescriptorMove& move : moves) {
    if (move.source == move.target) continue;
    order.push_back(move.target);
    if (uses.count(move.target) == 0) ready.push_back(move.target);
  }
  for (size_t next_blocked = 0;;) {
    while (!ready.empty()) {
      const int target = ready.back();
      ready.pop_back();
      const int source = source_of[target];
      source_of.erase(target);
      steps.push_back({Kind::kDup2, source, target});
      if (--uses[source] == 0 && source_of.count(source) != 0) ready.push_back(source);
    }
    while (next_blocked < order.size() && source_of.count(order[next_blocked]) == 0) ++next_blocked;
    if (next_blocked == order.size()) break;
    // Only cycles are left, so this target is the source of exactly one move. Park what stands
    // there in the temporary: whatever an earlier cycle left in it has reached its target.
    const int blocked = order[next_blocked];
    steps.push_back({Kind::kDup2, blocked, temporary});
    for (auto& [target, source] : source_of) {
      if (source != blocked) continue;
      source = temporary;
      break;
    }
    uses[temporary] = 1;
    uses[blocked] = 0;
    ready.push_back(blocked);
  }

  return steps;
}

std::vector<int> SortedTargets(const std::vector<DescriptorMove>& moves,
                               const std::vector<int>& null_targets) {
  std::vector<int> targets(null_targets);
  for (const DescriptorMove& move : moves) targets.push_back(move.target);
  std::sort(targets.begin(), targets.end());
  return targets;
}

}  // namespace

std::vector<DescriptorStep> OrderDescriptorSteps(const std::vector<DescriptorMove>& moves,
                                                 const std::vector<int>& null_targets) {
  std::vector<DescriptorStep> steps = OrderMoves(moves, LowestFree(moves, null_targets));
  for (int fd : null_targets) steps.push_back({Kind::kOpenNull, fd, -1});
  int next = 0;
  for (int target : SortedTargets(moves, null_targets)) {
    for (int fd = next; fd < target; ++fd) steps.push_back({Kind::kClose, fd, -1});
    next = target + 1;
  }
  steps.push_back({Kind::kCloseFrom, next, -1});
  return steps;
}

std::vector<DescriptorStep> OrderLaneSteps(const std::vector<DescriptorMove>& moves,
                                           const std::vector<int>& null_targets) {
  const int temporary = LowestFree(moves, null_targets);
  std::vector<DescriptorStep> steps = OrderMoves(moves, temporary);
  // dup2 gave it no close-on-exec.
  const bool used =
      std::any_of(steps.begin(), steps.end(),
                  [temporary](const DescriptorStep& step) { return step.target == temporary; });
  if (used) steps.push_back({Kind::kClose, temporary, -1});
  const std::vector<int> targets = SortedTargets(moves, null_targets);
  steps.push_back({Kind::kCloseFromIfPossible, targets.empty() ? 0 : targets.back() + 1, -1});
  return steps;
}

}  // namespace sallyport
