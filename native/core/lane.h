// A spawner lane: a thread with a descriptor table of its own, from which children are started.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "core/lane_table.h"
#include "core/launch_request.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace sallyport {

// One call into a lane, in memory that both sides share. The lane reads the request and writes the
// outcome; it owns nothing here.
struct LaneCall {
  const LaunchRequest* request = nullptr;
  bool announce = false;  // true: the lane also sends a byte, for the reactor to see
  // true: the caller goes on meanwhile, so that the lane and the child are to run beside it.
  bool elsewhere = false;

  bool moved = false;  // whether the lane was; then `allowed` is what it goes back to
  cpu_set_t allowed;

  std::optional<Result<pid_t>> outcome;  // valid once `done` is 1
  std::string evidence;                  // likewise: what a verification saw
  std::atomic<uint32_t> done{0};         // also a futex

  void Wait();
};

class Lane {
 public:
  // Starts a lane and waits until its table is its own. Stage "process" or "descriptor".
  static Result<std::unique_ptr<Lane>> Start(bool no_new_privileges);

  // Hands a call over, with copies of the descriptors that its request names: the caller may close
  // its own at once. The lane must be idle. Stage "descriptor".
  Result<bool> Send(LaneCall& call);

  // After an announced call: takes the bytes off. Returns how many calls were announced.
  int TakeAnnouncements();

  int control() const { return control_.get(); }
  pid_t thread_id() const { return thread_id_; }
  LaneTable table() const { return table_; }

 private:
  Lane(UniqueFd control, pid_t thread_id, LaneTable table)
      : control_(std::move(control)), thread_id_(thread_id), table_(table) {}
  void DropUnfinished();

  UniqueFd control_;  // our end, in the process's own table
  pid_t thread_id_;
  LaneTable table_;
};

}  // namespace sallyport
