// Whether a path can be executed, or be a working directory, by this process.
#include "core/executable_probe.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "support/held_executable.h"

namespace sallyport {

TEST_CASE("what can be executed, and why the rest cannot") {
  CHECK(ProbeExecutable("/bin/true") == 0);
  CHECK(ProbeExecutable("/nonexistent") == ENOENT);
  CHECK(ProbeExecutable("/bin/true/x") == ENOTDIR);
  CHECK(ProbeExecutable("/etc") == EISDIR);
  CHECK(ProbeExecutable("/dev/null") == EINVAL);
  CHECK(ProbeExecutable("/etc/passwd") == EACCES);
  CHECK(ProbeExecutable(std::string(5000, 'x').c_str()) == ENAMETOOLONG);
  CHECK(ProbeExecutable("") == ENOENT);
}

TEST_CASE("what can be a working directory") {
  CHECK(ProbeDirectory("/") == 0);
  CHECK(ProbeDirectory("/nonexistent") == ENOENT);
  CHECK(ProbeDirectory("/etc/passwd") == ENOTDIR);
  CHECK(ProbeDirectory("/etc/passwd/x") == ENOTDIR);
}

TEST_CASE("the effective ids count, as for exec") {
  const TemporaryFile file("/bin/true");
  REQUIRE(chmod(file.path().c_str(), 0700) == 0);
  CHECK(ProbeExecutable(file.path().c_str()) == 0);
  REQUIRE(chmod(file.path().c_str(), 0600) == 0);
  CHECK(ProbeExecutable(file.path().c_str()) == EACCES);

  // Another user's, as far as that can be had: only root may become one.
  REQUIRE(chmod(file.path().c_str(), 0700) == 0);
  if (geteuid() != 0) return;
  REQUIRE(chmod(file.path().substr(0, file.path().rfind('/')).c_str(), 0755) == 0);
  const pid_t child = fork();
  if (child == 0) {
    if (seteuid(65534) != 0) _exit(1);
    _exit(ProbeExecutable(file.path().c_str()) == EACCES ? 0 : 2);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace sallyport
