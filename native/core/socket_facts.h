// What a socket of ours is and where it is bound, asked of the socket itself.
#pragma once

#include <sys/socket.h>

#include <string>

#include "core/descriptor_object.h"

namespace sallyport {

// Fields that the socket does not answer stay at their defaults.
SocketFacts ReadSocketFacts(int fd);

// "127.0.0.1:80", "[::1]:80", "/run/x.sock", "@abstract"; "" for an unnamed or unknown address.
std::string FormatAddress(const sockaddr_storage& address, socklen_t length);

}  // namespace sallyport
