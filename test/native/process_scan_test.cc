// Scans of this process, whose descriptors are known: whole, by several threads, filtered, refused.
#include "core/process_scan.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "core/descriptor_table.h"
#include "core/listener_release.h"
#include "core/socket_scan.h"
#include "core/unique_fd.h"

namespace sallyport {
namespace {

ScannedProcess ScanSelf(ScanRequest request = {}) {
  request.pids = {getpid()};
  return ScanProcesses(request).front();
}

std::vector<int> NumbersOf(const ScannedProcess& process) {
  std::vector<int> numbers;
  for (const ScannedDescriptor& one : process.descriptors) {
    if (one.thread == 0) numbers.push_back(one.fd);
  }
  return numbers;
}

const ScannedDescriptor& Find(const ScannedProcess& process, int fd) {
  const auto found = std::find_if(process.descriptors.begin(), process.descriptors.end(),
                                  [fd](const ScannedDescriptor& one) { return one.fd == fd; });
  REQUIRE(found != process.descriptors.end());
  return *found;
}

uint64_t InodeOf(int fd) {
  struct stat info;
  REQUIRE(fstat(fd, &info) == 0);
  return info.st_ino;
}

UniqueFd Listen(sockaddr_in* address) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof *address;
  auto* generic = reinterpret_cast<sockaddr*>(address);
  REQUIRE(bind(listener.get(), generic, length) == 0);
  REQUIRE(listen(listener.get(), 5) == 0);
  REQUIRE(getsockname(listener.get(), generic, &length) == 0);
  return listener;
}

TEST_CASE("this process: what is open, and none of what the scan opens") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const ScannedProcess process = ScanSelf();
  CHECK(process.refusal == ScanRefusal::kNone);
  CHECK(NumbersOf(process) == ListDescriptors().value());
  CHECK(process.facts.parent == getppid());
  CHECK(process.facts.session == getsid(0));
  CHECK(process.uid == geteuid());
  CHECK_FALSE(process.arguments.empty());
  CHECK(Find(process, reading.get()).kind == ObjectKind::kPipe);
  CHECK(Find(process, reading.get()).access == ObjectAccess::kRead);
  CHECK(Find(process, reading.get()).close_on_exec == 0);
  CHECK(Find(process, writing.get()).access == ObjectAccess::kWrite);
  CHECK(Find(process, writing.get()).inode == InodeOf(ends[0]));
  CHECK(Find(process, file.get()).close_on_exec == 1);
  CHECK(Find(process, file.get()).inode == InodeOf(file.get()));
}

TEST_CASE("a table that several threads share: the same, in order, each once") {
  rlimit limit;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  std::vector<UniqueFd> many;
  for (int i = 0; i < 1500; ++i) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    many.emplace_back(ends[0]);
    many.emplace_back(ends[1]);
  }
  for (int round = 0; round < 10; ++round) {
    const ScannedProcess process = ScanSelf();
    CHECK(process.refusal == ScanRefusal::kNone);
    REQUIRE(NumbersOf(process) == ListDescriptors().value());
    for (const UniqueFd& one : many) {
      REQUIRE(Find(process, one.get()).kind == ObjectKind::kSocket);
    }
    REQUIRE(Find(process, many.back().get()).inode == InodeOf(many.back().get()));
  }
  many.clear();
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("only what was asked for") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  ScanRequest request;
  request.only = {InodeOf(ends[0])};
  const ScannedProcess process = ScanSelf(request);
  CHECK(NumbersOf(process) == std::vector<int>{ends[0], ends[1]});
  request.only = {UINT64_MAX};
  CHECK(ScanSelf(request).descriptors.empty());
  ScanRequest facts;
  facts.facts_only = true;
  CHECK(ScanSelf(facts).descriptors.empty());
  CHECK(ScanSelf(facts).facts.parent == getppid());
}

TEST_CASE("a process that is not there is a refusal, and none of all") {
  ScanRequest request;
  request.pids = {1 << 22};
  const ScannedProcess process = ScanProcesses(request).front();
  CHECK(process.refusal == ScanRefusal::kProcess);
  CHECK(process.errno_value == ENOENT);
  request.every = true;
  for (const ScannedProcess& one : ScanProcesses(request)) CHECK(one.pid != 1 << 22);
}

TEST_CASE("sockets by the kernel's tables, and a listener taken from a process") {
  sockaddr_in address;
  const UniqueFd listener = Listen(&address);
  const UniqueFd unbound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::vector<ScannedProcess> processes = {ScanSelf()};
  const SocketScan sockets = ResolveSockets({}, &processes);
  const ScannedProcess& process = processes.front();
  CHECK(Find(process, listener.get()).kind == ObjectKind::kListener);
  CHECK(Find(process, unbound.get()).kind == ObjectKind::kSocket);
  const SocketRow& row = sockets.rows[sockets.by_inode.at(InodeOf(listener.get()))];
  CHECK(row.local == "127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  CHECK(row.send_queue == 5);
  const SocketRow& bare = sockets.rows[sockets.by_inode.at(InodeOf(unbound.get()))];
  CHECK(bare.family == AF_INET);
  CHECK(bare.state == kStateClosed);

  const uint64_t inode = InodeOf(listener.get());
  const uint64_t start = process.facts.start_time;
  CHECK(ReleaseListener(getpid(), start + 1, listener.get(), inode).error().errno_value == ESRCH);
  CHECK(ReleaseListener(getpid(), start, listener.get(), inode + 1).error().errno_value == ENOENT);
  CHECK(
      ReleaseListener(getpid(), start, unbound.get(), InodeOf(unbound.get())).error().errno_value ==
      EINVAL);
  CHECK(ReleaseListener(getpid(), start, 19999, inode).error().errno_value == EBADF);
  CHECK(ReleaseListener(getpid(), start, listener.get(), inode).ok());
  int listens = 1;
  socklen_t length = sizeof listens;
  REQUIRE(getsockopt(listener.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0);
  CHECK(listens == 0);
  const UniqueFd next(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(next.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  CHECK(bind(next.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(listen(next.get(), 1) == 0);
}

}  // namespace
}  // namespace sallyport
