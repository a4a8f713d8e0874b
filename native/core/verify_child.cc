// Compares a child with what was asked for: while it holds before its exec, or after it.
#include "core/verify_child.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/process_look.h"
#include "core/system_calls.h"
#include "launcher/instructions.h"

namespace sallyport {

namespace {

// Fields, each followed by a NUL: what it is, its name, and so many values as that has.
class Evidence {
 public:
  void Add(std::string_view field) {
    text_.append(field);
    text_.push_back('\0');
  }
  void Fact(std::string_view name, const std::string& value) {
    Add("fact");
    Add(name);
    Add(value);
  }
  void Differ(std::string_view what, const std::string& planned, const std::string& seen) {
    Add("difference");
    Add(what);
    Add(planned);
    Add(seen);
    differs_ = true;
  }
  void Compare(std::string_view what, const std::string& planned, const std::string& seen) {
    Fact(what, seen);
    if (planned != seen) Differ(what, planned, seen);
  }
  bool differs() const { return differs_; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool differs_ = false;
};

std::string Number(uint64_t number) { return std::to_string(number); }

std::string Identity(uint64_t dev, uint64_t inode) { return Number(dev) + ":" + Number(inode); }

template <class List>
std::string Join(const List& numbers) {
  std::string text;
  for (const uint64_t number : numbers) {
    if (!text.empty()) text.push_back(' ');
    text += Number(number);
  }
  return text;
}

const LaunchStep* FindStep(const LaunchRequest& request, uint32_t code) {
  const auto found = std::find_if(request.steps.begin(), request.steps.end(),
                                  [code](const LaunchStep& step) { return step.code == code; });
  return found == request.steps.end() ? nullptr : &*found;
}

// All four become what the step says; without one they are what our child gets.
std::string PlannedIds(const LaunchRequest& request, uint32_t code, const Ids& own) {
  const LaunchStep* const step = FindStep(request, code);
  if (step == nullptr || step->arguments.empty()) return Join(own);
  return Join(Ids{step->arguments[0], step->arguments[0], step->arguments[0], step->arguments[0]});
}

std::string PlannedGroups(const LaunchRequest& request, std::vector<uint64_t> groups) {
  const LaunchStep* const step = FindStep(request, STEP_GROUPS);
  if (step != nullptr) groups = step->arguments;
  std::sort(groups.begin(), groups.end());
  return Join(groups);
}

void CompareIds(const LaunchRequest& request, const SeenProcess& seen, const GivenIds& own,
                Evidence* evidence) {
  evidence->Compare("uids", PlannedIds(request, STEP_USER, own.uids), Join(seen.uids));
  evidence->Compare("gids", PlannedIds(request, STEP_GROUP, own.gids), Join(seen.gids));
  std::vector<uint64_t> groups = seen.groups;
  std::sort(groups.begin(), groups.end());
  evidence->Compare("groups", PlannedGroups(request, own.groups), Join(groups));
  // A parent that has it cannot be without it in its children.
  const bool planned = request.verification.no_new_privileges || own.no_new_privileges;
  evidence->Compare("noNewPrivileges", planned ? "1" : "0", seen.no_new_privileges ? "1" : "0");
}

void CompareSession(const LaunchRequest& request, const SeenProcess& seen, pid_t pid,
                    Evidence* evidence) {
  const pid_t session = request.session == SessionMode::kNew ? pid : getsid(0);
  const pid_t group = request.session == SessionMode::kInherit ? getpgrp() : pid;
  evidence->Compare("session", Number(static_cast<uint64_t>(session)),
                    Number(static_cast<uint64_t>(seen.session)));
  evidence->Compare("processGroup", Number(static_cast<uint64_t>(group)),
                    Number(static_cast<uint64_t>(seen.group)));
}

void Describe(const SeenDescriptor& seen, Evidence* evidence) {
  evidence->Add("descriptor");
  evidence->Add(Number(static_cast<uint64_t>(seen.fd)));
  evidence->Add(seen.close_on_exec ? "1" : "0");
  evidence->Add(KindName(seen.kind));
  evidence->Add(AccessName(seen.access));
  evidence->Add(Number(seen.dev));
  evidence->Add(Number(seen.inode));
  evidence->Add(Number(seen.mount));
  evidence->Add(seen.target);
}

std::string Phrase(const SeenDescriptor& seen) {
  return std::string(KindName(seen.kind)) + " " + seen.target + " (" + AccessName(seen.access) +
         "), dev:inode " + Identity(seen.dev, seen.inode) +
         (seen.close_on_exec ? ", close-on-exec" : "");
}

void CompareObject(const ExpectedObject& planned, const SeenDescriptor* seen, Evidence* evidence) {
  const std::string path = "descriptors." + std::to_string(planned.target);
  if (seen == nullptr) {
    return evidence->Differ(path, Identity(planned.dev, planned.inode), "closed");
  }
  if (seen->close_on_exec) evidence->Differ(path + ".closeOnExec", "0", "1");
  if (seen->dev != planned.dev || seen->inode != planned.inode) {
    evidence->Differ(path, "dev:inode " + Identity(planned.dev, planned.inode), Phrase(*seen));
  }
  if (seen->access != planned.access) {
    evidence->Differ(path + ".access", AccessName(planned.access), AccessName(seen->access));
  }
  if (planned.mount != 0 && seen->mount != 0 && planned.mount != seen->mount) {
    evidence->Differ(path + ".mount", Number(planned.mount), Number(seen->mount));
  }
}

void CompareNull(int target, const SeenDescriptor* seen, Evidence* evidence) {
  const std::string path = "descriptors." + std::to_string(target);
  if (seen == nullptr) return evidence->Differ(path, "/dev/null", "closed");
  if (!seen->is_null || seen->close_on_exec) evidence->Differ(path, "/dev/null", Phrase(*seen));
}

std::vector<int> NamedTargets(const LaunchRequest& request) {
  std::vector<int> named(request.null_targets);
  for (const ExpectedObject& object : request.verification.objects) named.push_back(object.target);
  return named;
}

// A pinned program closes at its own exec, and is compared.
std::vector<int> ComparedTargets(const LaunchRequest& request) {
  std::vector<int> compared = NamedTargets(request);
  if (request.pinned >= 0) compared.push_back(request.pinned);
  return compared;
}

void CompareTable(const LaunchRequest& request, const SeenProcess& seen, Evidence* evidence) {
  const Verification& planned = request.verification;
  const auto find = [&seen](int target) -> const SeenDescriptor* {
    for (const SeenDescriptor& descriptor : seen.descriptors) {
      if (descriptor.fd == target) return &descriptor;
    }
    return nullptr;
  };
  for (const int target : request.null_targets) CompareNull(target, find(target), evidence);
  for (const ExpectedObject& object : planned.objects) {
    CompareObject(object, find(object.target), evidence);
  }
  const std::vector<int> named = NamedTargets(request);
  for (const SeenDescriptor& descriptor : seen.descriptors) {
    const bool is_named = std::find(named.begin(), named.end(), descriptor.fd) != named.end();
    // What the exec closes the program does not get: our own ways to the launcher are such.
    if (is_named || !descriptor.close_on_exec) Describe(descriptor, evidence);
    if (!is_named && !descriptor.close_on_exec) {
      evidence->Differ("descriptors." + std::to_string(descriptor.fd), "nothing",
                       Phrase(descriptor));
    }
  }
}

// Device and inode do not tell one eventfd from another, nor one opening of a file from another
// one. The kernel does, where it has kcmp(2) and lets us.
void CompareOpenFiles(const std::vector<DescriptorMove>& moves, const Verification& planned,
                      pid_t child, Evidence* evidence) {
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  bool compared = true;
  for (const DescriptorMove& move : moves) {
    const bool is_planned =
        std::any_of(planned.objects.begin(), planned.objects.end(),
                    [&move](const ExpectedObject& each) { return each.target == move.target; });
    if (!is_planned) continue;
    const int result = CompareFiles(self, move.source, child, move.target);
    if (result < 0) compared = false;
    if (result > 0) {
      evidence->Differ("descriptors." + std::to_string(move.target) + ".openFile",
                       "the one that was handed over", "another");
    }
  }
  evidence->Fact("openFiles", compared ? "compared" : "not compared");
}

// The block as it must be in the child: offsets have become addresses, LISTEN_PID is filled in.
std::string Relocate(std::string block, uint64_t address, pid_t pid) {
  LauncherHeader header;
  memcpy(&header, block.data(), sizeof header);
  for (const uint32_t list : {header.argv, header.envp}) {
    for (size_t at = list;; at += sizeof(uint64_t)) {
      uint64_t word;
      memcpy(&word, block.data() + at, sizeof word);
      if (word == 0) break;
      word += address;
      memcpy(block.data() + at, &word, sizeof word);
    }
  }
  for (uint32_t word = 0; word < header.step_words;) {
    uint64_t step[2];
    memcpy(&step[0], block.data() + sizeof header + word * 8, 8);
    if (static_cast<uint32_t>(step[0]) == STEP_LISTEN_PID) {
      memcpy(&step[1], block.data() + sizeof header + (word + 1) * 8, 8);
      const std::string digits = std::to_string(pid);
      memcpy(block.data() + step[1], digits.c_str(), digits.size() + 1);
    }
    word += 1 + static_cast<uint32_t>(step[0] >> 32);
  }
  return block;
}

// Names only: a value is nobody's business.
void AddNames(const std::string& block, uint64_t address, Evidence* evidence) {
  LauncherHeader header;
  memcpy(&header, block.data(), sizeof header);
  for (size_t at = header.envp; at + 8 <= block.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, block.data() + at, sizeof word);
    if (word < address || word - address >= block.size()) return;
    const std::string_view entry(block.c_str() + (word - address));
    evidence->Add("variable");
    evidence->Add(entry.substr(0, entry.find('=')));
  }
}

Result<bool> CompareMemory(const std::string& instructions, const HeldChild& child,
                           Evidence* evidence) {
  const Result<std::string> memory = ReadMemory(child.pid, child.block, instructions.size());
  if (!memory.ok()) return memory.error();
  if (memory.value() == Relocate(instructions, child.block, child.pid)) {
    AddNames(memory.value(), child.block, evidence);
  } else {
    evidence->Differ("program", "the path, arguments and environment of the plan", "others");
  }
  return true;
}

// Pinned: what the child holds is what it executes. Otherwise by path: what is there now is what
// execve finds, unless somebody changes it after this.
void CompareProgram(const LaunchRequest& request, const SeenProcess& seen, Evidence* evidence) {
  const Verification& planned = request.verification;
  if (planned.program_inode == 0) return;
  if (request.pinned >= 0) {
    std::string held = "closed";
    for (const SeenDescriptor& descriptor : seen.descriptors) {
      if (descriptor.fd == request.pinned) held = Identity(descriptor.dev, descriptor.inode);
    }
    return evidence->Compare("executable", Identity(planned.program_dev, planned.program_inode),
                             held);
  }
  struct stat info;
  if (syscall(SYS_newfstatat, AT_FDCWD, request.executable.c_str(), &info, 0) != 0) {
    return evidence->Differ("executable", Identity(planned.program_dev, planned.program_inode),
                            "gone");
  }
  evidence->Compare("executable", Identity(planned.program_dev, planned.program_inode),
                    Identity(info.st_dev, info.st_ino));
}

}  // namespace

Result<Verdict> VerifyHeld(const LaunchRequest& request, const std::string& instructions,
                           const HeldChild& child, const std::vector<DescriptorMove>& moves) {
  const Result<SeenProcess> seen = LookAtProcess(child.pid, ComparedTargets(request));
  if (!seen.ok()) return seen.error();
  const Result<GivenIds> own = IdsForChild();
  if (!own.ok()) return own.error();
  Evidence evidence;
  evidence.Fact("when", "at-exec");
  evidence.Fact("pid", std::to_string(child.pid));
  evidence.Compare("parent", std::to_string(child.parent), std::to_string(seen.value().parent));
  CompareIds(request, seen.value(), own.value(), &evidence);
  CompareSession(request, seen.value(), child.pid, &evidence);
  evidence.Fact("cwd", seen.value().directory);
  evidence.Compare(
      "directory",
      Identity(request.verification.directory_dev, request.verification.directory_inode),
      Identity(seen.value().directory_dev, seen.value().directory_inode));
  CompareTable(request, seen.value(), &evidence);
  CompareOpenFiles(moves, request.verification, child.pid, &evidence);
  const Result<bool> compared = CompareMemory(instructions, child, &evidence);
  if (!compared.ok()) return compared.error();
  CompareProgram(request, seen.value(), &evidence);
  const bool matches = !evidence.differs();
  return Verdict{matches, evidence.Take()};
}

std::string LookAfterExec(const LaunchRequest& request, pid_t pid) {
  Evidence evidence;
  // The init has one child by now: the program.
  if (request.init) pid = FirstChild(pid);
  evidence.Fact("when", "after-exec");
  evidence.Fact("pid", std::to_string(pid));
  const Result<SeenProcess> seen = LookAtProcess(pid, ComparedTargets(request));
  if (!seen.ok()) {
    evidence.Fact("unread", seen.error().path);
    return evidence.Take();
  }
  evidence.Fact("cwd", seen.value().directory);
  CompareTable(request, seen.value(), &evidence);
  return evidence.Take();
}

}  // namespace sallyport
