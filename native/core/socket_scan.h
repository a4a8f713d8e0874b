// Says of the sockets of scanned processes what the kernel's tables say of them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/process_scan.h"
#include "core/socket_row.h"

namespace sallyport {

struct SocketScan {
  std::vector<SocketRow> rows;
  std::unordered_map<uint64_t, size_t> by_inode;
  // The inode of the network namespace that rows[i] is from; 0 where only the socket itself was
  // asked.
  std::vector<uint64_t> namespaces;
  uint64_t own_network = 0;
};

struct SocketWish {
  bool listeners = false;  // also listeners that no scanned process has
  int port = 0;            // also all of TCP and UDP with this local port: TIME_WAIT has no process
};

// Sockets are looked up in the network namespace of the process that holds them, and those that
// are not there in our own. Sockets that listen become of kind kListener.
SocketScan ResolveSockets(const SocketWish& wish, std::vector<ScannedProcess>* processes);

}  // namespace sallyport
