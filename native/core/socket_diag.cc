// Dumps socket tables of the calling thread's network namespace by NETLINK_SOCK_DIAG, sock_diag(7).
#include "core/socket_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "core/socket_facts.h"
#include "core/socket_tables.h"

namespace sallyport {

namespace {

constexpr uint32_t kAllStates = 0xffffffff;

std::string InetAddress(int family, const void* bytes, uint16_t port) {
  sockaddr_storage storage = {};
  storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    memcpy(&v6.sin6_addr, bytes, sizeof v6.sin6_addr);
    v6.sin6_port = port;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    memcpy(&v4.sin_addr, bytes, sizeof v4.sin_addr);
    v4.sin_port = port;
  }
  return FormatAddress(storage, sizeof storage);
}

bool IsUnspecified(const inet_diag_sockid& id) {
  return id.idiag_dport == 0 && std::all_of(std::begin(id.idiag_dst), std::end(id.idiag_dst),
                                            [](uint32_t word) { return word == 0; });
}

// Calls visit(type, data, size) for each attribute; a malformed one ends the walk.
template <class Visit>
void WalkAttributes(const char* data, size_t size, Visit visit) {
  while (size >= sizeof(nlattr)) {
    nlattr header;
    memcpy(&header, data, sizeof header);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > size) return;
    visit(header.nla_type, data + NLA_HDRLEN, static_cast<size_t>(header.nla_len) - NLA_HDRLEN);
    const size_t step = std::min<size_t>(NLA_ALIGN(header.nla_len), size);
    data += step;
    size -= step;
  }
}

template <class T>
bool ReadAs(const char* data, size_t size, T* value) {
  if (size < sizeof *value) return false;
  memcpy(value, data, sizeof *value);
  return true;
}

void TakeUnixName(const char* data, size_t size, SocketRow* row) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(size, sizeof address.sun_path);
  memcpy(address.sun_path, data, length);
  sockaddr_storage storage = {};
  memcpy(&storage, &address, sizeof address);
  row->local =
      FormatAddress(storage, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

}  // namespace

bool TakeInetMessage(const void* payload, size_t size, int protocol, SocketSelection* selection,
                     SocketRow* row) {
  inet_diag_msg message;
  if (!ReadAs(static_cast<const char*>(payload), size, &message)) return false;
  const bool wanted = message.idiag_inode != 0 && selection->inodes.erase(message.idiag_inode) != 0;
  const bool listens = message.idiag_state == kStateListen;
  const bool at_port = selection->port != 0 && ntohs(message.id.idiag_sport) == selection->port;
  if (!wanted && !at_port && !(selection->listeners && listens)) return false;
  row->inode = message.idiag_inode;
  row->family = message.idiag_family;
  row->type = protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
  row->protocol = protocol;
  row->state = message.idiag_state;
  row->receive_queue = message.idiag_rqueue;
  row->send_queue = message.idiag_wqueue;
  row->uid = message.idiag_uid;
  row->local = InetAddress(row->family, message.id.idiag_src, message.id.idiag_sport);
  if (!IsUnspecified(message.id)) {
    row->remote = InetAddress(row->family, message.id.idiag_dst, message.id.idiag_dport);
  }
  return true;
}

bool TakeUnixMessage(const void* payload, size_t size, SocketSelection* selection, SocketRow* row) {
  const char* data = static_cast<const char*>(payload);
  unix_diag_msg message;
  if (!ReadAs(data, size, &message)) return false;
  const bool wanted = selection->inodes.erase(message.udiag_ino) != 0;
  if (!wanted && !(selection->listeners && message.udiag_state == kStateListen)) return false;
  row->inode = message.udiag_ino;
  row->family = AF_UNIX;
  row->type = message.udiag_type;
  row->state = message.udiag_state;
  const size_t start = NLMSG_ALIGN(sizeof message);
  if (size <= start) return true;
  WalkAttributes(data + start, size - start, [row](int type, const char* value, size_t length) {
    uint32_t peer = 0;
    unix_diag_rqlen queues;
    uint32_t uid = 0;
    if (type == UNIX_DIAG_NAME) TakeUnixName(value, length, row);
    if (type == UNIX_DIAG_PEER && ReadAs(value, length, &peer)) row->peer = peer;
    if (type == UNIX_DIAG_RQLEN && ReadAs(value, length, &queues)) {
      row->receive_queue = queues.udiag_rqueue;
      row->send_queue = queues.udiag_wqueue;
    }
    // UNIX_DIAG_UID, kernel 5.3; older headers do not have it.
    if (type == 7 && ReadAs(value, length, &uid)) row->uid = uid;
  });
  return true;
}

Result<SocketDiag> SocketDiag::Open() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd.valid()) return SysError{"audit", errno, "sock_diag"};
  return SocketDiag(std::move(fd));
}

template <class Visit>
int SocketDiag::Dump(const void* request, size_t size, Visit visit) {
  char out[NLMSG_SPACE(128)] = {};
  nlmsghdr header = {};
  header.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(size));
  header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  memcpy(out, &header, sizeof header);
  memcpy(out + NLMSG_HDRLEN, request, size);
  if (send(socket_.get(), out, header.nlmsg_len, 0) < 0) return errno;
  std::vector<char> buffer(size_t{1} << 16);
  for (;;) {
    const ssize_t length = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (length < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    size_t left = static_cast<size_t>(length);
    const char* at = buffer.data();
    while (left >= sizeof(nlmsghdr)) {
      nlmsghdr message;
      memcpy(&message, at, sizeof message);
      if (message.nlmsg_len < NLMSG_HDRLEN || message.nlmsg_len > left) return EBADMSG;
      const size_t payload = message.nlmsg_len - NLMSG_HDRLEN;
      if (message.nlmsg_type == NLMSG_DONE) return 0;
      if (message.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr error = {};
        memcpy(&error, at + NLMSG_HDRLEN, std::min(payload, sizeof error));
        return error.error == 0 ? EBADMSG : -error.error;
      }
      visit(at + NLMSG_HDRLEN, payload);
      const size_t step = std::min<size_t>(NLMSG_ALIGN(message.nlmsg_len), left);
      at += step;
      left -= step;
    }
    if (length == 0) return EBADMSG;
  }
}

int SocketDiag::DumpInet(int family, int protocol, SocketSelection* selection,
                         std::vector<SocketRow>* rows) {
  inet_diag_req_v2 request = {};
  request.sdiag_family = static_cast<uint8_t>(family);
  request.sdiag_protocol = static_cast<uint8_t>(protocol);
  request.idiag_states = kAllStates;
  return Dump(&request, sizeof request, [&](const void* payload, size_t size) {
    SocketRow row;
    if (TakeInetMessage(payload, size, protocol, selection, &row)) rows->push_back(std::move(row));
  });
}

int SocketDiag::DumpUnix(SocketSelection* selection, std::vector<SocketRow>* rows) {
  unix_diag_req request = {};
  request.sdiag_family = AF_UNIX;
  request.udiag_states = kAllStates;
  // UDIAG_SHOW_UID is 0x40, kernel 5.3.
  request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN | 0x40;
  return Dump(&request, sizeof request, [&](const void* payload, size_t size) {
    SocketRow row;
    if (TakeUnixMessage(payload, size, selection, &row)) rows->push_back(std::move(row));
  });
}

}  // namespace sallyport
