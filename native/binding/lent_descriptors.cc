// The descriptors that one Node environment has as numbers, to be closed when it ends.
#include "binding/lent_descriptors.h"

#include <sys/stat.h>
#include <unistd.h>

namespace sallyport {

FileIdentity FileIdentity::Of(int fd) {
  struct stat about = {};
  if (fstat(fd, &about) != 0) return {};
  return {about.st_dev, about.st_ino};
}

void LentDescriptors::Lend(int fd) { lent_[fd] = FileIdentity::Of(fd); }

void LentDescriptors::Return(int fd) { lent_.erase(fd); }

void LentDescriptors::CloseAll() {
  for (const auto& [fd, identity] : lent_) {
    if (FileIdentity::Of(fd) == identity) close(fd);
  }
  lent_.clear();
}

}  // namespace sallyport
