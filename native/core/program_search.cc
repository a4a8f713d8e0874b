// Starts a program by the name that execvp(3) would be given.
#include "core/program_search.h"

#include <sys/stat.h>

#include <cerrno>
#include <climits>

#include "core/executable_probe.h"

namespace sallyport {

namespace {

// These mean that a program may be elsewhere in PATH.
bool GoesOn(int errno_value) {
  return errno_value == EACCES || errno_value == ENOENT || errno_value == ESTALE ||
         errno_value == ENOTDIR || errno_value == ENODEV || errno_value == ETIMEDOUT;
}

// 0, or why exec would not find it: a process for each directory of PATH costs more than a look.
int ProbeExistence(const std::string& candidate, const std::string& working_directory) {
  struct stat info;
  const bool relative = candidate[0] != '/' && !working_directory.empty();
  const std::string path = relative ? working_directory + "/" + candidate : candidate;
  return stat(path.c_str(), &info) == 0 ? 0 : errno;
}

Result<LaunchedChild> Attempt(LaunchJob& job,
                              const std::function<Result<LaunchedChild>(LaunchJob&)>& start) {
  // Filled by OpenTable() at each attempt.
  job.request.descriptors.clear();
  job.request.null_targets.clear();
  return start(job);
}

// /bin/sh <candidate> <arguments without the first>
std::string ShellArguments(const std::string& candidate, const std::string& arguments) {
  std::string words("/bin/sh");
  words.push_back('\0');
  words += candidate;
  words.push_back('\0');
  const size_t first = arguments.find('\0');
  if (first != std::string::npos) words.append(arguments, first + 1, std::string::npos);
  return words;
}

}  // namespace

std::vector<std::string> ListCandidates(const std::string& name, const std::string& path) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> candidates;
  size_t start = 0;
  for (;;) {
    const size_t end = path.find(':', start);
    const std::string directory =
        path.substr(start, end == std::string::npos ? std::string::npos : end - start);
    if (directory.size() < PATH_MAX) {
      std::string candidate = directory;
      if (!candidate.empty()) candidate += '/';
      candidates.push_back(candidate += name);
    }
    if (end == std::string::npos) return candidates;
    start = end + 1;
  }
}

Result<LaunchedChild> SpawnSearched(LaunchJob& job, const std::string& path,
                                    const std::string& arguments,
                                    const std::function<Result<LaunchedChild>(LaunchJob&)>& start) {
  const std::string name = job.request.executable;
  const std::string directory = job.request.working_directory;
  if (name.size() > NAME_MAX && name.find('/') == std::string::npos) {
    return SysError{"exec", ENAMETOOLONG, name};
  }
  const std::vector<std::string> candidates = ListCandidates(name, path);
  SysError last{"exec", ENOENT, name};
  bool denied = false;
  for (const std::string& candidate : candidates) {
    last = {"exec", candidates.size() > 1 ? ProbeExistence(candidate, directory) : 0, candidate};
    if (last.errno_value == 0) {
      job.request.executable = candidate;
      Result<LaunchedChild> child = Attempt(job, start);
      if (!child.ok() && child.error().errno_value == ENOEXEC) {
        job.request.executable = "/bin/sh";
        job.request.arguments = StringList(ShellArguments(candidate, arguments));
        child = Attempt(job, start);
        job.request.arguments = StringList(arguments);
      }
      if (child.ok()) return child;
      last = child.error();
    }
    // A step before exec was refused, or a directory that cannot be entered: nothing to search for.
    if (std::string(last.stage) != "exec") return last;
    if (!directory.empty()) {
      const int refused = ProbeDirectory(directory.c_str());
      if (refused != 0) return SysError{"cwd", refused, directory};
    }
    if (!GoesOn(last.errno_value)) return last;
    denied |= last.errno_value == EACCES;
  }
  if (denied) last.errno_value = EACCES;
  return last;
}

}  // namespace sallyport
