// The launcher itself, started by hand: what it makes of good instructions and of bad ones.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "core/launcher_instructions.h"
#include "core/posix_spawner.h"
#include "core/unique_fd.h"
#include "launcher/instructions.h"
#include "support/requests.h"

namespace sallyport {
namespace {

LaunchRequest ShellWith(const std::string& script, const std::vector<LaunchStep>& steps) {
  LaunchRequest request = Shell(script);
  request.steps = steps;
  return request;
}

// The launcher as it is started: the block on one number, its status on the other.
struct Outcome {
  std::optional<LauncherRefusal> refusal;
  int exit_code;
};

UniqueFd BlockOf(const std::string& block) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
  REQUIRE(write(fd.get(), block.data(), block.size()) == static_cast<ssize_t>(block.size()));
  return fd;
}

// `arguments` after its name; 3 are the instructions, 4 is the status.
Outcome RunLauncher(int instructions, const std::vector<std::string>& arguments = {"3", "4"}) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  std::vector<std::string> command = {SALLYPORT_LAUNCHER};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const LaunchRequest request = Request(command, {{instructions, 3}, {theirs.get(), 4}});
  const Result<pid_t> pid =
      PosixSpawn(request, OrderDescriptorSteps(request.descriptors, request.null_targets));
  REQUIRE(pid.ok());
  theirs.reset();
  LauncherRefusal refusal;
  const ssize_t size = read(ours.get(), &refusal, sizeof refusal);
  int status = -1;
  CHECK(waitpid(pid.value(), &status, 0) == pid.value());
  Outcome outcome = {std::nullopt, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  if (size == static_cast<ssize_t>(sizeof refusal)) outcome.refusal = refusal;
  return outcome;
}

Outcome RunBlock(const std::string& block) { return RunLauncher(BlockOf(block).get()); }

void CheckRefused(const Outcome& outcome, uint32_t step, int errno_value) {
  CHECK(outcome.exit_code == 127);
  REQUIRE(outcome.refusal.has_value());
  CHECK(outcome.refusal->step == step);
  CHECK(outcome.refusal->errno_value == errno_value);
}

TEST_CASE("the launcher becomes the program, after its steps") {
  const Outcome plain = RunBlock(BuildInstructions(ShellWith("exit 7", {})));
  CHECK(!plain.refusal.has_value());
  CHECK(plain.exit_code == 7);

  const std::string script = "test \"$(umask)\" = 0027 && test \"$(ulimit -n)\" = 33 && exit 9";
  const Outcome changed = RunBlock(
      BuildInstructions(ShellWith(script, {{STEP_UMASK, {027}}, {STEP_LIMIT, {7, 33, 33}}})));
  CHECK(!changed.refusal.has_value());
  CHECK(changed.exit_code == 9);
}

TEST_CASE("the program has neither of the launcher's descriptors") {
  const Outcome outcome = RunBlock(
      BuildInstructions(ShellWith("test ! -e /proc/self/fd/3 && test ! -e /proc/self/fd/4", {})));
  CHECK(!outcome.refusal.has_value());
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("a refused step is told with its errno and first argument, and nothing runs") {
  const Outcome outcome = RunBlock(BuildInstructions(
      ShellWith("exit 7", {{STEP_UMASK, {022}}, {STEP_LIMIT, {999, 1, 1}}, {STEP_NICE, {19}}})));
  CheckRefused(outcome, STEP_LIMIT, EINVAL);
  CHECK(outcome.refusal->detail == 999);
}

TEST_CASE("an exec that fails is a refusal too") {
  LaunchRequest request = Request({"/no/such/program"});
  CheckRefused(RunBlock(BuildInstructions(request)), STEP_EXEC, ENOENT);
}

TEST_CASE("a step that this launcher does not know is refused, not skipped") {
  CheckRefused(RunBlock(BuildInstructions(ShellWith("true", {{4000, {1, 2}}}))), 4000, ENOSYS);
}

TEST_CASE("a parent that is not the one who asked: it has ended in between") {
  const pid_t other = getppid();
  const Outcome outcome = RunBlock(BuildInstructions(
      ShellWith("true", {{STEP_DIE_WITH_PARENT, {SIGKILL, static_cast<uint64_t>(other)}}})));
  CheckRefused(outcome, STEP_DIE_WITH_PARENT, ESRCH);
  const Outcome ours = RunBlock(BuildInstructions(
      ShellWith("true", {{STEP_DIE_WITH_PARENT, {SIGKILL, static_cast<uint64_t>(getpid())}}})));
  CHECK(ours.exit_code == 0);
}

TEST_CASE("instructions that are none are refused") {
  const std::string good = BuildInstructions(ShellWith("true", {}));
  std::string other_layout = good;
  other_layout[0] = static_cast<char>(other_layout[0] + 1);
  CheckRefused(RunBlock(other_layout), STEP_INSTRUCTIONS, EINVAL);
  // One of an addon that is newer or older than the launcher beside it may also be longer.
  CheckRefused(RunBlock(good + '\0'), STEP_INSTRUCTIONS, EINVAL);
  CheckRefused(RunBlock(good.substr(0, good.size() - 1)), STEP_INSTRUCTIONS, EINVAL);
  CheckRefused(RunBlock("short"), STEP_INSTRUCTIONS, EINVAL);
  CheckRefused(RunBlock(""), STEP_INSTRUCTIONS, EINVAL);

  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  CheckRefused(RunLauncher(read_end.get()), STEP_INSTRUCTIONS, ESPIPE);
  const UniqueFd write_only(open("/dev/null", O_WRONLY | O_CLOEXEC));
  CHECK(RunLauncher(write_only.get()).refusal.has_value());
}

TEST_CASE("called by hand it does nothing") {
  const UniqueFd block = BlockOf(BuildInstructions(ShellWith("exit 7", {})));
  const std::vector<std::vector<std::string>> calls = {
      {},        {"3"},       {"3", "4", "5"},     {"x", "4"},
      {"3", ""}, {"-3", "4"}, {"3", "9999999999"}, {"3", "99"},
      {"", "4"}, {"3x", "4"}};
  for (const std::vector<std::string>& arguments : calls) {
    const Outcome outcome = RunLauncher(block.get(), arguments);
    CHECK(!outcome.refusal.has_value());
    CHECK(outcome.exit_code == 125);
  }
}

TEST_CASE("more processors and groups than there are") {
  CheckRefused(RunBlock(BuildInstructions(ShellWith("true", {{STEP_CPU_AFFINITY, {8192}}}))),
               STEP_CPU_AFFINITY, EINVAL);
  const std::vector<uint64_t> groups(65537, 1);
  CheckRefused(RunBlock(BuildInstructions(ShellWith("true", {{STEP_GROUPS, groups}}))), STEP_GROUPS,
               EINVAL);
}

}  // namespace
}  // namespace sallyport
