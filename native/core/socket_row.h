// One socket as the kernel's tables have it.
#pragma once

#include <cstdint>
#include <string>

namespace sallyport {

// TCP_* of netinet/tcp.h, which the kernel uses for every family. A bound socket that neither
// listens nor is connected is its own since kernel 6.8.
constexpr int kStateEstablished = 1;
constexpr int kStateTimeWait = 6;
constexpr int kStateClosed = 7;
constexpr int kStateListen = 10;
constexpr int kStateBoundInactive = 13;

struct SocketRow {
  uint64_t inode = 0;
  int family = 0;    // AF_*
  int type = 0;      // SOCK_*, 0 where it is not known
  int protocol = 0;  // IPPROTO_*, or NETLINK_*, or an Ethernet protocol
  int state = 0;     // TCP_*, 0 where it is not known
  // Bytes; of a listener connections waiting, and how many may. -1 where the kernel does not tell.
  int64_t receive_queue = -1;
  int64_t send_queue = -1;
  int64_t uid = -1;
  uint64_t peer = 0;   // inode of a Unix socket's other end, 0 where the kernel does not tell
  std::string local;   // as FormatAddress() has it
  std::string remote;  // likewise
};

}  // namespace sallyport
