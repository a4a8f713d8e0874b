// Looks sockets up in the kernel's tables: by NETLINK_SOCK_DIAG, sock_diag(7), in our own network
// namespace, in /proc/<pid>/net in another's.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "core/socket_row.h"

namespace sallyport {

// Which rows are kept; what a table may hold beside them costs no memory.
struct SocketSelection {
  std::unordered_set<uint64_t> inodes;
  bool listeners = false;  // every listener as well
  int port = 0;            // and all of TCP and UDP with this local port, whatever their inode
};

// Appends what the tables of the calling thread's namespace have; rows that were found are taken
// out of `selection->inodes`. Refused where the system has no sock_diag: the caller then reads
// /proc.
Result<bool> FindSocketsByDiag(SocketSelection* selection, std::vector<SocketRow>* rows);

// The same for the namespace behind `network`, an open /proc/<pid>/ns/net, from a thread that
// enters it. Refused to all but the mighty (CAP_SYS_ADMIN there and here).
Result<bool> FindSocketsInside(int network, SocketSelection* selection,
                               std::vector<SocketRow>* rows);

// Only Unix sockets; where the system has no sock_diag, none.
void FindUnixByDiag(SocketSelection* selection, std::vector<SocketRow>* rows);

// The same from a process's /proc/<pid>/net. `process` is its directory. Tables that are not there
// hold nothing.
void FindSocketsInProc(int process, SocketSelection* selection, std::vector<SocketRow>* rows);

// Family, type and protocol of a socket that is in no table (one that was never bound), from the
// name that sockfs gives it as an extended attribute: "TCP", "UDPv6", "UNIX-STREAM", … False where
// the name says nothing.
bool DescribeProtocolName(const char* name, SocketRow* row);

}  // namespace sallyport
