// Reads one descriptor table in /proc: of a process, or of a thread that has its own.
#include "core/table_scan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/proc_directory.h"
#include "core/thread.h"

namespace sallyport {

namespace {

// An epoll with ten thousand sockets prints 700 KB; what goes on for longer is cut off.
constexpr size_t kFdinfoLimit = size_t{1} << 21;

// What a descriptor permits, from the mode of its link: for a reader who may not see its flags.
ObjectAccess AccessFromLink(mode_t mode) {
  const bool reads = (mode & S_IRUSR) != 0;
  const bool writes = (mode & S_IWUSR) != 0;
  if (reads && writes) return ObjectAccess::kBoth;
  return reads ? ObjectAccess::kRead : writes ? ObjectAccess::kWrite : ObjectAccess::kNone;
}

bool HasName(ObjectKind kind) {
  return kind == ObjectKind::kFile || kind == ObjectKind::kDirectory ||
         kind == ObjectKind::kSymlink || kind == ObjectKind::kFifo ||
         kind == ObjectKind::kCharDevice || kind == ObjectKind::kTty ||
         kind == ObjectKind::kBlockDevice;
}

// How many threads share one table: starting one costs as much as reading ten descriptors.
unsigned CountParts(size_t descriptors) {
  constexpr size_t kWorthAThread = 1000;
  constexpr unsigned kMost = 4;
  if (descriptors < 2 * kWorthAThread) return 1;
  const auto worth = static_cast<unsigned>(std::min<size_t>(descriptors / kWorthAThread, kMost));
  return std::max(1U, std::min(worth, std::thread::hardware_concurrency()));
}

// Fields that fdinfo has; those of `descriptor` that say what the object is stay as they are.
void TakeDetails(FdinfoFacts* facts, ScannedDescriptor* descriptor) {
  descriptor->close_on_exec = (facts->flags & O_CLOEXEC) != 0 ? 1 : 0;
  descriptor->flags = facts->flags & ~O_CLOEXEC;
  descriptor->access = AccessFromFlags(facts->flags);
  descriptor->offset = facts->offset;
  descriptor->pidfd_target = facts->pidfd_target;
  descriptor->locks = std::move(facts->locks);
  descriptor->epoll_targets = std::move(facts->epoll_targets);
}

}  // namespace

int TableScan::Read(int directory, pid_t thread, std::vector<ScannedDescriptor>* descriptors) {
  const UniqueFd links = OpenDirectoryAt(directory, "fd");
  if (!links.valid()) return errno;
  const UniqueFd details = OpenDirectoryAt(directory, "fdinfo");
  if (!details.valid() && details_refused_ == 0) details_refused_ = errno;
  std::vector<int> numbers;
  // Listing makes the kernel build what a later look-up finds: so the directory in which most names
  // are looked up is listed.
  const bool by_links = !only_->empty() || !details.valid();
  int used = -1;
  int refused = ListNumbers(by_links ? links.get() : details.get(), &numbers, &used);
  if (refused != 0 && !by_links) {
    numbers.clear();
    refused = ListNumbers(links.get(), &numbers, &used);
  }
  // A process that has ended meanwhile lists nothing; the caller looks whether it has.
  if (refused != 0) return refused;
  std::sort(numbers.begin(), numbers.end());
  if (!ours_.empty()) {
    ours_.push_back(links.get());
    ours_.push_back(details.get());
    // Closed by now; but another part's look may get this number for a moment.
    ours_.push_back(used);
  }
  // A thread that has its own table has none of ours in it.
  if (thread == 0) {
    for (int own : ours_) {
      numbers.erase(std::remove(numbers.begin(), numbers.end(), own), numbers.end());
    }
  }
  const Directories directories = {links.get(), details.get()};
  const unsigned parts = CountParts(numbers.size());
  if (parts > 1 && only_->empty()) {
    ReadInParts(directories, thread, numbers, parts, descriptors);
  } else {
    ReadRange(directories, thread, numbers.data(), numbers.data() + numbers.size(), descriptors);
  }
  // Some systems list the numbers to a reader who may not see what they are.
  return link_refused_;
}

void TableScan::ReadRange(const Directories& directories, pid_t thread, const int* begin,
                          const int* end, std::vector<ScannedDescriptor>* descriptors) {
  if (only_->empty()) {
    descriptors->reserve(descriptors->size() + static_cast<size_t>(end - begin));
  }
  for (const int* number = begin; number != end && link_refused_ == 0; ++number) {
    ScannedDescriptor descriptor;
    descriptor.fd = *number;
    descriptor.thread = thread;
    if (ReadOne(directories, std::to_string(*number).c_str(), &descriptor)) {
      descriptors->push_back(std::move(descriptor));
    }
  }
}

// Two system calls and more for each descriptor: that is what a scan of ten thousand is bound by.
void TableScan::ReadInParts(const Directories& directories, pid_t thread,
                            const std::vector<int>& numbers, unsigned parts,
                            std::vector<ScannedDescriptor>* descriptors) {
  struct Part {
    InternalMounts mounts;
    std::vector<ScannedDescriptor> descriptors;
    int link_refused = 0;
    int details_refused = 0;
  };
  std::vector<Part> results(parts);
  const auto read = [&](unsigned index) {
    Part& part = results[index];
    part.mounts = *mounts_;
    TableScan scan(only_, &part.mounts, {});
    const size_t begin = numbers.size() * index / parts;
    const size_t end = numbers.size() * (index + 1) / parts;
    scan.ReadRange(directories, thread, numbers.data() + begin, numbers.data() + end,
                   &part.descriptors);
    part.link_refused = scan.link_refused_;
    part.details_refused = scan.details_refused_;
  };
  std::mutex mutex;
  std::condition_variable finished;
  unsigned running = parts - 1;
  for (unsigned index = 1; index < parts; ++index) {
    const bool started = StartThread("sallyport-scan", [&, index] {
      read(index);
      // Under the lock to its end: once it is let go, what this refers to may be gone.
      const std::lock_guard<std::mutex> lock(mutex);
      --running;
      finished.notify_one();
    });
    if (started) continue;
    read(index);
    const std::lock_guard<std::mutex> lock(mutex);
    --running;
  }
  read(0);
  {
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, [&] { return running == 0; });
  }
  for (Part& part : results) {
    if (link_refused_ == 0) link_refused_ = part.link_refused;
    if (details_refused_ == 0) details_refused_ = part.details_refused;
    std::move(part.descriptors.begin(), part.descriptors.end(), std::back_inserter(*descriptors));
  }
}

// False: it is not open (any more), or none of those that were asked for.
bool TableScan::ReadOne(const Directories& directories, const char* name,
                        ScannedDescriptor* descriptor) {
  if (!only_->empty() && !ReadObject(directories.fd, name, descriptor)) return false;
  // Link and details are two reads, and between them the number may come to mean something else.
  // Where both tell the inode, they must agree.
  constexpr int kAttempts = 3;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    FdinfoFacts facts;
    const Details details = ReadDetails(directories.fdinfo, name, &facts);
    if (details == Details::kGone) return false;
    if (details == Details::kRefused) {
      struct stat link = {};
      if (!ReadObject(directories.fd, name, descriptor)) return false;
      if (fstatat(directories.fd, name, &link, AT_SYMLINK_NOFOLLOW) != 0) return false;
      descriptor->access = AccessFromLink(link.st_mode);
      return true;
    }
    const bool known = IsInternal(facts, descriptor);
    if (!known && !ReadObject(directories.fd, name, descriptor)) return false;
    const bool tells_inode =
        descriptor->kind == ObjectKind::kSocket || descriptor->kind == ObjectKind::kPipe;
    if (tells_inode && facts.inode != 0 && facts.inode != descriptor->inode) continue;
    if (tells_inode && !known) Learn(facts, *descriptor);
    TakeDetails(&facts, descriptor);
    return true;
  }
  return false;
}

bool TableScan::IsInternal(const FdinfoFacts& facts, ScannedDescriptor* descriptor) const {
  if (facts.mount == 0 || facts.inode == 0 || !only_->empty()) return false;
  const bool is_socket = facts.mount == mounts_->sockets.mount;
  if (!is_socket && facts.mount != mounts_->pipes.mount) return false;
  descriptor->kind = is_socket ? ObjectKind::kSocket : ObjectKind::kPipe;
  descriptor->dev = is_socket ? mounts_->sockets.dev : mounts_->pipes.dev;
  descriptor->inode = facts.inode;
  descriptor->target =
      (is_socket ? "socket:[" : "pipe:[") + std::to_string(descriptor->inode) + "]";
  return true;
}

void TableScan::Learn(const FdinfoFacts& facts, const ScannedDescriptor& descriptor) {
  if (facts.inode == 0) return;
  InternalMount& internal =
      descriptor.kind == ObjectKind::kSocket ? mounts_->sockets : mounts_->pipes;
  internal.mount = facts.mount;
}

bool TableScan::ReadInternal(int directory, const char* name, bool is_socket,
                             InternalMount* internal, ScannedDescriptor* descriptor) {
  if (!only_->empty() && only_->count(descriptor->inode) == 0) return false;
  if (internal->dev == 0) {
    struct stat info = {};
    if (fstatat(directory, name, &info, 0) != 0) return false;
    internal->dev = info.st_dev;
  }
  descriptor->dev = internal->dev;
  descriptor->kind = is_socket ? ObjectKind::kSocket : ObjectKind::kPipe;
  return true;
}

bool TableScan::ReadObject(int directory, const char* name, ScannedDescriptor* descriptor) {
  const int refused = ReadLinkAt(directory, name, &descriptor->target);
  if (refused != 0) {
    if (refused != ENOENT && refused != ESRCH) link_refused_ = refused;
    return false;
  }
  const std::string& target = descriptor->target;
  if (ParseInode(target, "socket:[", &descriptor->inode)) {
    return ReadInternal(directory, name, true, &mounts_->sockets, descriptor);
  }
  if (ParseInode(target, "pipe:[", &descriptor->inode)) {
    return ReadInternal(directory, name, false, &mounts_->pipes, descriptor);
  }
  if (!only_->empty()) return false;
  struct stat info = {};
  if (fstatat(directory, name, &info, 0) != 0) {
    // A server that a network filesystem has lost answers nothing: the link is all there is.
    return errno != ENOENT && errno != ESRCH;
  }
  descriptor->dev = info.st_dev;
  descriptor->inode = info.st_ino;
  descriptor->kind = ClassifyObject(info.st_mode, target, info.st_nlink == 0);
  if (descriptor->kind == ObjectKind::kCharDevice && IsTerminalDevice(info.st_rdev)) {
    descriptor->kind = ObjectKind::kTty;
  }
  descriptor->deleted = info.st_nlink == 0 && HasName(descriptor->kind);
  return true;
}

TableScan::Details TableScan::ReadDetails(int directory, const char* name, FdinfoFacts* facts) {
  const int refused =
      directory < 0 ? details_refused_ : ReadFileAt(directory, name, kFdinfoLimit, &text_);
  if (refused == ENOENT || refused == ESRCH) return Details::kGone;
  if (refused == 0 && ParseFdinfo(text_, facts)) return Details::kRead;
  if (details_refused_ == 0) details_refused_ = refused != 0 ? refused : EBADMSG;
  return Details::kRefused;
}

}  // namespace sallyport
