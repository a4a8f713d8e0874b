// The working directory of a lane, where the C library cannot change that of a child.
#pragma once

#include <string>

namespace sallyport {

// Gives the calling thread a directory and a umask of its own, unshare(CLONE_FS): from then on
// EnterDirectory() concerns nobody else. Not for a thread that runs code of others. Returns 0 or an
// errno value.
int TakeOwnDirectory();

// Whether the calling thread has.
bool HasOwnDirectory();

// To `directory`; empty: to that of the process. The umask becomes that of the process as it is
// now. Returns 0 or an errno value; ENOSYS where the umask cannot be told, before kernel 4.7 or
// without /proc.
int EnterDirectory(const std::string& directory);

}  // namespace sallyport
