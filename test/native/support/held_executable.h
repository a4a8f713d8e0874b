// A program whose exec hangs until it is let go, as one on a dead mount does.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/unique_fd.h"
#include "support/deadline.h"

namespace sallyport {

// A folder that goes away with all that was written into it by name.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content_of) {
    char folder[] = "/tmp/sallyport-native-XXXXXX";
    folder_ = mkdtemp(folder);
    path_ = folder_ + "/program";
    std::ofstream(path_, std::ios::binary) << std::ifstream(content_of, std::ios::binary).rdbuf();
    chmod(path_.c_str(), 0755);
  }
  ~TemporaryFile() {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

// By a write lease, fcntl(2): whoever opens the file waits, in the kernel and interruptible by
// SIGKILL only in effect, until the holder gives the lease up. Works without any privilege. (The
// kernel ends the wait by itself after /proc/sys/fs/lease-break-time, 45 s.)
class HeldExecutable {
 public:
  explicit HeldExecutable(const std::string& content_of, int access = O_RDONLY)
      : file_(content_of), fd_(open(file_.path().c_str(), access | O_CLOEXEC)) {
    signal(SIGIO, SIG_IGN);  // the kernel's note that somebody waits
  }

  // True once the lease is ours: nobody else has the file open. False after the deadline.
  bool Hold() {
    return Eventually([this] { return fcntl(fd_.get(), F_SETLEASE, F_WRLCK) == 0; });
  }
  // Whether an exec of it hangs. F_GETLEASE says what the lease is about to become.
  bool IsWaitedFor() const { return fcntl(fd_.get(), F_GETLEASE) == F_RDLCK; }
  void LetGo() { fcntl(fd_.get(), F_SETLEASE, F_UNLCK); }
  void Close() { fd_.reset(); }

  const std::string& path() const { return file_.path(); }

 private:
  TemporaryFile file_;
  UniqueFd fd_;
};

}  // namespace sallyport
