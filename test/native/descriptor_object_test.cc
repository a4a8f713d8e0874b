// What a descriptor is: real objects of every kind, and whatever text the kernel may come to print.
#include "core/descriptor_object.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "core/socket_facts.h"
#include "core/system_calls.h"
#include "core/unique_fd.h"
#include "support/held_executable.h"
#include "support/process_facts.h"

namespace sallyport {
namespace {

DescriptorObject Describe(const UniqueFd& fd) {
  REQUIRE(fd.valid());
  const Result<DescriptorObject> object = DescribeDescriptor(fd.get());
  REQUIRE(object.ok());
  struct stat info;
  REQUIRE(fstat(fd.get(), &info) == 0);
  CHECK(object.value().dev == info.st_dev);
  CHECK(object.value().inode == info.st_ino);
  CHECK(object.value().flags == fcntl(fd.get(), F_GETFL));
  CHECK(object.value().target == LinkText("/proc/self/fd/" + std::to_string(fd.get())));
  return object.value();
}

std::string Kind(const UniqueFd& fd) { return KindName(Describe(fd).kind); }

UniqueFd Open(const std::string& path, int flags) {
  return UniqueFd(open(path.c_str(), flags | O_CLOEXEC));
}

UniqueFd Socket(int family, int type) { return UniqueFd(socket(family, type | SOCK_CLOEXEC, 0)); }

template <class Address>
bool Bind(const UniqueFd& fd, const Address& address, socklen_t length = sizeof(Address)) {
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

socklen_t UnixLength(const std::string& path) {
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
}

}  // namespace

TEST_CASE("files, directories, links, deleted files") {
  const TemporaryFile file("/etc/passwd");
  CHECK(Kind(Open(file.path(), O_RDONLY)) == "file");
  CHECK(Kind(Open(file.path(), O_PATH)) == "file");
  CHECK(Kind(Open("/", O_RDONLY | O_DIRECTORY)) == "directory");
  CHECK(Kind(Open("/proc/self/exe", O_PATH | O_NOFOLLOW)) == "symlink");
  const UniqueFd deleted = Open(file.path(), O_RDWR);
  REQUIRE(unlink(file.path().c_str()) == 0);
  CHECK(Kind(deleted) == "file");
  CHECK(Describe(deleted).target.find("(deleted)") != std::string::npos);
}

TEST_CASE("access is what the descriptor was opened for") {
  const auto access = [](int flags) {
    return std::string(AccessName(Describe(Open("/dev/null", flags)).access));
  };
  CHECK(access(O_RDONLY) == "read");
  CHECK(access(O_WRONLY) == "write");
  CHECK(access(O_WRONLY | O_APPEND) == "write");
  CHECK(access(O_RDWR) == "both");
  CHECK(access(O_PATH) == "none");
}

TEST_CASE("pipes and FIFOs") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  CHECK(Kind(read_end) == "pipe");
  CHECK(Kind(write_end) == "pipe");
  CHECK(Describe(read_end).access == ObjectAccess::kRead);
  CHECK(Describe(write_end).access == ObjectAccess::kWrite);

  const TemporaryFile place("/dev/null");
  REQUIRE(unlink(place.path().c_str()) == 0);
  REQUIRE(mkfifo(place.path().c_str(), 0600) == 0);
  CHECK(Kind(Open(place.path(), O_RDWR)) == "fifo");
}

TEST_CASE("devices and terminals") {
  CHECK(Kind(Open("/dev/null", O_RDWR)) == "char-device");
  CHECK(Kind(Open("/dev/urandom", O_RDONLY)) == "char-device");
  const UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(master.valid());
  CHECK(Kind(master) == "tty");
  REQUIRE(grantpt(master.get()) == 0);
  REQUIRE(unlockpt(master.get()) == 0);
  std::array<char, 64> name;
  REQUIRE(ptsname_r(master.get(), name.data(), name.size()) == 0);
  CHECK(Kind(Open(name.data(), O_RDWR | O_NOCTTY)) == "tty");
  CHECK(Kind(Open(name.data(), O_PATH)) == "tty");
}

TEST_CASE("anonymous inodes") {
  const auto other = [](UniqueFd fd) { return Kind(fd); };
  CHECK(other(UniqueFd(memfd_create("x", MFD_CLOEXEC))) == "memfd");
  CHECK(other(UniqueFd(PidfdOpen(getpid()))) == "pidfd");
  CHECK(other(UniqueFd(eventfd(0, EFD_CLOEXEC))) == "eventfd");
  CHECK(other(UniqueFd(epoll_create1(EPOLL_CLOEXEC))) == "epoll");
  CHECK(other(UniqueFd(inotify_init1(IN_CLOEXEC))) == "inotify");
  CHECK(other(UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC))) == "timerfd");
  sigset_t none;
  sigemptyset(&none);
  CHECK(other(UniqueFd(signalfd(-1, &none, SFD_CLOEXEC))) == "signalfd");
  CHECK(other(Open("/proc/self/ns/net", O_RDONLY)) == "namespace");
  CHECK(other(Open("/proc/self/ns/mnt", O_RDONLY)) == "namespace");
  CHECK(other(Open("/proc/self/status", O_RDONLY)) == "file");
  // A file that is named like a memfd has a link that says the same, but a name in a directory.
  CHECK(ClassifyObject(S_IFREG | 0600, "/memfd:x", false) == ObjectKind::kFile);
}

TEST_CASE("what not every kernel or user may open") {
  // By the text alone, as the kernel prints it.
  const auto named = [](mode_t mode, const std::string& target) {
    return std::string(KindName(ClassifyObject(mode, target, false)));
  };
  CHECK(named(S_IFBLK | 0600, "/dev/sda") == "block-device");
  CHECK(named(0600, "anon_inode:[io_uring]") == "io_uring");
  CHECK(named(0600, "anon_inode:bpf-map") == "bpf");
  CHECK(named(0600, "anon_inode:bpf-prog") == "bpf");
  CHECK(named(0600, "anon_inode:bpf_link") == "bpf");
  CHECK(named(0600, "anon_inode:[fanotify]") == "fanotify");
  CHECK(named(0600, "anon_inode:[pidfd]") == "pidfd");
  CHECK(named(S_IFREG | 0600, "pidfd:[1234]") == "pidfd");
  CHECK(named(S_IFREG | 0444, "net:[4026531840]") == "namespace");
  CHECK(named(S_IFREG | 0600, "anon_inode:[userfaultfd]") == "other");
  CHECK(named(0600, "anon_inode:[perf_event]") == "other");
  CHECK(named(S_IFCHR | 0600, "/dev/pts/3") == "tty");
  CHECK(named(S_IFREG | 0600, "/srv/a:[b]") == "file");

  // And for real, where it is allowed.
  std::array<char, 128> parameters = {};  // struct io_uring_params
  const UniqueFd ring(static_cast<int>(syscall(425, 1, parameters.data())));
  if (ring.valid()) CHECK(Kind(ring) == "io_uring");
  const UniqueFd fanotify(fanotify_init(FAN_CLOEXEC, O_RDONLY));
  if (fanotify.valid()) CHECK(Kind(fanotify) == "fanotify");
  const TemporaryFile place("/dev/null");
  REQUIRE(unlink(place.path().c_str()) == 0);
  if (mknod(place.path().c_str(), S_IFBLK | 0600, makedev(7, 0)) == 0) {
    CHECK(Kind(Open(place.path(), O_PATH)) == "block-device");
  }
}

TEST_CASE("internet sockets say where they are bound and whether they listen") {
  const UniqueFd unbound = Socket(AF_INET, SOCK_STREAM);
  CHECK(Kind(unbound) == "socket");
  CHECK(Describe(unbound).socket->local == "0.0.0.0:0");
  CHECK(Describe(unbound).socket->remote == "");
  CHECK(Describe(unbound).socket->protocol == IPPROTO_TCP);

  const UniqueFd listener = Socket(AF_INET, SOCK_STREAM);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(Bind(listener, address));
  CHECK(Kind(listener) == "socket");
  REQUIRE(listen(listener.get(), 1) == 0);
  CHECK(Kind(listener) == "listener");
  const SocketFacts facts = *Describe(listener).socket;
  CHECK(facts.family == AF_INET);
  CHECK(facts.type == SOCK_STREAM);
  CHECK(facts.listening);
  CHECK(facts.local.rfind("127.0.0.1:", 0) == 0);
  CHECK(facts.local != "127.0.0.1:0");
  CHECK(facts.remote == "");

  socklen_t length = sizeof address;
  REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  const UniqueFd client = Socket(AF_INET, SOCK_STREAM);
  REQUIRE(connect(client.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  CHECK(Kind(client) == "socket");
  CHECK(Describe(client).socket->remote == facts.local);

  CHECK(Describe(Socket(AF_INET, SOCK_DGRAM)).socket->protocol == IPPROTO_UDP);
  sockaddr_storage six = {};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(six);
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(80);
  CHECK(FormatAddress(six, sizeof v6) == "[::1]:80");
}

TEST_CASE("local sockets: by path, abstract, unnamed") {
  const TemporaryFile place("/dev/null");
  REQUIRE(unlink(place.path().c_str()) == 0);
  const UniqueFd named = Socket(AF_UNIX, SOCK_STREAM);
  REQUIRE(Bind(named, UnixAddress(place.path()), UnixLength(place.path())));
  REQUIRE(listen(named.get(), 1) == 0);
  CHECK(Kind(named) == "listener");
  CHECK(Describe(named).socket->local == place.path());

  const std::string abstract("\0sallyport\0test", 15);
  const UniqueFd hidden = Socket(AF_UNIX, SOCK_DGRAM);
  REQUIRE(Bind(hidden, UnixAddress(abstract), UnixLength(abstract)));
  CHECK(Kind(hidden) == "socket");
  CHECK(Describe(hidden).socket->local == "@sallyport@test");

  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
  const UniqueFd one(pair[0]);
  const UniqueFd other(pair[1]);
  CHECK(Kind(one) == "socket");
  CHECK(Describe(one).socket->local == "");
  CHECK(Describe(one).socket->type == SOCK_SEQPACKET);
  // A name that fills the field has no NUL behind it.
  const std::string longest(sizeof(sockaddr_un::sun_path), 'x');
  sockaddr_storage full = {};
  const sockaddr_un address = UnixAddress(longest);
  memcpy(&full, &address, sizeof address);
  CHECK(FormatAddress(full, sizeof address) == longest);
}

TEST_CASE("a number that is not open is refused") {
  for (int fd : {-1, 12'345, 1 << 30}) {
    const Result<DescriptorObject> refused = DescribeDescriptor(fd);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().errno_value == EBADF);
    CHECK(std::string(refused.error().stage) == "descriptor");
  }
}

TEST_CASE("no text of a link, no mode and no address is too odd") {
  std::mt19937 random(11);
  const char* const starts[] = {"",        "anon_inode:", "anon_inode:[", "pipe:[", "/memfd:",
                                "socket:", "pidfd:",      "net:[",        ":[",     "/dev/tty"};
  for (int round = 0; round < 200'000; ++round) {
    std::string target = starts[random() % std::size(starts)];
    const size_t length = random() % 24;
    for (size_t i = 0; i < length; ++i) {
      // Mostly what the classifier looks for.
      constexpr char kTelling[] = ":[]/ anon_inode";
      target += random() % 3 == 0 ? static_cast<char>(random())
                                  : kTelling[random() % (sizeof kTelling - 1)];
    }
    const ObjectKind kind =
        ClassifyObject(static_cast<mode_t>(random()), target, random() % 2 == 0);
    if (std::string(KindName(kind)).empty()) FAIL("a kind without a name");
  }
  for (int round = 0; round < 50'000; ++round) {
    sockaddr_storage address;
    auto* const bytes = reinterpret_cast<unsigned char*>(&address);
    for (size_t i = 0; i < sizeof address; ++i) bytes[i] = static_cast<unsigned char>(random());
    const sa_family_t families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
    if (random() % 8 != 0) address.ss_family = families[random() % std::size(families)];
    const auto length = static_cast<socklen_t>(random() % (sizeof address + 1));
    if (FormatAddress(address, length).size() > sizeof address) FAIL("more than there was");
  }
}

}  // namespace sallyport
