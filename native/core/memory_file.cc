// Files without a name that live in memory, memfd_create(2).
#include "core/memory_file.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport {

Result<UniqueFd> OpenMemoryFile(const char* name) {
  // By its number: glibc has a function for it from 2.27 on, musl from 1.1.20.
  const long low = syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
  UniqueFd file(MoveAboveStandard(static_cast<int>(low)));
  if (!file.valid()) return SysError{"descriptor", errno, ""};
  return file;
}

}  // namespace sallyport
