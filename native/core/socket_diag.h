// Dumps socket tables of the calling thread's network namespace by NETLINK_SOCK_DIAG, sock_diag(7).
#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "core/socket_row.h"
#include "core/unique_fd.h"

struct nlmsghdr;

namespace sallyport {

struct SocketSelection;

class SocketDiag {
 public:
  static Result<SocketDiag> Open();

  // 0, or the errno with which the kernel refuses this dump. Rows are kept as
  // FindSocketsByDiag() says.
  int DumpInet(int family, int protocol, SocketSelection* selection, std::vector<SocketRow>* rows);
  int DumpUnix(SocketSelection* selection, std::vector<SocketRow>* rows);

 private:
  explicit SocketDiag(UniqueFd socket) : socket_(std::move(socket)) {}
  template <class Visit>
  int Dump(const void* request, size_t size, Visit visit);

  UniqueFd socket_;
};

// One message of a dump. Pure: a message of any length and content gives a row or none. True where
// the selection keeps it.
bool TakeInetMessage(const void* payload, size_t size, int protocol, SocketSelection* selection,
                     SocketRow* row);
bool TakeUnixMessage(const void* payload, size_t size, SocketSelection* selection, SocketRow* row);

}  // namespace sallyport
