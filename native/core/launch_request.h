// What a spawner needs to start one child: fully resolved, owned, nothing left to decide.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/descriptor_object.h"
#include "core/descriptor_steps.h"

namespace sallyport {

// A list of C strings, kept as one block of NUL-terminated strings.
class StringList {
 public:
  StringList() { pointers_.push_back(nullptr); }
  // `block` holds the strings one after another, each followed by a NUL.
  explicit StringList(std::string block) : block_(std::move(block)) {
    if (!block_.empty() && block_.back() != '\0') block_.push_back('\0');
    Index();
  }
  StringList(StringList&& other) noexcept : block_(std::move(other.block_)) { Index(); }
  StringList& operator=(StringList&& other) noexcept {
    block_ = std::move(other.block_);
    Index();
    return *this;
  }
  StringList(const StringList&) = delete;
  StringList& operator=(const StringList&) = delete;

  // NULL-terminated, in the form that exec wants. The kernel and the C library do not write to it.
  char* const* pointers() const { return pointers_.data(); }

 private:
  void Index() {
    pointers_.clear();
    for (size_t at = 0; at < block_.size(); at = block_.find('\0', at) + 1) {
      pointers_.push_back(block_.data() + at);
    }
    pointers_.push_back(nullptr);
  }

  std::string block_;
  std::vector<char*> pointers_;
};

enum class SessionMode {
  kNew,      // setsid(2)
  kGroup,    // setpgid(0, 0) in the caller's session
  kInherit,  // the caller's session and process group
};

// A step that posix_spawn has no words for: a code of launcher/instructions.h and its arguments.
struct LaunchStep {
  uint32_t code;
  std::vector<uint64_t> arguments;
};

// What must stand at one number of the child's table. `mount` 0: not known.
struct ExpectedObject {
  int target;
  uint64_t dev;
  uint64_t inode;
  ObjectAccess access;
  uint64_t mount;
};

// What the child is compared with, and when. `objects` with LaunchRequest::null_targets is the
// whole of its table.
struct Verification {
  enum class When { kNever, kAtExec, kAfterExec };
  When when = When::kNever;
  bool no_new_privileges = false;
  uint64_t directory_dev = 0;
  uint64_t directory_inode = 0;
  uint64_t program_dev = 0;
  uint64_t program_inode = 0;  // 0: it was not there to be looked at
  std::vector<ExpectedObject> objects;
};

struct LaunchRequest {
  std::string executable;  // absolute path
  StringList arguments;
  StringList environment;
  std::string working_directory;  // absolute; empty: the spawning thread's own
  // With null_targets the complete table of the child. All sources are numbers above 2.
  std::vector<DescriptorMove> descriptors;
  std::vector<int> null_targets;  // these become /dev/null
  SessionMode session = SessionMode::kNew;
  int foreground_terminal = -1;  // kGroup only: a number in the child's table, or -1
  // Where it is not empty the child becomes this program first, which takes the steps in their
  // order.
  std::string launcher;
  std::vector<LaunchStep> steps;
  // The launcher stays as the init of all that the program leaves; it hears and tells by the
  // control socket, a number in the child's table. `session` and `foreground_terminal` are the
  // program's.
  bool init = false;
  int control = -1;
  // Absolute path of a cgroup v2 that the program is to be born in; empty: ours. With a launcher
  // only.
  std::string cgroup;
  // The program itself: a number in the child's table that its exec closes; -1: `executable` is.
  // With a launcher only.
  int pinned = -1;
  Verification verification;
  bool announces_listeners = false;  // the child gets LISTEN_PID, which nobody knows before
};

}  // namespace sallyport
