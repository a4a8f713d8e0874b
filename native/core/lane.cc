// A spawner lane: a thread with a descriptor table of its own, from which children are started.
#include "core/lane.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "core/descriptor_steps.h"
#include "core/lane_directory.h"
#include "core/lane_scheduling.h"
#include "core/posix_spawner.h"
#include "core/spawn_in_table.h"
#include "core/system_calls.h"
#include "core/thread.h"

namespace sallyport {

namespace {

constexpr size_t kMostDescriptors = 253;  // SCM_MAX_FD, unix(7)

// What goes over the control socket, to the lane. A call with many descriptors takes several
// messages; the lane takes one call at a time.
struct LaneMessage {
  LaneCall* call;
  bool first;  // what came before and was never finished is dropped
  bool last;   // the call is whole
};

// The lane's first words.
struct LaneHello {
  pid_t thread_id;
  LaneTable table;
  int errno_value;  // not 0: the lane has ended again
  char stage[16];
  char path[32];
};

using ControlBuffer = char[CMSG_SPACE(sizeof(int) * kMostDescriptors)];

// Raw calls on the lane's side: its numbers are those of another table, which wrappers that keep
// books by number (ThreadSanitizer's) must not see.
//
// A refusal that passes is waited out: a lane that took it for the end would answer nobody any
// more, and whoever waits for a message of it would do so for ever.
long LaneReceive(int control, msghdr* message) {
  long size;
  do {
    size = syscall(SYS_recvmsg, control, message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && WaitIfPassing(errno));
  return size;
}

void LaneSend(int control, const void* data, size_t size) {
  while (syscall(SYS_sendto, control, data, size, MSG_NOSIGNAL, nullptr, 0) < 0) {
    if (!WaitIfPassing(errno)) return;
  }
}

void CloseAll(std::vector<int>* numbers) {
  for (int fd : *numbers) syscall(SYS_close, fd);
  numbers->clear();
}

// Receives one whole call; false when the other side is gone. Fewer descriptors come than were sent
// (MSG_CTRUNC) where this process may not have that many, in any table.
bool ReceiveCall(int control, LaneCall** call, std::vector<int>* received) {
  for (;;) {
    LaneMessage body;
    iovec part = {&body, sizeof body};
    alignas(cmsghdr) ControlBuffer buffer;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = buffer;
    message.msg_controllen = sizeof buffer;
    if (LaneReceive(control, &message) != sizeof body) return false;
    if (body.first) CloseAll(received);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      const size_t before = received->size();
      received->resize(before + count);
      memcpy(received->data() + before, CMSG_DATA(header), count * sizeof(int));
    }
    // To the last message also when it cannot succeed any more: the rest would be taken for a call.
    if (!body.last) continue;
    *call = body.call;
    // Meets the one in Send(): what the caller wrote before is seen from here on.
    static_cast<void>(body.call->done.load(std::memory_order_acquire));
    return true;
  }
}

Result<pid_t> SpawnWith(LaneCall& call, const std::vector<int>& received, LaneTable table) {
  const LaunchRequest& request = *call.request;
  // The child may run wherever the lane may.
  const int refused = call.moved ? AllowProcessors(0, call.allowed) : 0;
  if (refused != 0) return SysError{"process", refused, ""};
  if (received.size() < request.descriptors.size()) return SysError{"descriptor", EMFILE, ""};
  std::vector<DescriptorMove> moves(request.descriptors);
  for (size_t i = 0; i < moves.size(); ++i) moves[i].source = received[i];
  return SpawnInTable(request, moves,
                      table == LaneTable::kPrivate ? TableOrigin::kLane : TableOrigin::kShared,
                      &call.evidence);
}

void Publish(int control, LaneCall* call, Result<pid_t> outcome) {
  const bool announce = call->announce;
  call->outcome.emplace(std::move(outcome));
  std::atomic<uint32_t>* const done = &call->done;
  done->store(1, std::memory_order_release);
  // From here on the call may be gone; a futex is woken by its address alone.
  syscall(SYS_futex, done, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  if (announce) {
    const char byte = 0;
    LaneSend(control, &byte, 1);
  }
}

void RunLane(int shared_control, bool no_new_privileges) {
  LaneHello hello = {};
  hello.thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  int control = shared_control;
  const Result<LaneTable> isolated = IsolateTable(&control);
  if (isolated.ok()) {
    hello.table = isolated.value();
  } else {
    hello.errno_value = isolated.error().errno_value;
    strncpy(hello.stage, isolated.error().stage, sizeof hello.stage - 1);
    strncpy(hello.path, isolated.error().path.c_str(), sizeof hello.path - 1);
  }
  // Of this thread and of whatever it starts; the rest of the process is untouched. Kernel 3.5.
  if (hello.errno_value == 0 && no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    hello.errno_value = errno;
    strncpy(hello.stage, "process", sizeof hello.stage - 1);
  }
  // Before glibc 2.29. Where it is refused, so is the launch that asks for a directory.
  if (SpawnExtensions::Available().add_chdir == nullptr) static_cast<void>(TakeOwnDirectory());
  AskForShortSlice();
  LaneSend(control, &hello, sizeof hello);
  if (hello.errno_value != 0) return;

  LaneCall* call = nullptr;
  std::vector<int> received;
  while (ReceiveCall(control, &call, &received)) {
    Result<pid_t> outcome = SpawnWith(*call, received, hello.table);
    // Before the next call, and before anybody hears of this one.
    CloseAll(&received);
    Publish(control, call, std::move(outcome));
  }
  // In a shared table nothing else does.
  syscall(SYS_close, control);
}

// 0 or an errno value.
int SendMessage(int control, const msghdr& message) {
  while (sendmsg(control, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

void LaneCall::Wait() {
  while (done.load(std::memory_order_acquire) == 0) {
    syscall(SYS_futex, &done, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}

Result<std::unique_ptr<Lane>> Lane::Start(bool no_new_privileges) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return SysError{"descriptor", errno, ""};
  }
  UniqueFd ours_low(ends[0]);
  UniqueFd theirs_low(ends[1]);
  UniqueFd ours(MoveAboveStandard(ours_low.release()));
  UniqueFd theirs(MoveAboveStandard(theirs_low.release()));
  if (!ours.valid() || !theirs.valid()) return SysError{"descriptor", errno, ""};

  const int control = theirs.get();
  if (!StartThread("sallyport-lane",
                   [control, no_new_privileges] { RunLane(control, no_new_privileges); })) {
    return SysError{"process", EAGAIN, ""};
  }
  LaneHello hello = {};
  ssize_t size;
  do {
    size = recv(ours.get(), &hello, sizeof hello, 0);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof hello) {
    return SysError{"process", errno, ""};
  }
  if (hello.errno_value != 0) {
    const char* const stage = strcmp(hello.stage, "process") == 0 ? "process" : "descriptor";
    return SysError{stage, hello.errno_value, hello.path};
  }
  // The lane has its own copy now; in a shared table this number is the lane's.
  if (hello.table == LaneTable::kShared) static_cast<void>(theirs.release());
  return std::unique_ptr<Lane>(new Lane(std::move(ours), hello.thread_id, hello.table));
}

Result<bool> Lane::Send(LaneCall& call) {
  const std::vector<DescriptorMove>& moves = call.request->descriptors;
  call.moved = call.elsewhere && WakeElsewhere(thread_id_, &call.allowed);
  // The socket orders the two threads, but not in the terms of C++.
  call.done.store(0, std::memory_order_release);
  size_t sent = 0;
  // Once the last message is sent the call may be over, and `moves` gone.
  for (bool last = false; !last;) {
    const size_t count = std::min(moves.size() - sent, kMostDescriptors);
    last = sent + count == moves.size();
    LaneMessage body = {&call, sent == 0, last};
    iovec part = {&body, sizeof body};
    alignas(cmsghdr) ControlBuffer buffer;
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (count > 0) {
      message.msg_control = buffer;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * count);
      for (size_t i = 0; i < count; ++i) {
        memcpy(CMSG_DATA(header) + i * sizeof(int), &moves[sent + i].source, sizeof(int));
      }
    }
    const int refused = SendMessage(control_.get(), message);
    if (refused != 0) {
      if (sent > 0) DropUnfinished();
      // It never hears of the call, and would keep its next child from a processor.
      if (call.moved) static_cast<void>(AllowProcessors(thread_id_, call.allowed));
      return SysError{"descriptor", refused, ""};
    }
    sent += count;
  }
  return true;
}

// So that the lane does not keep the descriptors open until the next call.
void Lane::DropUnfinished() {
  LaneMessage nothing = {nullptr, true, false};
  iovec part = {&nothing, sizeof nothing};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  static_cast<void>(SendMessage(control_.get(), message));
}

int Lane::TakeAnnouncements() {
  int count = 0;
  char byte;
  while (recv(control_.get(), &byte, 1, MSG_DONTWAIT) == 1) ++count;
  return count;
}

}  // namespace sallyport
