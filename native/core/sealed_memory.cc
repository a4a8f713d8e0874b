// Memory as a file that can be executed and, once sealed, not changed by anybody.
#include "core/sealed_memory.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace sallyport {

Result<UniqueFd> OpenMemory(const std::string& name) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  // Kernel 6.3, where vm.memfd_noexec may ask for the word; an older one does not know it.
  long fd = syscall(SYS_memfd_create, name.c_str(), flags | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, name.c_str(), flags);
  UniqueFd memory(MoveAboveStandard(static_cast<int>(fd)));
  if (!memory.valid()) return SysError{"descriptor", errno, ""};
  return memory;
}

int SealMemory(int fd) {
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  return fcntl(fd, F_ADD_SEALS, seals) == 0 ? 0 : errno;
}

}  // namespace sallyport
