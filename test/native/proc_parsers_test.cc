// The parsers of /proc and of sock_diag: what they make of real text, and that no bytes harm them.
#include <doctest/doctest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/proc_text.h"
#include "core/serving_evidence.h"
#include "core/socket_diag.h"
#include "core/socket_table_text.h"
#include "core/socket_tables.h"

namespace sallyport {
namespace {

const char kStat[] =
    "4242 (a (b) c) S 1 4242 4100 34816 4242 4194304 115 0 0 0 1 2 0 0 20 0 7 0 123456 1000 200 "
    "18446744073709551615 94000 94500 140000 0 0 0 0 4096 16386 1 0 0 17 1 0 0 0 0 0 95000 95100 "
    "96000 140100 140200 140200 140300 0\n";
const char kFdinfo[] =
    "pos:\t4096\nflags:\t02100002\nmnt_id:\t9\nino:\t77\nlock:\t1: FLOCK  ADVISORY  WRITE 4242 "
    "fd:00:123 0 EOF\ntfd:        5 events:       19 data: 5 pos:0 ino:3fb sdev:8\nPid:\t17\n";
const char kTcp[] =
    "   0: 0100007F:1F90 0200007F:0050 01 0000000A:0000000B 00:00000000 00000000  1000        0 "
    "12345 1 0000000000000000 100 0 0 10 0";
const char kTcp6[] =
    "   1: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
    "00000000:00000003 00:00000000 00000000     0        0 999 1 0000000000000000 100 0 0 10 0";
const char kUnix[] =
    "0000000000000000: 00000002 00000000 00010000 0001 01 31337 /run/a name with blanks";
const char kNetlink[] =
    "0000000000000000 15  812        00000002 0        0        0     2        0        4711";
const char kPacket[] = "0000000000000000 3      3    0003   2     1 0      0      815";
const char kCall[] = "288 0x3 0x0 0x0 0x80000 0x0 0x0 0x7ffd8 0x7f3a0\n";

TEST_CASE("stat") {
  StatFacts facts;
  REQUIRE(ParseStat(kStat, &facts));
  CHECK(facts.command == "a (b) c");
  CHECK(facts.state == 'S');
  CHECK(facts.parent == 1);
  CHECK(facts.session == 4100);
  CHECK(facts.threads == 7);
  CHECK(facts.start_time == 123456);
  CHECK(facts.image[0] == 94000);
  CHECK(facts.image[2] == 140100);
  CHECK_FALSE(facts.is_kernel_thread);
  CHECK_FALSE(facts.is_loading);
  CHECK_FALSE(ParseStat("1 (x", &facts));
  CHECK_FALSE(ParseStat("1 (x) S 2 3", &facts));
  CHECK_FALSE(ParseStat("", &facts));
}

TEST_CASE("stat in the midst of an exec") {
  auto with = [](const char* state, const char* flags, const char* code) {
    return std::string("7 (x) ") + state + " 1 7 7 0 7 " + flags +
           " 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 " + code + " 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";
  };
  const auto is_loading = [&with](const char* state, const char* flags, const char* code) {
    StatFacts facts;
    REQUIRE(ParseStat(with(state, flags, code), &facts));
    return facts.is_loading;
  };
  CHECK(is_loading("R", "4194304", "0"));
  CHECK_FALSE(is_loading("R", "4194304", "94000"));
  CHECK_FALSE(is_loading("R", "4194304", "1"));  // one that we may not trace
  CHECK_FALSE(is_loading("R", "4194308", "0"));  // exiting
  CHECK_FALSE(is_loading("Z", "4194304", "0"));
  CHECK_FALSE(is_loading("S", "2097152", "0"));  // a thread of the kernel
}

TEST_CASE("status") {
  CHECK(ParseEffectiveUid("Name:\tx\nUid:\t0\t65534\t0\t0\n") == 65534);
  CHECK(ParseEffectiveUid("Uid:\t0\t99999999999\t0\n") == -1);
  CHECK(ParseEffectiveUid("Name:\tx\n") == -1);
}

TEST_CASE("fdinfo") {
  FdinfoFacts facts;
  REQUIRE(ParseFdinfo(kFdinfo, &facts));
  CHECK(facts.offset == 4096);
  CHECK(facts.flags == 02100002);
  CHECK(facts.inode == 77);
  CHECK(facts.pidfd_target == 17);
  CHECK(facts.locks == std::vector<std::string>{"FLOCK  ADVISORY  WRITE 4242 fd:00:123 0 EOF"});
  CHECK(facts.epoll_targets == std::vector<int>{5});
  FdinfoFacts none;
  CHECK_FALSE(ParseFdinfo("pos:\t0\n", &none));
}

TEST_CASE("inodes") {
  uint64_t inode = 0;
  CHECK(ParseInode("socket:[18446744073709551615]", "socket:[", &inode));
  CHECK(inode == UINT64_MAX);
  CHECK_FALSE(ParseInode("socket:[18446744073709551616]", "socket:[", &inode));
  CHECK_FALSE(ParseInode("socket:[12", "socket:[", &inode));
  CHECK_FALSE(ParseInode("socket:[]", "socket:[", &inode));
  CHECK_FALSE(ParseInode("/tmp/socket:[12]", "socket:[", &inode));
}

TEST_CASE("socket tables") {
  SocketRow row;
  REQUIRE(ParseSocketLine(SocketTable::kInet, kTcp, &row));
  CHECK(row.local == "127.0.0.1:8080");
  CHECK(row.remote == "127.0.0.2:80");
  CHECK(row.state == kStateEstablished);
  CHECK(row.send_queue == 10);
  CHECK(row.receive_queue == 11);
  CHECK(row.uid == 1000);
  CHECK(row.inode == 12345);
  uint64_t inode = 0;
  int state = 0;
  REQUIRE(PeekInetLine(kTcp, &inode, &state));
  CHECK(inode == 12345);
  CHECK(state == kStateEstablished);
  row = SocketRow{};
  REQUIRE(ParseSocketLine(SocketTable::kInet6, kTcp6, &row));
  CHECK(row.local == "[::1]:80");
  CHECK(row.remote.empty());
  CHECK(row.state == kStateListen);
  CHECK(row.receive_queue == 3);
  CHECK(row.send_queue == -1);
  row = SocketRow{};
  REQUIRE(ParseSocketLine(SocketTable::kUnix, kUnix, &row));
  CHECK(row.local == "/run/a name with blanks");
  CHECK(row.state == kStateListen);
  CHECK(row.inode == 31337);
  row = SocketRow{};
  REQUIRE(ParseSocketLine(SocketTable::kNetlink, kNetlink, &row));
  CHECK(row.protocol == 15);
  CHECK(row.inode == 4711);
  row = SocketRow{};
  REQUIRE(ParseSocketLine(SocketTable::kPacket, kPacket, &row));
  CHECK(row.protocol == 3);
  CHECK(row.inode == 815);
  const char heading[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when";
  CHECK_FALSE(ParseSocketLine(SocketTable::kInet, heading, &row));
  CHECK_FALSE(ParseSocketLine(SocketTable::kUnix, "Num       RefCount Protocol Flags", &row));
}

TEST_CASE("system calls of threads") {
  ThreadCall call;
  REQUIRE(ParseThreadCall(kCall, &call));
  CHECK(call.number == 288);
  CHECK(call.arguments[0] == 3);
  CHECK(call.arguments[3] == 0x80000);
  CHECK_FALSE(ParseThreadCall("running\n", &call));
  CHECK_FALSE(ParseThreadCall("-1 0x7ff 0x7f3\n", &call));
}

// Whatever the bytes are, each parser ends, and reads and writes only what is its own; the
// sanitizers watch.
void FeedAll(const std::string& bytes) {
  StatFacts stat;
  ParseStat(bytes, &stat);
  ParseEffectiveUid(bytes);
  FdinfoFacts fdinfo;
  ParseFdinfo(bytes, &fdinfo);
  uint64_t inode = 0;
  ParseInode(bytes, "socket:[", &inode);
  ThreadCall call;
  ParseThreadCall(bytes, &call);
  for (SocketTable table : {SocketTable::kInet, SocketTable::kInet6, SocketTable::kUnix,
                            SocketTable::kNetlink, SocketTable::kPacket}) {
    SocketRow row;
    ParseSocketLine(table, bytes, &row);
  }
  int state = 0;
  PeekInetLine(bytes, &inode, &state);
  SocketSelection everything;
  everything.listeners = true;
  everything.port = 8080;
  // At any alignment, as an attribute may lie.
  const std::string shifted = "x" + bytes;
  for (int protocol : {IPPROTO_TCP, IPPROTO_UDP}) {
    SocketRow row;
    TakeInetMessage(shifted.data() + 1, bytes.size(), protocol, &everything, &row);
  }
  SocketRow row;
  TakeUnixMessage(shifted.data() + 1, bytes.size(), &everything, &row);
}

std::string UnixMessage() {
  std::string bytes(sizeof(unix_diag_msg), '\0');
  unix_diag_msg message = {};
  message.udiag_family = AF_UNIX;
  message.udiag_type = SOCK_STREAM;
  message.udiag_state = kStateListen;
  message.udiag_ino = 7;
  memcpy(bytes.data(), &message, sizeof message);
  bytes.resize(NLMSG_ALIGN(bytes.size()));
  const std::string name = "/run/x";
  nlattr attribute = {};
  attribute.nla_type = UNIX_DIAG_NAME;
  attribute.nla_len = static_cast<uint16_t>(NLA_HDRLEN + name.size());
  bytes.append(reinterpret_cast<const char*>(&attribute), sizeof attribute);
  bytes.append(name);
  return bytes;
}

TEST_CASE("sock_diag messages") {
  SocketSelection selection;
  selection.inodes = {7};
  SocketRow row;
  const std::string bytes = UnixMessage();
  REQUIRE(TakeUnixMessage(bytes.data(), bytes.size(), &selection, &row));
  CHECK(row.local == "/run/x");
  CHECK(row.state == kStateListen);
  CHECK(selection.inodes.empty());
  inet_diag_msg message = {};
  message.idiag_family = AF_INET;
  message.idiag_state = kStateTimeWait;
  message.id.idiag_sport = htons(8080);
  selection.port = 8080;
  row = SocketRow{};
  REQUIRE(TakeInetMessage(&message, sizeof message, IPPROTO_TCP, &selection, &row));
  CHECK(row.local == "0.0.0.0:8080");
  CHECK(row.remote.empty());
  CHECK_FALSE(TakeInetMessage(&message, sizeof message - 1, IPPROTO_TCP, &selection, &row));
}

TEST_CASE("random bytes") {
  std::mt19937 random(20240229);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    FeedAll(bytes);
  }
}

TEST_CASE("real text with some bytes changed, left out, doubled, or cut off") {
  inet_diag_msg message = {};
  message.idiag_family = AF_INET6;
  const std::vector<std::string> samples = {
      kStat,
      kFdinfo,
      kTcp,
      kTcp6,
      kUnix,
      kNetlink,
      kPacket,
      kCall,
      UnixMessage(),
      std::string(reinterpret_cast<const char*>(&message), sizeof message),
      "Uid:\t0\t0\t0\t0\n",
      "socket:[123]"};
  std::mt19937 random(31415);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = samples[random() % samples.size()];
    for (unsigned changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 8);
          break;
        case 2:
          bytes.insert(at, bytes.substr(at, random() % 16));
          break;
        default:
          bytes.resize(at);
      }
    }
    FeedAll(bytes);
  }
}

TEST_CASE("a long line without an end") {
  FeedAll(std::string(1 << 20, '9'));
  FeedAll(std::string(1 << 20, ' '));
  FeedAll(std::string(1 << 16, '('));
}

}  // namespace
}  // namespace sallyport
