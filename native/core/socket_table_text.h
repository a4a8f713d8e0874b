// Parsers of the kernel's socket tables in /proc/<pid>/net. Pure: any bytes give rows or none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/socket_row.h"

namespace sallyport {

enum class SocketTable { kInet, kInet6, kUnix, kNetlink, kPacket };

// One line of /proc/<pid>/net/{tcp,udp,raw,…}, unix, netlink or packet. `row` comes with the type
// and protocol that the table is about, where it is about one. False for the heading and for what
// is no row.
bool ParseSocketLine(SocketTable table, std::string_view line, SocketRow* row);

// The inode and the state of a line of an Internet table, at a fraction of the cost: most lines of
// a big table are not wanted. False where it is no row.
bool PeekInetLine(std::string_view line, uint64_t* inode, int* state);

}  // namespace sallyport
