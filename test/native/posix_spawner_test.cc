// posix_spawn on the calling thread: exactly the table, each refusal's errno, busy executables.
#include "core/posix_spawner.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/lane_directory.h"
#include "support/held_executable.h"
#include "support/pipes_by_name.h"
#include "support/process_facts.h"
#include "support/requests.h"
#include "support/standard_channels.h"

namespace sallyport {
namespace {

Result<pid_t> Spawn(const LaunchRequest& request,
                    const SpawnExtensions& extensions = SpawnExtensions::Available()) {
  return PosixSpawn(request, OrderDescriptorSteps(request.descriptors, request.null_targets),
                    extensions);
}

int ExitCode(const Result<pid_t>& pid) {
  REQUIRE(pid.ok());
  int status = -1;
  CHECK(waitpid(pid.value(), &status, 0) == pid.value());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void EndAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  CHECK(waitpid(pid, nullptr, 0) == pid);
}

void CheckTable(const Result<pid_t>& pid, const TableView& wanted) {
  REQUIRE(pid.ok());
  // The dynamic loader opens the C library for a moment.
  const bool right = Eventually([&] { return TableOf(pid.value()) == wanted; });
  CHECK_MESSAGE(right, "child:" << Show(TableOf(pid.value())) << "; wanted:" << Show(wanted));
  EndAndReap(pid.value());
}

const TableView kNullChannels = {{0, "/dev/null"}, {1, "/dev/null"}, {2, "/dev/null"}};

// Nothing of a refused launch may be left.
void CheckRefused(const LaunchRequest& request, const char* stage, int errno_value,
                  const SpawnExtensions& extensions = SpawnExtensions::Available()) {
  const Result<pid_t> refused = Spawn(request, extensions);
  REQUIRE_FALSE(refused.ok());
  CHECK(std::string(refused.error().stage) == stage);
  CHECK(refused.error().errno_value == errno_value);
  CHECK(HasNoChildren());
}

}  // namespace

TEST_CASE("a child receives exactly its table, whatever the parent has open") {
  const Baseline before;
  {
    const std::vector<UniqueFd> ends = PipeEnds(4);
    const UniqueFd leaky(open("/etc/passwd", O_RDONLY));
    const UniqueFd high(fcntl(leaky.get(), F_DUPFD, 800));
    REQUIRE(high.valid());

    SUBCASE("nothing, with each of 0, 1 and 2 open or closed in the parent") {
      for (unsigned closed = 0; closed < 8; ++closed) {
        const StandardChannelsClosed without(closed);
        const Result<pid_t> pid = Spawn(Request({"/bin/sleep", "60"}));
        CheckTable(pid, kNullChannels);
      }
    }
    SUBCASE("swaps, self moves, one source twice, gaps") {
      const std::vector<DescriptorMove> moves = {
          {ends[0].get(), ends[1].get()},
          {ends[1].get(), ends[0].get()},
          {ends[2].get(), ends[2].get()},
          {ends[3].get(), 1},
          {ends[3].get(), 60},
      };
      TableView wanted = {{0, "/dev/null"}, {2, "/dev/null"}};
      for (const DescriptorMove& move : moves) wanted[move.target] = ObjectText(move.source);
      CheckTable(Spawn(Request({"/bin/sleep", "60"}, moves)), wanted);
    }
    SUBCASE("a step that is missing is seen by this test") {
      const LaunchRequest request = Request({"/bin/sleep", "60"});
      std::vector<DescriptorStep> steps = OrderDescriptorSteps({}, {0, 1, 2});
      steps.pop_back();
      const Result<pid_t> pid = PosixSpawn(request, steps);
      REQUIRE(pid.ok());
      CHECK(TableOf(pid.value()).count(high.get()) == 1);
      EndAndReap(pid.value());
    }
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("the highest number that is allowed can be passed, the next one cannot") {
  const Baseline before;
  {
    const std::vector<UniqueFd> ends = PipeEnds(2);
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const struct rlimit low = {256, limit.rlim_max};
    const LaunchRequest highest = Request({"/bin/sleep", "60"}, {{ends[0].get(), 255}});
    const LaunchRequest beyond = Request({"/bin/sleep", "60"}, {{ends[0].get(), 256}});
    TableView wanted = kNullChannels;
    wanted[255] = ObjectText(ends[0].get());
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    CheckTable(Spawn(highest), wanted);
    CheckRefused(beyond, "descriptor", EBADF);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);

    // Something is open above the limit, from before it was lowered: no step may close it.
    const UniqueFd above(fcntl(ends[1].get(), F_DUPFD, 256));
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    CheckRefused(highest, "descriptor", EBADF);
    // Below the limit there is room for the step that closes it.
    CheckTable(Spawn(Request({"/bin/sleep", "60"})), kNullChannels);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a C library that lacks a step: refused where the child would not be as asked") {
  const Baseline before;
  SpawnExtensions without = SpawnExtensions::Available();

  SUBCASE("closefrom") {
    without.add_close_from = nullptr;
    CheckRefused(Request({"/bin/true"}), "descriptor", ENOSYS, without);
    // On a lane everything else is close-on-exec, so that it is not needed.
    const Result<pid_t> pid =
        PosixSpawn(Request({"/bin/true"}), OrderLaneSteps({}, {0, 1, 2}), without);
    CHECK(ExitCode(pid) == 0);
  }
  SUBCASE("chdir") {
    without.add_chdir = nullptr;
    CHECK(ExitCode(Spawn(Request({"/bin/true"}), without)) == 0);
    LaunchRequest request = Request({"/bin/true"});
    request.working_directory = "/";
    CheckRefused(request, "cwd", ENOSYS, without);
  }
  SUBCASE("tcsetpgrp") {
    without.add_tcsetpgrp = nullptr;
    LaunchRequest request = Request({"/bin/true"});
    request.session = SessionMode::kGroup;
    CHECK(ExitCode(Spawn(request, without)) == 0);
    request.foreground_terminal = 0;
    CheckRefused(request, "terminal", ENOSYS, without);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("a C library without chdir: a lane changes its own directory, and its umask follows") {
  const Baseline before;
  SpawnExtensions without = SpawnExtensions::Available();
  without.add_chdir = nullptr;
  const std::string ours = LinkText("/proc/self/cwd");
  const mode_t mask = umask(0027);
  const auto says = [&](const std::string& directory, const std::string& condition) {
    LaunchRequest request = Shell(condition);
    request.working_directory = directory;
    return ExitCode(Spawn(request, without)) == 0;
  };
  std::promise<void> changed;
  std::promise<void> started;
  std::thread lane([&] {
    REQUIRE(TakeOwnDirectory() == 0);
    CHECK(says("/usr", "test $(pwd) = /usr && test $(umask) = 0027"));
    CHECK(says("/", "test $(pwd) = /"));
    CHECK(says("", "test $(pwd) = '" + ours + "'"));
    LaunchRequest nowhere = Request({"/bin/true"});
    nowhere.working_directory = "/nonexistent";
    CheckRefused(nowhere, "exec", ENOENT, without);
    umask(0077);
    started.set_value();
    changed.get_future().wait();
    CHECK(says("/", "test $(umask) = 0037"));
  });
  started.get_future().wait();
  // The lane has done neither to this thread.
  CHECK(LinkText("/proc/self/cwd") == ours);
  CHECK(umask(0037) == 0027);
  changed.set_value();
  lane.join();
  umask(mask);
  CHECK(before.Difference() == "");
}

TEST_CASE("each refusal has its errno and leaves nothing") {
  const Baseline before;
  {
    const TemporaryFile script("/dev/null");
    std::ofstream(script.path()) << "echo no interpreter is named\n";
    const TemporaryFile lost("/dev/null");
    std::ofstream(lost.path()) << "#!/nonexistent/interpreter\n";
    const struct {
      const char* path;
      int errno_value;
    } cases[] = {
        {"/nonexistent", ENOENT},   {"/etc/passwd", EACCES},          {"/etc", EACCES},
        {"/etc/passwd/x", ENOTDIR}, {script.path().c_str(), ENOEXEC}, {lost.path().c_str(), ENOENT},
    };
    for (const auto& [path, errno_value] : cases) {
      CAPTURE(path);
      CheckRefused(Request({path}), "exec", errno_value);
    }

    LaunchRequest missing = Request({"/bin/true"});
    missing.working_directory = "/nonexistent";
    CheckRefused(missing, "exec", ENOENT);
    missing.working_directory = "/etc/passwd";
    CheckRefused(missing, "exec", ENOTDIR);

    LaunchRequest large = Request({"/bin/true"});
    large.environment = Strings({"BIG=" + std::string(200'000, 'x')});
    CheckRefused(large, "exec", E2BIG);

    CheckRefused(Request({"/bin/true"}, {{999, 5}}), "exec", EBADF);
    CheckRefused(Request({"/bin/true"}, {{-1, 5}}), "descriptor", EBADF);
    CheckRefused(Request({"/bin/true"}, {{0, -1}}), "descriptor", EBADF);

    LaunchRequest no_terminal = Request({"/bin/true"});
    no_terminal.session = SessionMode::kGroup;
    no_terminal.foreground_terminal = 0;
    CheckRefused(no_terminal, "exec", ENOTTY);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("argv and the environment arrive as they are, and nothing else") {
  const Baseline before;
  LaunchRequest request = Request({"/bin/sleep", "60"});
  request.environment = Strings({"A=1", "EMPTY=", "SPACE= x\n"});
  const Result<pid_t> pid = Spawn(request);
  REQUIRE(pid.ok());
  const auto holds = [&pid](const char* file, const std::string& wanted) {
    // The parent goes on a moment before the kernel has put them in place.
    return Eventually([&] {
      std::ifstream stream("/proc/" + std::to_string(pid.value()) + "/" + file);
      return std::string(std::istreambuf_iterator<char>(stream), {}) == wanted;
    });
  };
  CHECK(holds("cmdline", std::string("/bin/sleep\0"
                                     "60\0",
                                     14)));
  CHECK(holds("environ", std::string("A=1\0EMPTY=\0SPACE= x\n\0", 21)));
  EndAndReap(pid.value());
  CHECK(before.Difference() == "");
}

TEST_CASE("the working directory, sessions and groups") {
  const Baseline before;
  LaunchRequest request = Request({"/bin/sleep", "60"});
  request.working_directory = "/usr/bin";
  for (SessionMode session : {SessionMode::kNew, SessionMode::kGroup, SessionMode::kInherit}) {
    request.session = session;
    const Result<pid_t> pid = Spawn(request);
    REQUIRE(pid.ok());
    CHECK(LinkText("/proc/" + std::to_string(pid.value()) + "/cwd") == "/usr/bin");
    CHECK(getsid(pid.value()) == (session == SessionMode::kNew ? pid.value() : getsid(0)));
    CHECK(getpgid(pid.value()) == (session == SessionMode::kInherit ? getpgrp() : pid.value()));
    EndAndReap(pid.value());
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("no signal is blocked or ignored in a child") {
  const Baseline before;
  // 32 and 33 are the C library's own.
  constexpr unsigned long long kLibrarys = 0x180000000ULL;
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction pipe_before;
  struct sigaction size_before;
  REQUIRE(sigaction(SIGPIPE, &ignore, &pipe_before) == 0);
  REQUIRE(sigaction(SIGXFSZ, &ignore, &size_before) == 0);
  sigset_t all;
  sigset_t mask_before;
  sigfillset(&all);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &all, &mask_before) == 0);
  const Result<pid_t> pid = Spawn(Request({"/bin/sleep", "60"}));
  REQUIRE(pthread_sigmask(SIG_SETMASK, &mask_before, nullptr) == 0);
  REQUIRE(pid.ok());
  for (const char* field : {"SigBlk", "SigIgn", "SigCgt"}) {
    CHECK((std::stoull(StatusField(pid.value(), field), nullptr, 16) & ~kLibrarys) == 0);
  }
  CHECK((std::stoull(StatusField("/proc/self", "SigIgn"), nullptr, 16) & (1ULL << (SIGPIPE - 1))) !=
        0);
  EndAndReap(pid.value());
  sigaction(SIGPIPE, &pipe_before, nullptr);
  sigaction(SIGXFSZ, &size_before, nullptr);
  CHECK(before.Difference() == "");
}

TEST_CASE("an executable that somebody writes to: tried again for a while") {
  const Baseline before;
  {
    SUBCASE("in vain") {
      const TemporaryFile file("/bin/true");
      const UniqueFd writer(open(file.path().c_str(), O_WRONLY | O_CLOEXEC));
      CheckRefused(Request({file.path()}), "exec", ETXTBSY);
    }
    SUBCASE("until the writer is done") {
      HeldExecutable held("/bin/true", O_RDWR);
      REQUIRE(held.Hold());
      std::promise<Result<pid_t>> spawned;
      std::thread spawner([&] { spawned.set_value(Spawn(Request({held.path()}))); });
      // The first attempt waits for the lease; let go, it finds a writer.
      CHECK(Eventually([&] { return held.IsWaitedFor(); }));
      held.LetGo();
      // Held again: the first attempt is over, and the next one waits here.
      CHECK(held.Hold());
      held.Close();
      const Result<pid_t> pid = spawned.get_future().get();
      spawner.join();
      CHECK(ExitCode(pid) == 0);
    }
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
