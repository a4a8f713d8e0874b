// Parsers of the kernel's socket tables in /proc/<pid>/net. Pure: any bytes give rows or none.
#include "core/socket_table_text.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <limits>

#include "core/proc_text.h"
#include "core/socket_facts.h"

namespace sallyport {

namespace {

bool TakeHex(std::string_view* text, uint64_t* number) { return TakeNumber(text, number, 16); }

bool TakeChar(std::string_view* text, char wanted) {
  if (text->empty() || text->front() != wanted) return false;
  text->remove_prefix(1);
  return true;
}

bool DecimalWord(std::string_view* line, uint64_t* number) {
  std::string_view word = TakeWord(line);
  return TakeNumber(&word, number) && word.empty();
}

bool HexWord(std::string_view* line, uint64_t* number) {
  std::string_view word = TakeWord(line);
  return TakeHex(&word, number) && word.empty();
}

// "0100007F:1F90": the address in words of four bytes, each printed as a number of this machine.
bool ParseInetAddress(std::string_view word, int family, std::string* text) {
  sockaddr_storage storage = {};
  const size_t words = family == AF_INET6 ? 4 : 1;
  if (word.size() < words * 8) return false;
  uint32_t bytes[4] = {};
  for (size_t i = 0; i < words; ++i) {
    std::string_view digits = word.substr(i * 8, 8);
    uint64_t value = 0;
    if (!TakeHex(&digits, &value) || !digits.empty()) return false;
    bytes[i] = static_cast<uint32_t>(value);
  }
  word.remove_prefix(words * 8);
  uint64_t port = 0;
  if (!TakeChar(&word, ':') || !TakeHex(&word, &port) || !word.empty() || port > 0xffff) {
    return false;
  }
  storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    memcpy(&v6.sin6_addr, bytes, sizeof v6.sin6_addr);
    v6.sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    memcpy(&v4.sin_addr, bytes, sizeof v4.sin_addr);
    v4.sin_port = htons(static_cast<uint16_t>(port));
  }
  *text = FormatAddress(storage, sizeof storage);
  return true;
}

// As getpeername(2) has it: no address where there is no other end.
void DropUnspecified(std::string* remote) {
  if (*remote == "0.0.0.0:0" || *remote == "[::]:0") remote->clear();
}

// sl local remote st tx:rx tr:when retrnsmt uid timeout inode …
bool ParseInetLine(int family, std::string_view line, SocketRow* row) {
  const std::string_view slot = TakeWord(&line);
  if (slot.empty() || slot.back() != ':') return false;
  if (!ParseInetAddress(TakeWord(&line), family, &row->local)) return false;
  if (!ParseInetAddress(TakeWord(&line), family, &row->remote)) return false;
  DropUnspecified(&row->remote);
  uint64_t state = 0;
  if (!HexWord(&line, &state) || state > std::numeric_limits<uint8_t>::max()) return false;
  std::string_view queues = TakeWord(&line);
  uint64_t send = 0;
  uint64_t receive = 0;
  if (!TakeHex(&queues, &send) || !TakeChar(&queues, ':') || !TakeHex(&queues, &receive)) {
    return false;
  }
  TakeWord(&line);
  TakeWord(&line);
  uint64_t uid = 0;
  if (!DecimalWord(&line, &uid)) return false;
  TakeWord(&line);
  if (!DecimalWord(&line, &row->inode)) return false;
  row->family = family;
  row->state = static_cast<int>(state);
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (send > kMost || receive > kMost || uid > kMost) return false;
  row->receive_queue = static_cast<int64_t>(receive);
  // Of a listener this table does not have how many may wait.
  row->send_queue = row->state == kStateListen ? -1 : static_cast<int64_t>(send);
  row->uid = static_cast<int64_t>(uid);
  return true;
}

// Num RefCount Protocol Flags Type St Inode Path
bool ParseUnixLine(std::string_view line, SocketRow* row) {
  const std::string_view slot = TakeWord(&line);
  if (slot.empty() || slot.back() != ':') return false;
  constexpr uint64_t kAcceptCon = 0x10000;  // __SO_ACCEPTCON
  constexpr uint64_t kConnected = 3;        // SS_CONNECTED
  uint64_t references = 0;
  uint64_t protocol = 0;
  uint64_t flags = 0;
  uint64_t type = 0;
  uint64_t state = 0;
  if (!HexWord(&line, &references) || !HexWord(&line, &protocol) || !HexWord(&line, &flags) ||
      !HexWord(&line, &type) || !HexWord(&line, &state) || !DecimalWord(&line, &row->inode)) {
    return false;
  }
  if (type > std::numeric_limits<uint16_t>::max()) return false;
  row->family = AF_UNIX;
  row->type = static_cast<int>(type);
  row->state = (flags & kAcceptCon) != 0 ? kStateListen
               : state == kConnected     ? kStateEstablished
                                         : kStateClosed;
  row->local = std::string(line);
  return true;
}

// sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
bool ParseNetlinkLine(std::string_view line, SocketRow* row) {
  TakeWord(&line);
  uint64_t protocol = 0;
  uint64_t port = 0;
  if (!DecimalWord(&line, &protocol) || !DecimalWord(&line, &port)) return false;
  for (int skipped = 0; skipped < 6; ++skipped) TakeWord(&line);
  if (!DecimalWord(&line, &row->inode)) return false;
  if (protocol > std::numeric_limits<uint16_t>::max()) return false;
  row->family = AF_NETLINK;
  row->type = SOCK_RAW;
  row->protocol = static_cast<int>(protocol);
  row->local = std::to_string(port);
  return true;
}

// sk RefCnt Type Proto Iface R Rmem User Inode
bool ParsePacketLine(std::string_view line, SocketRow* row) {
  TakeWord(&line);
  TakeWord(&line);
  uint64_t type = 0;
  uint64_t protocol = 0;
  if (!DecimalWord(&line, &type) || !HexWord(&line, &protocol)) return false;
  for (int skipped = 0; skipped < 4; ++skipped) TakeWord(&line);
  if (!DecimalWord(&line, &row->inode)) return false;
  constexpr uint64_t kMost = std::numeric_limits<uint16_t>::max();
  if (type > kMost || protocol > kMost) return false;
  row->family = AF_PACKET;
  row->type = static_cast<int>(type);
  row->protocol = static_cast<int>(protocol);
  return true;
}

}  // namespace

bool PeekInetLine(std::string_view line, uint64_t* inode, int* state) {
  for (int skipped = 0; skipped < 3; ++skipped) TakeWord(&line);
  uint64_t number = 0;
  if (!HexWord(&line, &number) || number > std::numeric_limits<uint8_t>::max()) return false;
  *state = static_cast<int>(number);
  for (int skipped = 0; skipped < 5; ++skipped) TakeWord(&line);
  return DecimalWord(&line, inode);
}

bool ParseSocketLine(SocketTable table, std::string_view line, SocketRow* row) {
  switch (table) {
    case SocketTable::kInet:
      return ParseInetLine(AF_INET, line, row);
    case SocketTable::kInet6:
      return ParseInetLine(AF_INET6, line, row);
    case SocketTable::kUnix:
      return ParseUnixLine(line, row);
    case SocketTable::kNetlink:
      return ParseNetlinkLine(line, row);
    case SocketTable::kPacket:
      return ParsePacketLine(line, row);
  }
  return false;
}

}  // namespace sallyport
