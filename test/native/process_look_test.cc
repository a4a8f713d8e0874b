// One look at a process: this one, whose table and ids are known by other means.
#include "core/process_look.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>

#include "core/unique_fd.h"

namespace sallyport {
namespace {

TEST_CASE("what is seen of a process is what it has") {
  const UniqueFd kept(open("/dev/null", O_RDWR));
  const UniqueFd closing(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const Result<SeenProcess> seen = LookAtProcess(getpid(), {closing.get()});
  REQUIRE(seen.ok());
  CHECK(seen.value().uids[1] == geteuid());
  CHECK(seen.value().gids[0] == getgid());
  CHECK(seen.value().session == getsid(0));
  CHECK(seen.value().group == getpgrp());
  CHECK(seen.value().parent == getppid());
  CHECK(ParentOf(getpid()) == getppid());
  struct stat directory;
  REQUIRE(stat(".", &directory) == 0);
  CHECK(seen.value().directory_inode == directory.st_ino);
  const auto find = [&seen](int fd) {
    return *std::find_if(seen.value().descriptors.begin(), seen.value().descriptors.end(),
                         [fd](const SeenDescriptor& each) { return each.fd == fd; });
  };
  CHECK(find(kept.get()).is_null);
  CHECK_FALSE(find(kept.get()).close_on_exec);
  CHECK(find(kept.get()).access == ObjectAccess::kBoth);
  CHECK(find(closing.get()).close_on_exec);
  CHECK_FALSE(find(closing.get()).is_null);
  struct stat status;
  REQUIRE(fstat(closing.get(), &status) == 0);
  CHECK(find(closing.get()).inode == status.st_ino);
  CHECK(find(other.get()).close_on_exec);
  CHECK(find(other.get()).target.empty());
}

TEST_CASE("nothing stays open after a look") {
  const auto count = [] {
    int open_numbers = 0;
    for (int fd = 0; fd < 256; ++fd) open_numbers += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return open_numbers;
  };
  const int before = count();
  REQUIRE(LookAtProcess(getpid(), {}).ok());
  CHECK(count() == before);
}

TEST_CASE("a process that is not there is a refusal with its path") {
  const Result<SeenProcess> seen = LookAtProcess(0x3fffffff, {});
  REQUIRE_FALSE(seen.ok());
  CHECK(seen.error().errno_value == ENOENT);
  CHECK(seen.error().path == "/proc/1073741823");
}

TEST_CASE("memory is read as it is, and what is not mapped is a refusal") {
  const std::string text = "read by another way";
  const Result<std::string> memory =
      ReadMemory(getpid(), reinterpret_cast<uint64_t>(text.data()), text.size());
  REQUIRE(memory.ok());
  CHECK(memory.value() == text);
  CHECK_FALSE(ReadMemory(getpid(), 16, 8).ok());
}

TEST_CASE("status: all four lines, or a refusal; any bytes") {
  SeenProcess seen;
  CHECK(ParseStatus(
      "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nNoNewPrivs:\t1\n", &seen));
  CHECK(seen.uids == Ids{1, 2, 3, 4});
  CHECK(seen.groups == std::vector<uint64_t>{9, 10});
  CHECK(seen.no_new_privileges);
  SeenProcess partial;
  CHECK_FALSE(ParseStatus("Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t\n", &partial));
  CHECK_FALSE(ParseStatus("Uid:\t1\t2\nGid:\t5\t6\t7\t8\nGroups:\t\nNoNewPrivs:\t0\n", &partial));
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = "UidGroupsNoNewPrivs:\t\n 0123456789"[random() % 34];
    SeenProcess any;
    ParseStatus(bytes, &any);
  }
}

}  // namespace
}  // namespace sallyport
