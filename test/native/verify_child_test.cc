// A child that holds before its exec: let go where it is as the request says, ended where it is
// not.
#include "core/verify_child.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/spawn_in_table.h"
#include "core/unique_fd.h"
#include "support/requests.h"

namespace sallyport {
namespace {

ExpectedObject Expect(int fd, int target) {
  const Result<DescriptorObject> object = DescribeDescriptor(fd);
  REQUIRE(object.ok());
  return {target, object.value().dev, object.value().inode, object.value().access,
          object.value().mount};
}

// `exit 7`, with one file at 5 and everything that is compared filled in as it is.
LaunchRequest Verified(int file) {
  LaunchRequest request = Shell("exit 7", {{file, 5}});
  request.launcher = SALLYPORT_LAUNCHER;
  request.verification.when = Verification::When::kAtExec;
  struct stat info;
  REQUIRE(stat(".", &info) == 0);
  request.verification.directory_dev = info.st_dev;
  request.verification.directory_inode = info.st_ino;
  REQUIRE(stat("/bin/sh", &info) == 0);
  request.verification.program_dev = info.st_dev;
  request.verification.program_inode = info.st_ino;
  request.verification.objects.push_back(Expect(file, 5));
  return request;
}

struct Started {
  Result<pid_t> pid;
  std::string evidence;
};

Started Start(const LaunchRequest& request) {
  std::string evidence;
  Result<pid_t> pid = SpawnInTable(request, request.descriptors, TableOrigin::kShared, &evidence);
  return {std::move(pid), std::move(evidence)};
}

bool Has(const std::string& text, const std::vector<std::string>& fields) {
  std::string wanted;
  for (const std::string& field : fields) wanted += field + '\0';
  return text.find(wanted) != std::string::npos;
}

void CheckEnded(const LaunchRequest& request, const std::string& difference) {
  const Started started = Start(request);
  REQUIRE_FALSE(started.pid.ok());
  CHECK(std::string(started.pid.error().stage) == "verify");
  CHECK(started.pid.error().errno_value == 0);
  CHECK(Has(started.pid.error().path, {"difference", difference}));
  // It has been reaped: nobody is left.
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

UniqueFd OpenHigh(const char* path) { return UniqueFd(MoveAboveStandard(open(path, O_RDONLY))); }

}  // namespace

TEST_CASE("what is as the request says runs, and all of it was seen") {
  const UniqueFd file = OpenHigh("/etc/passwd");
  const Started started = Start(Verified(file.get()));
  REQUIRE(started.pid.ok());
  int status = 0;
  REQUIRE(waitpid(started.pid.value(), &status, 0) == started.pid.value());
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(Has(started.evidence, {"fact", "when", "at-exec"}));
  CHECK(Has(started.evidence, {"fact", "session", std::to_string(started.pid.value())}));
  CHECK(Has(started.evidence, {"descriptor", "5", "0", "file", "read"}));
  CHECK(Has(started.evidence, {"variable", "PATH"}));
  CHECK_FALSE(Has(started.evidence, {"difference"}));
}

TEST_CASE("each thing that is not as the request says ends the child") {
  const UniqueFd file = OpenHigh("/etc/passwd");
  LaunchRequest request = Verified(file.get());
  Verification& planned = request.verification;
  SUBCASE("another inode") {
    planned.objects[0].inode += 1;
    CheckEnded(request, "descriptors.5");
  }
  SUBCASE("another access") {
    planned.objects[0].access = ObjectAccess::kBoth;
    CheckEnded(request, "descriptors.5.access");
  }
  SUBCASE("another mount") {
    if (planned.objects[0].mount == 0) return;  // kernel before 5.8
    planned.objects[0].mount += 1;
    CheckEnded(request, "descriptors.5.mount");
  }
  SUBCASE("one more than is named") {
    planned.objects.clear();
    CheckEnded(request, "descriptors.5");
  }
  SUBCASE("one less") {
    planned.objects.push_back(Expect(file.get(), 6));
    CheckEnded(request, "descriptors.6");
  }
  SUBCASE("no /dev/null") {
    request.null_targets.pop_back();
    request.descriptors.push_back({file.get(), 2});
    planned.objects.push_back(Expect(file.get(), 2));
    planned.objects.back().inode += 1;
    CheckEnded(request, "descriptors.2");
  }
  SUBCASE("another directory") {
    planned.directory_inode += 1;
    CheckEnded(request, "directory");
  }
  SUBCASE("another program") {
    planned.program_inode += 1;
    CheckEnded(request, "executable");
  }
  SUBCASE("privileges") {
    // Where this process has none itself, its children cannot be without.
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return;
    planned.no_new_privileges = true;
    CheckEnded(request, "noNewPrivileges");
  }
}

TEST_CASE("a step that is refused is said as without, and nothing is looked at") {
  const UniqueFd file = OpenHigh("/etc/passwd");
  LaunchRequest request = Verified(file.get());
  request.steps.push_back({4000, {}});
  const Started started = Start(request);
  REQUIRE_FALSE(started.pid.ok());
  CHECK(started.pid.error().errno_value == ENOSYS);
  CHECK(started.evidence.empty());
}

TEST_CASE("an exec that is refused after the look is said as without") {
  const UniqueFd file = OpenHigh("/etc/passwd");
  LaunchRequest request = Verified(file.get());
  request.executable = "/etc/passwd";
  request.verification.program_inode = 0;
  const Started started = Start(request);
  REQUIRE_FALSE(started.pid.ok());
  CHECK(std::string(started.pid.error().stage) == "exec");
  CHECK(started.pid.error().errno_value == EACCES);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

}  // namespace sallyport
