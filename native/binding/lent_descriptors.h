// The descriptors that one Node environment has as numbers, to be closed when it ends.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace sallyport {

// Device and inode of what is open at a number; both 0: nothing.
struct FileIdentity {
  static FileIdentity Of(int fd);
  bool operator==(const FileIdentity& other) const {
    return dev == other.dev && inode == other.inode;
  }

  uint64_t dev = 0;
  uint64_t inode = 0;
};

// A Worker is terminated between any two steps of its JavaScript, which has then no chance to close
// what it holds. On the environment's own thread only.
//
// A number may become the property of one of Node's streams, of which nobody tells us. Those are
// closed before (Environment::RunCleanup of Node), and another thread may have got the number
// since: hence the identity, which two pipes, socket pairs or files in memory never share. Whatever
// else is lent comes back by Return().
class LentDescriptors {
 public:
  void Lend(int fd);
  // To somebody native, who closes it from now on. Nothing where it was not lent.
  void Return(int fd);
  void CloseAll();

 private:
  std::unordered_map<int, FileIdentity> lent_;
};

}  // namespace sallyport
