// One look at a process from a spawner lane: its table, ids, session and directory, by raw calls.
#include "core/process_look.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace sallyport {

namespace {

constexpr size_t kTextLimit = 64 * 1024;  // of status with all groups that a process may have

// A number of the calling thread's table, which need not be the process's.
class RawFd {
 public:
  RawFd(int directory, const char* name, int flags)
      : fd_(static_cast<int>(syscall(SYS_openat, directory, name, flags | O_CLOEXEC, 0))) {}
  RawFd(const RawFd&) = delete;
  RawFd& operator=(const RawFd&) = delete;
  ~RawFd() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

RawFd OpenProcess(pid_t pid) {
  return RawFd(AT_FDCWD, ("/proc/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY);
}

SysError Refuse(pid_t pid, int errno_value, const char* name) {
  return {"verify", errno_value, "/proc/" + std::to_string(pid) + name};
}

// 0 or an errno value. Of files that the kernel makes as a whole: less than was asked for is all.
int ReadText(int directory, const char* name, std::string* text) {
  const RawFd file(directory, name, O_RDONLY);
  if (!file.valid()) return errno;
  text->clear();
  char buffer[4096];
  while (text->size() < kTextLimit) {
    const long count = syscall(SYS_read, file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text->append(buffer, static_cast<size_t>(count));
    if (static_cast<size_t>(count) < sizeof buffer) return 0;
  }
  return EFBIG;
}

int ReadLink(int directory, const char* name, std::string* target) {
  char buffer[PATH_MAX];
  const long size = syscall(SYS_readlinkat, directory, name, buffer, sizeof buffer);
  if (size < 0) return errno;
  target->assign(buffer, static_cast<size_t>(size));
  return 0;
}

int Stat(int directory, const char* name, struct stat* info) {
  return syscall(SYS_newfstatat, directory, name, info, 0) == 0 ? 0 : errno;
}

// The names in a directory that are numbers, in ascending order. 0 or an errno value.
int ListNumbersRaw(int directory, std::vector<int>* numbers) {
  struct Entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[1];
  };
  alignas(Entry) char buffer[4096];
  for (;;) {
    const long size = syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (size < 0) return errno;
    if (size == 0) break;
    for (long at = 0; at < size;) {
      uint16_t length;
      memcpy(&length, buffer + at + offsetof(Entry, size), sizeof length);
      const char* const name = buffer + at + offsetof(Entry, name);
      std::string_view digits(name);
      uint64_t number = 0;
      if (TakeNumber(&digits, &number) && digits.empty() && number <= INT_MAX) {
        numbers->push_back(static_cast<int>(number));
      }
      at += length;
    }
  }
  std::sort(numbers->begin(), numbers->end());
  return 0;
}

int LookAtDescriptor(int links, int details, int fd, bool is_named, SeenDescriptor* seen) {
  char name[16];
  snprintf(name, sizeof name, "%d", fd);
  std::string text;
  FdinfoFacts facts;
  int refused = ReadText(details, name, &text);
  if (refused == 0 && !ParseFdinfo(text, &facts)) refused = EBADMSG;
  if (refused != 0) return refused;
  seen->fd = fd;
  seen->close_on_exec = (facts.flags & O_CLOEXEC) != 0;
  if (seen->close_on_exec && !is_named) return 0;
  struct stat info;
  refused = Stat(links, name, &info);
  if (refused == 0) refused = ReadLink(links, name, &seen->target);
  if (refused != 0) return refused;
  seen->is_null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  seen->kind = ClassifyObject(info.st_mode, seen->target, info.st_nlink == 0);
  seen->access = AccessFromFlags(facts.flags);
  seen->dev = info.st_dev;
  seen->inode = info.st_ino;
  seen->mount = static_cast<uint64_t>(facts.mount);
  return 0;
}

bool ParseIds(std::string_view line, Ids* ids) {
  for (uint64_t& id : *ids) {
    std::string_view word = TakeWord(&line);
    if (!TakeNumber(&word, &id)) return false;
  }
  return true;
}

}  // namespace

bool ParseStatus(std::string_view text, SeenProcess* seen) {
  int found = 0;
  while (!text.empty()) {
    std::string_view line = TakeLine(&text);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    line.remove_prefix(colon + 1);
    // Without one it is nobody's child, and so not ours.
    if (name == "PPid") {
      std::string_view word = TakeWord(&line);
      uint64_t parent = 0;
      if (TakeNumber(&word, &parent) && parent <= INT_MAX)
        seen->parent = static_cast<pid_t>(parent);
    }
    if (name == "Uid") found += ParseIds(line, &seen->uids) ? 1 : 0;
    if (name == "Gid") found += ParseIds(line, &seen->gids) ? 1 : 0;
    if (name == "Groups") {
      for (std::string_view word = TakeWord(&line); !word.empty(); word = TakeWord(&line)) {
        uint64_t group = 0;
        if (!TakeNumber(&word, &group)) break;
        seen->groups.push_back(group);
      }
      ++found;
    }
    // Kernel 4.10.
    if (name == "NoNewPrivs") {
      seen->no_new_privileges = TakeWord(&line) == "1";
      ++found;
    }
  }
  return found == 4;
}

pid_t FirstChild(pid_t pid) {
  const std::string number = std::to_string(pid);
  const std::string path = "/proc/" + number + "/task/" + number + "/children";
  std::string text;
  if (ReadText(AT_FDCWD, path.c_str(), &text) != 0) return -1;
  std::string_view rest(text);
  uint64_t child = 0;
  return TakeNumber(&rest, &child) && child <= INT_MAX ? static_cast<pid_t>(child) : -1;
}

Result<SeenProcess> LookAtProcess(pid_t pid, const std::vector<int>& named) {
  const auto refuse = [pid](int errno_value, const char* name) {
    return Refuse(pid, errno_value, name);
  };
  const RawFd directory = OpenProcess(pid);
  if (!directory.valid()) return refuse(errno, "");
  SeenProcess seen;
  std::string text;
  int refused = ReadText(directory.get(), "status", &text);
  if (refused != 0) return refuse(refused, "/status");
  if (!ParseStatus(text, &seen)) return refuse(EBADMSG, "/status");
  seen.session = getsid(pid);
  seen.group = getpgid(pid);
  if (seen.session < 0 || seen.group < 0) return refuse(errno, "");
  struct stat info;
  refused = Stat(directory.get(), "cwd", &info);
  if (refused == 0) refused = ReadLink(directory.get(), "cwd", &seen.directory);
  if (refused != 0) return refuse(refused, "/cwd");
  seen.directory_dev = info.st_dev;
  seen.directory_inode = info.st_ino;

  const RawFd links(directory.get(), "fd", O_RDONLY | O_DIRECTORY);
  if (!links.valid()) return refuse(errno, "/fd");
  const RawFd details(directory.get(), "fdinfo", O_RDONLY | O_DIRECTORY);
  if (!details.valid()) return refuse(errno, "/fdinfo");
  std::vector<int> numbers;
  refused = ListNumbersRaw(links.get(), &numbers);
  if (refused != 0) return refuse(refused, "/fd");
  for (const int fd : numbers) {
    SeenDescriptor descriptor;
    const bool is_named = std::find(named.begin(), named.end(), fd) != named.end();
    refused = LookAtDescriptor(links.get(), details.get(), fd, is_named, &descriptor);
    if (refused != 0) return refuse(refused, "/fd");
    seen.descriptors.push_back(std::move(descriptor));
  }
  return seen;
}

pid_t ParentOf(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  std::string text;
  SeenProcess seen;
  return ReadText(AT_FDCWD, path.c_str(), &text) == 0 && ParseStatus(text, &seen) ? seen.parent
                                                                                  : -1;
}

Result<GivenIds> IdsForChild() {
  uint32_t real, effective, saved;
  GivenIds given;
  // By raw calls: the thread's own, whatever it runs on. exec makes the last two of each what the
  // second is.
  if (syscall(SYS_getresuid, &real, &effective, &saved) != 0) return SysError{"verify", errno, ""};
  given.uids = {real, effective, effective, effective};
  if (syscall(SYS_getresgid, &real, &effective, &saved) != 0) return SysError{"verify", errno, ""};
  given.gids = {real, effective, effective, effective};
  const long count = syscall(SYS_getgroups, 0, nullptr);
  if (count < 0) return SysError{"verify", errno, ""};
  std::vector<uint32_t> groups(static_cast<size_t>(count));
  if (syscall(SYS_getgroups, count, groups.data()) != count) return SysError{"verify", errno, ""};
  given.groups.assign(groups.begin(), groups.end());
  given.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  return given;
}

Result<std::string> ReadMemory(pid_t pid, uint64_t address, size_t size) {
  std::string memory(size, '\0');
  size_t done = 0;
  while (done < size) {
    const iovec ours = {memory.data() + done, size - done};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is an address of the other process
    const iovec theirs = {reinterpret_cast<void*>(address + done), size - done};
    const long count = syscall(SYS_process_vm_readv, pid, &ours, 1, &theirs, 1, 0);
    if (count <= 0) {
      return SysError{"verify", count < 0 ? errno : EFAULT,
                      "/proc/" + std::to_string(pid) + "/mem"};
    }
    done += static_cast<size_t>(count);
  }
  return memory;
}

}  // namespace sallyport
