// The order of descriptor steps that turns the parent's table into exactly the child's.
#pragma once

#include <vector>

namespace sallyport {

// `source` in the parent becomes `target` in the child.
struct DescriptorMove {
  int source;
  int target;
};

struct DescriptorStep {
  enum class Kind {
    kDup2,
    kOpenNull,
    kClose,
    kCloseFrom,
    kCloseFromIfPossible,
  };
  Kind kind;
  int fd;      // dup2: the source; the others: the number concerned
  int target;  // dup2 only
};

// Pure. `moves` and `null_targets` together are the complete table of the child: every number that
// appears in neither is closed. Targets are distinct; a source may serve several targets.
//
// Only one number beyond sources and targets is ever used (to break a cycle such as 3 <-> 4), and
// it is the lowest free one: posix_spawn refuses numbers at or above the soft RLIMIT_NOFILE, so
// "first move everything above every target" would fail close to the limit.
std::vector<DescriptorStep> OrderDescriptorSteps(const std::vector<DescriptorMove>& moves,
                                                 const std::vector<int>& null_targets);

// Pure. The same for a child of a spawner lane: its 0, 1 and 2 are /dev/null without close-on-exec,
// so that null targets need no step, and whatever else its table holds is close-on-exec, so that
// gaps need none. (The closing step at the end is a second lock on the same door, left out where
// the C library has none.) `null_targets` are among 0, 1 and 2.
std::vector<DescriptorStep> OrderLaneSteps(const std::vector<DescriptorMove>& moves,
                                           const std::vector<int>& null_targets);

}  // namespace sallyport
