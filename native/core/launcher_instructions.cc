// Writes the block that tells the launcher what to do.
#include "core/launcher_instructions.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "launcher/instructions.h"

namespace sallyport {

namespace {

// Room for a pid in decimal, with its NUL, behind "LISTEN_PID=".
constexpr char kListenPid[] = "LISTEN_PID=";
constexpr size_t kPidRoom = 21;

class BlockWriter {
 public:
  BlockWriter() : block_(sizeof(LauncherHeader), '\0') {}

  uint32_t size() const { return static_cast<uint32_t>(block_.size()); }

  void AddWord(uint64_t word) { block_.append(reinterpret_cast<const char*>(&word), sizeof word); }

  uint32_t AddString(const char* text) {
    const uint32_t offset = size();
    block_.append(text, strlen(text) + 1);
    return offset;
  }

  uint32_t AddRoom(size_t bytes) {
    const uint32_t offset = size();
    block_.append(bytes, '\0');
    return offset;
  }

  // The strings first, then the list of their offsets, with its end.
  uint32_t AddStrings(const StringList& strings, const std::vector<uint32_t>& more) {
    std::vector<uint64_t> offsets;
    for (char* const* text = strings.pointers(); *text != nullptr; ++text) {
      offsets.push_back(AddString(*text));
    }
    offsets.insert(offsets.end(), more.begin(), more.end());
    block_.append((8 - block_.size() % 8) % 8, '\0');
    const uint32_t list = size();
    for (uint64_t offset : offsets) AddWord(offset);
    AddWord(0);
    return list;
  }

  std::string Finish(LauncherHeader header) {
    header.magic = LAUNCHER_MAGIC;
    header.size = size();
    memcpy(block_.data(), &header, sizeof header);
    return std::move(block_);
  }

 private:
  std::string block_;
};

}  // namespace

std::string BuildInstructions(const LaunchRequest& request) {
  BlockWriter writer;
  LauncherHeader header = {};
  // The offset that a LISTEN_PID step needs is known only when the steps have their place.
  size_t words = 0;
  for (const LaunchStep& step : request.steps) words += 1 + step.arguments.size();
  if (request.announces_listeners) words += 2;
  header.step_words = static_cast<uint32_t>(words);
  for (const LaunchStep& step : request.steps) {
    writer.AddWord(STEP_WORD(step.code, step.arguments.size()));
    for (uint64_t argument : step.arguments) writer.AddWord(argument);
  }
  std::vector<uint32_t> more;
  if (request.announces_listeners) {
    const uint32_t variable = writer.size() + 2 * sizeof(uint64_t);
    writer.AddWord(STEP_WORD(STEP_LISTEN_PID, 1));
    writer.AddWord(variable + sizeof kListenPid - 1);
    more.push_back(writer.AddString(kListenPid));
    writer.AddRoom(kPidRoom);
  }
  header.role = request.init ? ROLE_INIT : ROLE_EXEC;
  header.hold = request.verification.when == Verification::When::kAtExec ? 1 : 0;
  header.pinned = request.pinned;
  header.control = request.control;
  header.session = static_cast<int32_t>(request.session);
  header.foreground = request.foreground_terminal;
  for (const DescriptorMove& move : request.descriptors) {
    header.highest = std::max(header.highest, move.target);
  }
  header.executable = writer.AddString(request.executable.c_str());
  header.argv = writer.AddStrings(request.arguments, {});
  header.envp = writer.AddStrings(request.environment, more);
  return writer.Finish(header);
}

const char* StepStage(uint32_t code) {
  switch (code) {
    case STEP_EXEC:
      return "exec";
    case STEP_LIMIT:
      return "limits";
    case STEP_UMASK:
      return "umask";
    case STEP_NICE:
      return "nice";
    case STEP_IO_PRIORITY:
      return "ioPriority";
    case STEP_OOM_SCORE_ADJUST:
      return "oomScoreAdjust";
    case STEP_CPU_AFFINITY:
      return "cpuAffinity";
    case STEP_TERMINAL:
      return "terminal";
    case STEP_GROUPS:
      return "groups";
    case STEP_GROUP:
      return "group";
    case STEP_USER:
      return "user";
    case STEP_CGROUP:
      return "cgroup";
    case STEP_HELD:
      return "verify";
    case STEP_DIE_WITH_PARENT:
      return "dieWithParent";
    default:
      return "launcher";
  }
}

}  // namespace sallyport
