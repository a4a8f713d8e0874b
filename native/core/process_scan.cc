// What is open in other processes: one pass over /proc, which starts no process.
#include "core/process_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "core/proc_directory.h"
#include "core/system_calls.h"
#include "core/table_scan.h"

namespace sallyport {

namespace {

// Arguments may be 2 MiB, and a process may write anything there.
constexpr size_t kArgumentsLimit = 4096;
constexpr size_t kStatLimit = 4096;
// An exec is over in microseconds, unless its program is on a slow disk or a dead mount.
constexpr int kLoadingLooks = 400;
constexpr useconds_t kBetweenLooks = 50;  // µs

void Refuse(ScannedProcess* process, ScanRefusal refusal, int errno_value) {
  if (process->refusal != ScanRefusal::kNone) return;
  process->refusal = refusal;
  process->errno_value = errno_value;
}

int ReadStat(int directory, StatFacts* facts) {
  std::string text;
  const int refused = ReadFileAt(directory, "stat", kStatLimit, &text);
  if (refused != 0) return refused;
  return ParseStat(text, facts) ? 0 : EBADMSG;
}

// What is read in the midst of an exec is neither the old program's nor the new one's.
int ReadLoadedStat(int directory, StatFacts* facts) {
  for (int look = 0; look < kLoadingLooks; ++look) {
    *facts = StatFacts{};
    const int refused = ReadStat(directory, facts);
    if (refused != 0 || !facts->is_loading) return refused;
    usleep(kBetweenLooks);
  }
  return 0;
}

std::vector<std::string> SplitArguments(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return arguments;
}

void ReadFacts(int directory, ScannedProcess* process) {
  std::string text;
  if (ReadFileAt(directory, "status", kStatLimit, &text) == 0) {
    process->uid = ParseEffectiveUid(text);
  }
  if (ReadFileAt(directory, "cmdline", kArgumentsLimit, &text) == 0) {
    process->arguments = SplitArguments(text);
  }
  // Kernel threads have none.
  if (ReadLinkAt(directory, "exe", &text) == 0) process->executable = text;
  uint64_t network = 0;
  if (ReadLinkAt(directory, "ns/net", &text) == 0 && ParseInode(text, "net:[", &network)) {
    process->network = network;
  }
}

bool SameTable(const std::vector<ScannedDescriptor>& left,
               const std::vector<ScannedDescriptor>& right, pid_t thread) {
  std::vector<const ScannedDescriptor*> first;
  std::vector<const ScannedDescriptor*> second;
  for (const ScannedDescriptor& one : left) {
    if (one.thread == 0) first.push_back(&one);
  }
  for (const ScannedDescriptor& one : right) {
    if (one.thread == thread) second.push_back(&one);
  }
  if (first.size() != second.size()) return false;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i]->fd != second[i]->fd || first[i]->target != second[i]->target) return false;
  }
  return true;
}

// Threads whose table is not the leader's: spawner lanes, for one.
void ReadOtherTables(int directory, TableScan* scan, ScannedProcess* process) {
  const UniqueFd tasks = OpenDirectoryAt(directory, "task");
  if (!tasks.valid()) return Refuse(process, ScanRefusal::kThreads, errno);
  std::vector<int> threads;
  const int refused = ListNumbers(tasks.get(), &threads);
  if (refused != 0) return Refuse(process, ScanRefusal::kThreads, refused);
  std::vector<pid_t> tables = {process->pid};
  for (pid_t thread : threads) {
    bool known = thread == process->pid;
    bool certain = true;
    for (size_t i = 0; i < tables.size() && !known; ++i) {
      const int order = CompareTables(tables[i], thread);
      known = order == 0;
      certain = certain && order >= 0;
    }
    if (known) continue;
    const UniqueFd own = OpenDirectoryAt(tasks.get(), std::to_string(thread).c_str());
    if (!own.valid()) continue;  // it has ended
    std::vector<ScannedDescriptor> descriptors;
    const int failed = scan->Read(own.get(), thread, &descriptors);
    if (failed == ENOENT || failed == ESRCH) continue;
    if (failed != 0) {
      Refuse(process, ScanRefusal::kThreads, failed);
      continue;
    }
    tables.push_back(thread);
    // Where kcmp(2) is not allowed: tables with the same content count as one.
    if (!certain && SameTable(process->descriptors, descriptors, thread)) continue;
    for (ScannedDescriptor& one : descriptors) process->descriptors.push_back(std::move(one));
  }
}

bool IsZombie(const StatFacts& facts) {
  return facts.state == 'Z' || facts.state == 'X' || facts.state == 'x';
}

// An exiting process has no descriptors before it is a zombie, and looks as if it never had any. A
// leader may also be a zombie from the beginning, while its other threads go on.
bool EndedMeanwhile(const StatFacts& before, const StatFacts& after) {
  return after.is_exiting && !IsZombie(before);
}

void ReadTables(int directory, const ScanRequest& request, InternalMounts* mounts,
                ScannedProcess* process) {
  std::vector<int> ours;
  if (process->pid == getpid()) ours.push_back(directory);
  TableScan scan(&request.only, mounts, std::move(ours));
  const int refused = scan.Read(directory, 0, &process->descriptors);
  if (refused != 0) return Refuse(process, ScanRefusal::kDescriptors, refused);
  if (process->facts.threads > 1) ReadOtherTables(directory, &scan, process);
  if (scan.details_refused() != 0) {
    Refuse(process, ScanRefusal::kDetails, scan.details_refused());
  }
}

ScannedProcess ScanProcess(pid_t pid, const ScanRequest& request, InternalMounts* mounts) {
  ScannedProcess process;
  process.pid = pid;
  const std::string path = "/proc/" + std::to_string(pid);
  // Held open, this directory answers for this process only, whoever gets its pid afterwards.
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    Refuse(&process, ScanRefusal::kProcess, errno);
    return process;
  }
  constexpr int kAttempts = 4;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    process = ScannedProcess{};
    process.pid = pid;
    const int refused = ReadLoadedStat(directory.get(), &process.facts);
    if (refused != 0) {
      Refuse(&process, ScanRefusal::kProcess, refused);
      return process;
    }
    if (process.facts.is_loading) {
      Refuse(&process, ScanRefusal::kLoading, 0);
      return process;
    }
    // A thread of the kernel has no program, no descriptors and never another uid: half of all
    // processes need one read.
    if (process.facts.is_kernel_thread) {
      process.uid = 0;
      return process;
    }
    // What the filter leaves out is asked for the few that have something.
    if (request.only.empty()) ReadFacts(directory.get(), &process);
    if (request.facts_only) return process;
    ReadTables(directory.get(), request, mounts, &process);
    StatFacts after;
    const bool gone = ReadStat(directory.get(), &after) != 0;
    if (gone || EndedMeanwhile(process.facts, after)) {
      process.refusal = ScanRefusal::kEnded;
      process.errno_value = ESRCH;
      return process;
    }
    if (after.image == process.facts.image) {
      if (!request.only.empty() && !process.descriptors.empty()) {
        ReadFacts(directory.get(), &process);
      }
      return process;
    }
  }
  process.refusal = ScanRefusal::kExecuted;
  return process;
}

}  // namespace

std::vector<ScannedProcess> ScanProcesses(const ScanRequest& request, int* list_refused) {
  std::vector<pid_t> pids = request.pids;
  if (request.every) {
    const UniqueFd proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int refused = proc.valid() ? ListNumbers(proc.get(), &pids) : errno;
    if (list_refused != nullptr) *list_refused = refused;
  }
  std::vector<ScannedProcess> processes;
  processes.reserve(pids.size());
  InternalMounts mounts;
  for (pid_t pid : pids) {
    ScannedProcess process = ScanProcess(pid, request, &mounts);
    const bool ended = process.refusal == ScanRefusal::kEnded ||
                       (process.refusal == ScanRefusal::kProcess &&
                        (process.errno_value == ENOENT || process.errno_value == ESRCH));
    // Of all processes, one that has ended is none.
    if (request.every && ended) continue;
    processes.push_back(std::move(process));
  }
  return processes;
}

}  // namespace sallyport
