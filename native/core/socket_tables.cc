// Looks sockets up in the kernel's tables: by NETLINK_SOCK_DIAG, sock_diag(7), in our own network
// namespace, in /proc/<pid>/net in another's.
#include "core/socket_tables.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/proc_text.h"
#include "core/socket_diag.h"
#include "core/socket_table_text.h"
#include "core/thread.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

struct ProcTable {
  const char* path;
  SocketTable format;
  int type;
  int protocol;
};

constexpr std::array<ProcTable, 11> kProcTables = {{
    {"net/tcp", SocketTable::kInet, SOCK_STREAM, IPPROTO_TCP},
    {"net/tcp6", SocketTable::kInet6, SOCK_STREAM, IPPROTO_TCP},
    {"net/udp", SocketTable::kInet, SOCK_DGRAM, IPPROTO_UDP},
    {"net/udp6", SocketTable::kInet6, SOCK_DGRAM, IPPROTO_UDP},
    {"net/unix", SocketTable::kUnix, 0, 0},
    {"net/netlink", SocketTable::kNetlink, SOCK_RAW, 0},
    {"net/packet", SocketTable::kPacket, 0, 0},
    {"net/raw", SocketTable::kInet, SOCK_RAW, IPPROTO_RAW},
    {"net/raw6", SocketTable::kInet6, SOCK_RAW, IPPROTO_RAW},
    {"net/icmp", SocketTable::kInet, SOCK_DGRAM, IPPROTO_ICMP},
    {"net/icmp6", SocketTable::kInet6, SOCK_DGRAM, IPPROTO_ICMPV6},
}};

bool HasPort(const SocketRow& row, int port) {
  if (row.protocol != IPPROTO_TCP && row.protocol != IPPROTO_UDP) return false;
  const size_t colon = row.local.rfind(':');
  return colon != std::string::npos && row.local.substr(colon + 1) == std::to_string(port);
}

bool IsWorthParsing(const ProcTable& table, std::string_view line,
                    const SocketSelection& selection) {
  if (table.format != SocketTable::kInet && table.format != SocketTable::kInet6) return true;
  uint64_t inode = 0;
  int state = 0;
  if (!PeekInetLine(line, &inode, &state)) return false;
  return selection.port != 0 || (selection.listeners && state == kStateListen) ||
         selection.inodes.count(inode) != 0;
}

void KeepLine(const ProcTable& table, std::string_view line, SocketSelection* selection,
              std::vector<SocketRow>* rows) {
  if (!IsWorthParsing(table, line, *selection)) return;
  SocketRow row;
  row.type = table.type;
  row.protocol = table.protocol;
  if (!ParseSocketLine(table.format, line, &row)) return;
  const bool wanted = row.inode != 0 && selection->inodes.erase(row.inode) != 0;
  if (wanted || (selection->listeners && row.state == kStateListen) ||
      (selection->port != 0 && HasPort(row, selection->port))) {
    rows->push_back(std::move(row));
  }
}

void ReadProcTable(int process, const ProcTable& table, SocketSelection* selection,
                   std::vector<SocketRow>* rows) {
  const UniqueFd file(openat(process, table.path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return;
  // A line that is longer than the buffer is none of these tables' and is dropped in pieces.
  std::array<char, 32768> buffer;
  size_t held = 0;
  for (;;) {
    const ssize_t length = read(file.get(), buffer.data() + held, buffer.size() - held);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    std::string_view text(buffer.data(), held + static_cast<size_t>(length));
    while (text.find('\n') != std::string_view::npos) {
      KeepLine(table, TakeLine(&text), selection, rows);
    }
    held = text.size() == buffer.size() ? 0 : text.size();
    memmove(buffer.data(), text.data(), held);
  }
  KeepLine(table, {buffer.data(), held}, selection, rows);
}

bool WantsMore(const SocketSelection& selection) {
  return selection.listeners || selection.port != 0 || !selection.inodes.empty();
}

struct NamedProtocol {
  const char* name;
  int family;
  int type;
  int protocol;
};

// struct proto's names in the kernel's sources.
constexpr std::array<NamedProtocol, 16> kNamedProtocols = {{
    {"TCP", AF_INET, SOCK_STREAM, IPPROTO_TCP},
    {"TCPv6", AF_INET6, SOCK_STREAM, IPPROTO_TCP},
    {"UDP", AF_INET, SOCK_DGRAM, IPPROTO_UDP},
    {"UDPv6", AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
    {"MPTCP", AF_INET, SOCK_STREAM, 262},
    {"MPTCPv6", AF_INET6, SOCK_STREAM, 262},
    {"RAW", AF_INET, SOCK_RAW, IPPROTO_RAW},
    {"RAWv6", AF_INET6, SOCK_RAW, IPPROTO_RAW},
    {"PING", AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
    {"PINGv6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6},
    {"UNIX", AF_UNIX, 0, 0},
    {"UNIX-STREAM", AF_UNIX, SOCK_STREAM, 0},
    {"NETLINK", AF_NETLINK, SOCK_RAW, 0},
    {"PACKET", AF_PACKET, 0, 0},
    {"AF_VSOCK", AF_VSOCK, 0, 0},
    {"ALG", AF_ALG, SOCK_SEQPACKET, 0},
}};

}  // namespace

Result<bool> FindSocketsByDiag(SocketSelection* selection, std::vector<SocketRow>* rows) {
  Result<SocketDiag> diag = SocketDiag::Open();
  if (!diag.ok()) return diag.error();
  struct Dump {
    int family;
    int protocol;
  };
  constexpr std::array<Dump, 5> kDumps = {{
      {AF_INET, IPPROTO_TCP},
      {AF_INET6, IPPROTO_TCP},
      {AF_INET, IPPROTO_UDP},
      {AF_INET6, IPPROTO_UDP},
      {AF_UNIX, 0},
  }};
  for (const Dump& dump : kDumps) {
    if (!WantsMore(*selection)) return true;
    const int refused = dump.family == AF_UNIX
                            ? diag.value().DumpUnix(selection, rows)
                            : diag.value().DumpInet(dump.family, dump.protocol, selection, rows);
    // One table that this kernel does not dump (its module is missing) is in /proc.
    if (refused != 0) return SysError{"audit", refused, "sock_diag"};
  }
  if (selection->inodes.empty()) return true;
  // The rare ones are not worth a dump each in a kernel that may have to load modules for it.
  const UniqueFd self(open("/proc/thread-self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 5; i < kProcTables.size() && !selection->inodes.empty(); ++i) {
    ReadProcTable(self.get(), kProcTables[i], selection, rows);
  }
  return true;
}

Result<bool> FindSocketsInside(int network, SocketSelection* selection,
                               std::vector<SocketRow>* rows) {
  Result<bool> result = SysError{"audit", EAGAIN, "setns"};
  const bool ran = RunOnThread("sallyport-net", [&] {
    // Of this thread alone, which ends with this function.
    if (setns(network, CLONE_NEWNET) != 0) {
      result = SysError{"audit", errno, "setns"};
    } else {
      result = FindSocketsByDiag(selection, rows);
    }
  });
  return ran ? result : SysError{"audit", EAGAIN, "pthread_create"};
}

void FindUnixByDiag(SocketSelection* selection, std::vector<SocketRow>* rows) {
  Result<SocketDiag> diag = SocketDiag::Open();
  if (diag.ok()) diag.value().DumpUnix(selection, rows);
}

void FindSocketsInProc(int process, SocketSelection* selection, std::vector<SocketRow>* rows) {
  for (const ProcTable& table : kProcTables) {
    if (!WantsMore(*selection)) return;
    ReadProcTable(process, table, selection, rows);
  }
}

bool DescribeProtocolName(const char* name, SocketRow* row) {
  for (const NamedProtocol& known : kNamedProtocols) {
    if (strcmp(name, known.name) != 0) continue;
    row->family = known.family;
    row->type = known.type;
    row->protocol = known.protocol;
    row->state = kStateClosed;
    return true;
  }
  return false;
}

}  // namespace sallyport
