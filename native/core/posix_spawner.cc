// Starts a child by posix_spawn(3) on the calling thread.
#include "core/posix_spawner.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>

#include "core/descriptor_table.h"
#include "core/lane_directory.h"

#ifndef POSIX_SPAWN_SETSID  // glibc 2.26, musl 1.1.22; both 0x80
#define POSIX_SPAWN_SETSID 0x80
#endif

namespace sallyport {

namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  Attributes() { posix_spawnattr_init(&attributes_); }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

template <class T>
T LookUp(const char* name) {
  return reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
}

// The C library refuses a closefrom at or above the soft RLIMIT_NOFILE, which is where it stands
// when the highest number allowed is passed. Nothing can be opened up there; but the limit may have
// been lowered after something was.
int AddCloseFrom(posix_spawn_file_actions_t* actions, int lowest,
                 const SpawnExtensions& extensions) {
  if (extensions.add_close_from == nullptr) return ENOSYS;
  if (lowest < DescriptorLimit()) return extensions.add_close_from(actions, lowest);
  const Result<std::vector<int>> open = ListDescriptors();
  if (!open.ok()) return open.error().errno_value;
  return open.value().empty() || open.value().back() < lowest ? 0 : EBADF;
}

// Returns an errno value: EBADF for a number at or above the soft RLIMIT_NOFILE, ENOMEM.
int AddStep(posix_spawn_file_actions_t* actions, const DescriptorStep& step,
            const SpawnExtensions& extensions) {
  switch (step.kind) {
    case DescriptorStep::Kind::kDup2:
      return posix_spawn_file_actions_adddup2(actions, step.fd, step.target);
    case DescriptorStep::Kind::kOpenNull:
      return posix_spawn_file_actions_addopen(actions, step.fd, "/dev/null", O_RDWR, 0);
    case DescriptorStep::Kind::kClose:
      return posix_spawn_file_actions_addclose(actions, step.fd);
    case DescriptorStep::Kind::kCloseFrom:
      return AddCloseFrom(actions, step.fd, extensions);
    case DescriptorStep::Kind::kCloseFromIfPossible:
      return extensions.add_close_from == nullptr || step.fd >= DescriptorLimit()
                 ? 0
                 : extensions.add_close_from(actions, step.fd);
  }
  return EINVAL;
}

void SetAttributes(posix_spawnattr_t* attributes, SessionMode session) {
  // Node ignores SIGPIPE and SIGXFSZ, and a library may have blocked or ignored others: a child
  // that inherits that misbehaves in pipelines or cannot be ended politely.
  // Every bit: sigfillset leaves out the two that the C library keeps for itself, and its
  // posix_spawn then starts programs with these ignored.
  sigset_t all;
  memset(&all, 0xff, sizeof all);
  posix_spawnattr_setsigdefault(attributes, &all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(attributes, &none);
  int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  if (session == SessionMode::kNew) flags |= POSIX_SPAWN_SETSID;
  if (session == SessionMode::kGroup) {
    flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setpgroup(attributes, 0);
  }
  posix_spawnattr_setflags(attributes, static_cast<short>(flags));
}

// Of this process at this moment; "" where it cannot be told.
std::string OwnDirectory() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/cwd", path, sizeof path);
  return size > 0 && size < PATH_MAX ? std::string(path, static_cast<size_t>(size)) : "";
}

Result<pid_t> SpawnIn(const std::string& directory, const LaunchRequest& request,
                      const std::vector<DescriptorStep>& steps, const SpawnExtensions& extensions) {
  FileActions actions;
  if (extensions.add_chdir == nullptr && HasOwnDirectory()) {
    const int refused = EnterDirectory(directory);
    if (refused == ENOSYS) return SysError{"cwd", ENOSYS, directory};
    // As posix_spawn would say it.
    if (refused != 0) return SysError{"exec", refused, request.executable};
  } else if (!directory.empty()) {
    if (extensions.add_chdir == nullptr) return SysError{"cwd", ENOSYS, directory};
    const int refused = extensions.add_chdir(actions.get(), directory.c_str());
    if (refused != 0) return SysError{"cwd", refused, directory};
  }
  for (const DescriptorStep& step : steps) {
    const int refused = AddStep(actions.get(), step, extensions);
    if (refused != 0) return SysError{"descriptor", refused, ""};
  }
  if (request.foreground_terminal >= 0) {
    if (extensions.add_tcsetpgrp == nullptr) return SysError{"terminal", ENOSYS, ""};
    const int refused = extensions.add_tcsetpgrp(actions.get(), request.foreground_terminal);
    if (refused != 0) return SysError{"terminal", refused, ""};
  }

  Attributes attributes;
  SetAttributes(attributes.get(), request.session);

  // 1 + 2 + … + 32 ms: under 100 ms in all.
  for (long wait_ms = 1;; wait_ms *= 2) {
    pid_t pid = -1;
    const int refused =
        posix_spawn(&pid, request.executable.c_str(), actions.get(), attributes.get(),
                    request.arguments.pointers(), request.environment.pointers());
    if (refused == 0) return pid;
    if (refused != ETXTBSY || wait_ms > 32) return SysError{"exec", refused, request.executable};
    const timespec pause = {0, wait_ms * 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

const SpawnExtensions& SpawnExtensions::Available() {
  static const SpawnExtensions found = {
      LookUp<decltype(SpawnExtensions::add_close_from)>("posix_spawn_file_actions_addclosefrom_np"),
      LookUp<decltype(SpawnExtensions::add_chdir)>("posix_spawn_file_actions_addchdir_np"),
      LookUp<decltype(SpawnExtensions::add_tcsetpgrp)>("posix_spawn_file_actions_addtcsetpgrp_np"),
  };
  return found;
}

Result<pid_t> PosixSpawn(const LaunchRequest& request, const std::vector<DescriptorStep>& steps,
                         const SpawnExtensions& extensions) {
  const std::string& directory = request.working_directory;
  Result<pid_t> pid = SpawnIn(directory, request, steps, extensions);
  // A service that gave up its rights is often in a directory that it may not enter any more. Its
  // children may stay in it, as those of every other way to start one do.
  if (!pid.ok() && pid.error().errno_value == EACCES && !directory.empty() &&
      directory == OwnDirectory()) {
    return SpawnIn("", request, steps, extensions);
  }
  return pid;
}

}  // namespace sallyport
