// The process's own table: listed, held, sealed.
#include "core/descriptor_table.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "support/pipes_by_name.h"
#include "support/process_facts.h"
#include "support/standard_channels.h"

namespace sallyport {
namespace {

UniqueFd OpenFile(int flags = 0) { return UniqueFd(open("/etc/passwd", O_RDONLY | flags)); }

int FirstFree() { return UniqueFd(dup(2)).get(); }

std::vector<int> Numbers(const TableView& table) {
  std::vector<int> numbers;
  for (const auto& [fd, target] : table) numbers.push_back(fd);
  return numbers;
}

bool IsSealed(int fd) { return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }

}  // namespace

TEST_CASE("the list is complete, ascending, and without the number that is used for looking") {
  const UniqueFd low = OpenFile();
  const UniqueFd high(fcntl(low.get(), F_DUPFD_CLOEXEC, 700));
  REQUIRE(high.valid());
  const Result<std::vector<int>> listed = ListDescriptors();
  REQUIRE(listed.ok());
  CHECK(listed.value() == Numbers(TableOf("/proc/self")));
  CHECK(std::is_sorted(listed.value().begin(), listed.value().end()));
  CHECK(listed.value().back() == high.get());
}

TEST_CASE("at the limit the list is refused") {
  struct rlimit limit;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(DescriptorLimit() == static_cast<long>(limit.rlim_cur));
  const struct rlimit low = {3, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(DescriptorLimit() == 3);
  const Result<std::vector<int>> refused = ListDescriptors();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().errno_value == EMFILE);
  CHECK(refused.error().path == "/proc/self/fd");
}

TEST_CASE("held: a copy of each, above 2, sealed, the same object") {
  const Baseline before;
  {
    const std::vector<UniqueFd> ends = PipeEnds(4);
    for (unsigned closed = 0; closed < 8; ++closed) {
      CAPTURE(closed);
      const StandardChannelsClosed without(closed);
      // One of them twice.
      const std::vector<int> numbers = {ends[3].get(), ends[0].get(), ends[3].get()};
      const Result<std::vector<HeldDescriptor>> held = HoldDescriptors(numbers);
      REQUIRE(held.ok());
      REQUIRE(held.value().size() == 3);
      for (size_t i = 0; i < numbers.size(); ++i) {
        const HeldDescriptor& copy = held.value()[i];
        CHECK(copy.fd.get() > 2);
        CHECK(copy.fd.get() != numbers[i]);
        CHECK(IsSealed(copy.fd.get()));
        CHECK(ObjectText(copy.fd.get()) == ObjectText(numbers[i]));
        CHECK(copy.object.target == ObjectText(numbers[i]));
      }
    }
    CHECK(HoldDescriptors({}).value().empty());
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("one that is not open is named, and nothing stays held") {
  const Baseline before;
  {
    const UniqueFd file = OpenFile(O_CLOEXEC);
    const int free = FirstFree();
    // The copies made for the others would land on these very numbers.
    const std::vector<int> cases[] = {
        {free},
        {file.get(), free},
        {free, file.get()},
        {file.get(), file.get(), free + 1},
        {file.get(), free, free + 1, free + 2},
    };
    for (const std::vector<int>& numbers : cases) {
      const Result<std::vector<HeldDescriptor>> refused = HoldDescriptors(numbers);
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().errno_value == EBADF);
      CHECK(std::string(refused.error().stage) == "descriptor");
      CHECK(std::stoi(refused.error().path) >= free);
      CHECK(FirstFree() == free);
    }
    CHECK(HoldDescriptors({-1}).error().path == "-1");
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("at the limit holding is refused, and nothing stays held") {
  const Baseline before;
  {
    const UniqueFd file = OpenFile(O_CLOEXEC);
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const int free = FirstFree();
    // Room for two copies only, and each is described while it is made.
    const struct rlimit low = {static_cast<rlim_t>(free + 2), limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    const Result<std::vector<HeldDescriptor>> two = HoldDescriptors({file.get(), 2});
    const bool fits = two.ok();
    {
      const Result<std::vector<HeldDescriptor>> refused = HoldDescriptors({file.get(), 2, 1});
      CHECK_FALSE(refused.ok());
      CHECK(refused.error().errno_value == EMFILE);
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(fits);
  }
  CHECK(before.Difference() == "");
}

TEST_CASE("sealed: what was open and unsealed, by kind, past every gap, and never 0, 1 or 2") {
  const Baseline before;
  {
    // Whatever this program was started with.
    REQUIRE(SealDescriptors({SealKinds::kAll, {}, false}).ok());
    const UniqueFd file = OpenFile();
    const UniqueFd high(fcntl(file.get(), F_DUPFD, 900));
    const UniqueFd sealed_before = OpenFile(O_CLOEXEC);
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    const UniqueFd one(pair[0]);
    const UniqueFd other(fcntl(pair[1], F_DUPFD, 500));
    close(pair[1]);
    const bool standard[] = {IsSealed(0), IsSealed(1), IsSealed(2)};

    const auto numbers = [](const Result<std::vector<OpenDescriptor>>& sealed) {
      REQUIRE(sealed.ok());
      std::vector<int> fds;
      for (const OpenDescriptor& descriptor : sealed.value()) {
        CHECK(descriptor.close_on_exec);
        CHECK(IsSealed(descriptor.fd));
        CHECK(descriptor.object.target == ObjectText(descriptor.fd));
        fds.push_back(descriptor.fd);
      }
      return fds;
    };
    CHECK(numbers(SealDescriptors({SealKinds::kSockets, {}, false})) ==
          std::vector<int>{one.get(), other.get()});
    CHECK_FALSE(IsSealed(file.get()));
    CHECK(numbers(SealDescriptors({SealKinds::kAll, {}, false})) ==
          std::vector<int>{file.get(), high.get()});
    CHECK(numbers(SealDescriptors({SealKinds::kAll, {}, false})).empty());
    for (int fd = 0; fd <= 2; ++fd) CHECK(IsSealed(fd) == standard[fd]);
  }
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
