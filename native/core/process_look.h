// One look at a process from a spawner lane: its table, ids, session and directory, by raw calls.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/descriptor_object.h"
#include "core/proc_text.h"
#include "core/result.h"

namespace sallyport {

struct SeenDescriptor {
  int fd = -1;
  bool close_on_exec = false;
  bool is_null = false;  // the device /dev/null
  ObjectKind kind = ObjectKind::kOther;
  ObjectAccess access = ObjectAccess::kNone;
  uint64_t dev = 0;
  uint64_t inode = 0;
  uint64_t mount = 0;
  std::string target;
};

// Real, effective, saved and filesystem id, as in /proc/<pid>/status.
using Ids = std::array<uint64_t, 4>;

struct SeenProcess {
  pid_t parent = -1;
  pid_t session = -1;
  pid_t group = -1;
  Ids uids{};
  Ids gids{};
  std::vector<uint64_t> groups;
  bool no_new_privileges = false;
  uint64_t directory_dev = 0;
  uint64_t directory_inode = 0;
  std::string directory;
  std::vector<SeenDescriptor> descriptors;
};

// Closes what it opens, by numbers of the calling thread's own table, and knows no others. Of a
// descriptor that is close-on-exec and not named only that is found out: the program never has it.
// Stage "verify", with the file that could not be read.
Result<SeenProcess> LookAtProcess(pid_t pid, const std::vector<int>& named);

// Of a process whose status may be read; -1 of another.
pid_t ParentOf(pid_t pid);

// What a child of the calling thread has after its exec, where no step changes it.
struct GivenIds {
  Ids uids{};
  Ids gids{};
  std::vector<uint64_t> groups;
  bool no_new_privileges = false;
};

// Stage "verify".
Result<GivenIds> IdsForChild();

// The first child that a process has started, /proc/<pid>/task/<pid>/children; -1: none is told.
pid_t FirstChild(pid_t pid);

// Reads another process's memory, process_vm_readv(2). Stage "verify".
Result<std::string> ReadMemory(pid_t pid, uint64_t address, size_t size);

// Ids, parent and no_new_privs of what /proc/<pid>/status prints. False where a line is missing,
// but for that of the parent, which is -1 then.
bool ParseStatus(std::string_view text, SeenProcess* seen);

}  // namespace sallyport
