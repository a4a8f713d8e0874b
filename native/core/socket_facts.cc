// What a socket of ours is and where it is bound, asked of the socket itself.
#include "core/socket_facts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace sallyport {

namespace {

int Option(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : 0;
}

std::string FormatUnix(const sockaddr_un& address, socklen_t length) {
  const size_t start = offsetof(sockaddr_un, sun_path);
  if (length <= start) return "";
  const size_t size = std::min<size_t>(length, sizeof address) - start;
  std::string path(address.sun_path, size);
  if (path[0] == '\0') {
    // Abstract names may hold any byte; ss and /proc/net/unix print NUL as '@' too.
    std::replace(path.begin(), path.end(), '\0', '@');
    return path;
  }
  path.resize(std::min(path.size(), path.find('\0')));
  return path;
}

// By hand: a table with ten thousand connections has twenty thousand of them.
std::string FormatInet(const sockaddr_in& address) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&address.sin_addr);
  char text[sizeof "255.255.255.255:65535"];
  char* const end = text + sizeof text;
  char* at = text;
  for (int i = 0; i < 4; ++i) {
    at = std::to_chars(at, end, static_cast<unsigned>(bytes[i])).ptr;
    *at++ = i < 3 ? '.' : ':';
  }
  at = std::to_chars(at, end, static_cast<unsigned>(ntohs(address.sin_port))).ptr;
  return std::string(text, at);
}

}  // namespace

std::string FormatAddress(const sockaddr_storage& address, socklen_t length) {
  char text[INET6_ADDRSTRLEN];
  if (address.ss_family == AF_INET && length >= sizeof(sockaddr_in)) {
    return FormatInet(reinterpret_cast<const sockaddr_in&>(address));
  }
  if (address.ss_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  if (address.ss_family == AF_UNIX) {
    return FormatUnix(reinterpret_cast<const sockaddr_un&>(address), length);
  }
  return "";
}

SocketFacts ReadSocketFacts(int fd) {
  SocketFacts facts;
  facts.family = Option(fd, SO_DOMAIN);
  facts.type = Option(fd, SO_TYPE);
  facts.protocol = Option(fd, SO_PROTOCOL);
  facts.listening = Option(fd, SO_ACCEPTCONN) != 0;
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    facts.local = FormatAddress(address, length);
  }
  address = {};
  length = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    facts.remote = FormatAddress(address, length);
  }
  return facts;
}

}  // namespace sallyport
