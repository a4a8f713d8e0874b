// The spawner lanes of this process: gives launches to idle lanes, keeps the others in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/lane.h"
#include "core/launch_job.h"
#include "core/result.h"

namespace sallyport {

// Two per process, never destroyed: lanes with no_new_privs and lanes without. Lanes belong to the
// process, not to the JavaScript environment that asked first; they start when they are needed and
// then stay, asleep.
class LanePool {
 public:
  static LanePool& Instance(bool no_new_privileges);

  // The table that launches of this pool get; starts the first lane.
  Result<LaneTable> Table();

  // Starts a child and waits for its pid. Does not stand in the queue: uses an idle lane, or
  // another.
  Result<LaunchedChild> Run(LaunchJob& job);

  // Starts a child when a lane is free, in the order of the calls. The job's listener hears of it.
  // Stage "process", EAGAIN: the queue is full.
  Result<bool> Submit(std::unique_ptr<LaunchJob> job);

  // Takes a launch back. False: it is not there, it has finished. Otherwise the listener hears
  // ECANCELED, at once when it was still queued; a child that hangs before its exec is killed.
  bool Cancel(JobId id);

  // The same for all launches of a listener that is going away: of those that were queued it hears
  // nothing more, of those under way it still hears that they were taken back.
  void CancelAll(const LaunchListener* listener);

  // Waits until no submitted launch is under way. False: not within `limit`.
  bool WaitForJobs(std::chrono::milliseconds limit);

  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    std::unique_ptr<Lane> lane;
    bool busy = false;
    Clock::time_point since;         // when it became busy
    std::unique_ptr<LaunchJob> job;  // of a submitted launch
    LaneCall call;                   // likewise
    bool canceled = false;           // likewise
    Clock::time_point canceled_at;   // likewise
    int control = -1;                // the link to its init, while the job is here; -1: none
  };

  explicit LanePool(bool no_new_privileges) : no_new_privileges_(no_new_privileges) {}

  // With mutex_ held:
  Worker* TakeIdle();
  size_t CountStuck() const;
  bool MayGrow() const;
  static void MarkCanceled(Worker* worker);
  bool EndCanceled();  // kills what hangs; true: some of them are still under way

  Result<Worker*> AddWorker();  // busy
  Result<Worker*> Acquire();    // busy
  void Release(Worker* worker);
  bool Start(Worker* worker, bool elsewhere);  // its job; false: refused, and said so
  void Finish(Worker* worker);
  void FillLanes();
  void Watch();  // looks again, by a tick, while there is a queue or something to end

  const bool no_new_privileges_;
  std::mutex mutex_;  // guards the fields below
  std::condition_variable idle_;
  std::vector<std::unique_ptr<Worker>> workers_;
  size_t starting_ = 0;
  std::deque<std::unique_ptr<LaunchJob>> queue_;
  bool watching_ = false;
};

}  // namespace sallyport
