// What shows that a process is accepting, or may be, on a listener that it holds.
#include "core/serving_evidence.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/proc_directory.h"
#include "core/proc_text.h"
#include "core/process_scan.h"

namespace sallyport {

namespace {

// More than any RLIMIT_NOFILE that is in use: a count that a process made up costs no memory.
constexpr uint64_t kMostPolled = uint64_t{1} << 16;

bool ReadMemory(pid_t pid, uint64_t address, void* into, size_t size) {
  iovec local = {into, size};
  iovec remote = {reinterpret_cast<void*>(address), size};  // NOLINT: an address over there
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

// The numbers that a process waits for, and in which way.
struct Waits {
  std::unordered_set<int> epoll;
  std::unordered_set<int> accept;
  std::unordered_set<int> poll;
  bool unclear = false;
  int refused = 0;
};

// False where it cannot be read what the call waits for.
bool ReadPollSet(pid_t pid, const ThreadCall& call, std::unordered_set<int>* waits_for) {
  const uint64_t count = call.arguments[1];
  if (count > kMostPolled) return false;
  std::vector<pollfd> entries(count);
  if (count > 0 && !ReadMemory(pid, call.arguments[0], entries.data(), count * sizeof(pollfd))) {
    return false;
  }
  for (const pollfd& entry : entries) waits_for->insert(entry.fd);
  return true;
}

bool ReadSelectSet(pid_t pid, const ThreadCall& call, std::unordered_set<int>* waits_for) {
  const uint64_t highest = call.arguments[0];
  if (highest > kMostPolled) return false;
  constexpr uint64_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> words((highest + kBits - 1) / kBits);
  if (call.arguments[1] == 0 || words.empty()) return true;
  if (!ReadMemory(pid, call.arguments[1], words.data(), words.size() * sizeof words[0])) {
    return false;
  }
  for (uint64_t fd = 0; fd < highest; ++fd) {
    if ((words[fd / kBits] >> (fd % kBits) & 1) != 0) waits_for->insert(static_cast<int>(fd));
  }
  return true;
}

bool IsPoll(uint64_t number) {
#ifdef SYS_poll
  if (number == SYS_poll) return true;
#endif
  return number == SYS_ppoll;
}

bool IsSelect(uint64_t number) {
#ifdef SYS_select
  if (number == SYS_select) return true;
#endif
  return number == SYS_pselect6;
}

bool IsAccept(uint64_t number) {
#ifdef SYS_accept
  if (number == SYS_accept) return true;
#endif
  return number == SYS_accept4;
}

void LookAtCall(pid_t pid, const ThreadCall& call, Waits* waits) {
  if (IsAccept(call.number)) {
    waits->accept.insert(static_cast<int>(call.arguments[0]));
    return;
  }
  // 425-427: the io_uring calls; an accept may be queued there.
  constexpr uint64_t kIoUringEnter = 426;
  if (call.number == SYS_restart_syscall || call.number == kIoUringEnter) {
    waits->unclear = true;
    return;
  }
  const bool polls = IsPoll(call.number);
  if (!polls && !IsSelect(call.number)) return;
  const bool read =
      polls ? ReadPollSet(pid, call, &waits->poll) : ReadSelectSet(pid, call, &waits->poll);
  if (!read) waits->unclear = true;
}

void LookAtThreads(pid_t pid, Waits* waits) {
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  const UniqueFd tasks(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<int> threads;
  waits->refused = tasks.valid() ? ListNumbers(tasks.get(), &threads) : errno;
  if (waits->refused != 0) return;
  for (int thread : threads) {
    std::string text;
    const std::string file = std::to_string(thread) + "/syscall";
    const int refused = ReadFileAt(tasks.get(), file.c_str(), 4096, &text);
    if (refused == ENOENT || refused == ESRCH) continue;
    if (refused != 0) {
      waits->refused = refused;
      continue;
    }
    ThreadCall call;
    if (ParseThreadCall(text, &call)) {
      LookAtCall(pid, call, waits);
    } else {
      waits->unclear = true;
    }
  }
}

}  // namespace

bool ParseThreadCall(std::string_view text, ThreadCall* call) {
  std::string_view line = TakeLine(&text);
  std::string_view word = TakeWord(&line);
  if (!TakeNumber(&word, &call->number) || !word.empty()) return false;
  for (uint64_t& argument : call->arguments) {
    word = TakeWord(&line);
    if (word.substr(0, 2) != "0x") return false;
    word.remove_prefix(2);
    if (!TakeNumber(&word, &argument, 16) || !word.empty()) return false;
  }
  return true;
}

std::vector<ServingEvidence> FindServingEvidence(pid_t pid, const std::vector<uint64_t>& inodes) {
  std::vector<ServingEvidence> found(inodes.size());
  ScanRequest request;
  request.pids = {pid};
  const ScannedProcess process = ScanProcesses(request).front();
  Waits waits;
  std::unordered_multimap<uint64_t, int> numbers;
  if (process.refusal != ScanRefusal::kNone) {
    waits.refused = process.errno_value != 0 ? process.errno_value : EAGAIN;
  } else {
    for (const ScannedDescriptor& one : process.descriptors) {
      if (one.kind == ObjectKind::kSocket) numbers.emplace(one.inode, one.fd);
      waits.epoll.insert(one.epoll_targets.begin(), one.epoll_targets.end());
      waits.unclear |= one.kind == ObjectKind::kIoUring;
    }
    LookAtThreads(pid, &waits);
  }
  for (size_t i = 0; i < inodes.size(); ++i) {
    ServingEvidence& evidence = found[i];
    evidence.unclear = waits.unclear;
    evidence.refused = waits.refused;
    const auto [begin, end] = numbers.equal_range(inodes[i]);
    for (auto number = begin; number != end; ++number) {
      evidence.epoll |= waits.epoll.count(number->second) != 0;
      evidence.accept |= waits.accept.count(number->second) != 0;
      evidence.poll |= waits.poll.count(number->second) != 0;
    }
  }
  return found;
}

}  // namespace sallyport
