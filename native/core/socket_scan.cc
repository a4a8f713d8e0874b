// Says of the sockets of scanned processes what the kernel's tables say of them.
#include "core/socket_scan.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/xattr.h>

#include <array>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/proc_directory.h"
#include "core/proc_text.h"
#include "core/socket_tables.h"
#include "core/unique_fd.h"

namespace sallyport {

namespace {

UniqueFd OpenProcess(const std::string& name) {
  return UniqueFd(open(("/proc/" + name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

uint64_t OwnNetwork() {
  const UniqueFd self = OpenProcess("thread-self");
  std::string target;
  uint64_t inode = 0;
  if (self.valid() && ReadLinkAt(self.get(), "ns/net", &target) == 0) {
    ParseInode(target, "net:[", &inode);
  }
  return inode;
}

struct Network {
  pid_t member = 0;  // one process that is in it
  SocketSelection selection;
};

void Keep(uint64_t network, std::vector<SocketRow> found, SocketScan* scan) {
  for (SocketRow& row : found) {
    // What is in TIME_WAIT has no inode any more.
    if (row.inode != 0 && !scan->by_inode.emplace(row.inode, scan->rows.size()).second) continue;
    scan->rows.push_back(std::move(row));
    scan->namespaces.push_back(network);
  }
}

// Our own namespace, which is asked directly where the kernel has sock_diag.
void FindOurs(SocketSelection* selection, std::vector<SocketRow>* found) {
  if (FindSocketsByDiag(selection, found).ok()) return;
  const UniqueFd self = OpenProcess("thread-self");
  if (self.valid()) FindSocketsInProc(self.get(), selection, found);
}

// Another one, which its members' /proc shows to whoever may look at them. Whoever may enter it
// asks the kernel there: 0.1 s for 100 000 connections in place of 1 s, and it tells peers too.
void FindTheirs(pid_t member, SocketSelection* selection, std::vector<SocketRow>* found) {
  const UniqueFd process = OpenProcess(std::to_string(member));
  if (!process.valid()) return;
  const UniqueFd network(openat(process.get(), "ns/net", O_RDONLY | O_CLOEXEC));
  if (network.valid() && FindSocketsInside(network.get(), selection, found).ok()) return;
  FindSocketsInProc(process.get(), selection, found);
}

// The other ends of Unix sockets belong to whoever has them, and their names are what we are
// connected to.
void NamePeers(SocketScan* scan) {
  SocketSelection peers;
  for (const SocketRow& row : scan->rows) {
    if (row.peer != 0 && scan->by_inode.count(row.peer) == 0) peers.inodes.insert(row.peer);
  }
  if (!peers.inodes.empty()) {
    std::vector<SocketRow> found;
    FindUnixByDiag(&peers, &found);
    Keep(scan->own_network, std::move(found), scan);
  }
  for (SocketRow& row : scan->rows) {
    if (row.peer == 0) continue;
    const auto peer = scan->by_inode.find(row.peer);
    if (peer != scan->by_inode.end()) row.remote = scan->rows[peer->second].local;
  }
}

// A socket that is in no table can still say which protocol it is for.
void AskSocketItself(const ScannedProcess& process, const ScannedDescriptor& descriptor,
                     SocketScan* scan) {
  const pid_t task = descriptor.thread != 0 ? descriptor.thread : process.pid;
  const std::string path = "/proc/" + std::to_string(task) + "/fd/" + std::to_string(descriptor.fd);
  std::array<char, 64> name = {};
  if (getxattr(path.c_str(), "system.sockprotoname", name.data(), name.size() - 1) <= 0) return;
  SocketRow row;
  row.inode = descriptor.inode;
  if (!DescribeProtocolName(name.data(), &row)) return;
  Keep(0, {std::move(row)}, scan);
}

}  // namespace

SocketScan ResolveSockets(const SocketWish& wish, std::vector<ScannedProcess>* processes) {
  const uint64_t ours = OwnNetwork();
  std::map<uint64_t, Network> networks;  // by inode
  for (const ScannedProcess& process : *processes) {
    Network& network = networks[process.network == 0 ? ours : process.network];
    if (network.member == 0) network.member = process.pid;
    for (const ScannedDescriptor& descriptor : process.descriptors) {
      if (descriptor.kind == ObjectKind::kSocket) network.selection.inodes.insert(descriptor.inode);
    }
  }
  SocketScan scan;
  scan.own_network = ours;
  SocketSelection rest = std::move(networks[ours].selection);
  for (auto& [inode, network] : networks) {
    if (inode == ours) continue;
    network.selection.listeners = wish.listeners;
    network.selection.port = wish.port;
    std::vector<SocketRow> found;
    FindTheirs(network.member, &network.selection, &found);
    Keep(inode, std::move(found), &scan);
    // A socket stays in the namespace in which it was made, whoever holds it.
    rest.inodes.merge(network.selection.inodes);
  }
  rest.listeners = wish.listeners;
  rest.port = wish.port;
  if (!rest.inodes.empty() || rest.listeners || rest.port != 0) {
    std::vector<SocketRow> found;
    FindOurs(&rest, &found);
    Keep(ours, std::move(found), &scan);
  }
  NamePeers(&scan);
  for (ScannedProcess& process : *processes) {
    for (ScannedDescriptor& descriptor : process.descriptors) {
      if (descriptor.kind != ObjectKind::kSocket) continue;
      if (scan.by_inode.count(descriptor.inode) == 0) AskSocketItself(process, descriptor, &scan);
      const auto row = scan.by_inode.find(descriptor.inode);
      if (row != scan.by_inode.end() && scan.rows[row->second].state == kStateListen) {
        descriptor.kind = ObjectKind::kListener;
      }
    }
  }
  return scan;
}

}  // namespace sallyport
