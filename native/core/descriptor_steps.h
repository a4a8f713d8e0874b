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
  enum class Kind { kDup2, kOpenNull, kClose, kCloseFrom };
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

}  // namespace sallyport
