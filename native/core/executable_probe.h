// Asks whether a path can be executed by this process.
#pragma once

namespace sallyport {

// 0, or an errno value: ENOENT, ENOTDIR, EACCES (no execute permission for the effective ids, or
// not searchable), EISDIR for a directory, EINVAL for any other kind of file that cannot be
// executed.
int ProbeExecutable(const char* path);

// 0, or an errno value: ENOENT, ENOTDIR, EACCES (not searchable by the effective ids).
int ProbeDirectory(const char* path);

}  // namespace sallyport
