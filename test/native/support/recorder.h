// A listener that keeps what it hears, and lets a test wait for it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "core/launch_job.h"
#include "support/deadline.h"

namespace sallyport {

class Recorder : public LaunchListener {
 public:
  struct Exit {
    ChildId id;
    ExitStatus status;
  };
  struct Launch {
    JobId id;
    int refused;  // an errno value; 0: launched
    ChildId child;
    pid_t pid;
  };

  void ChildExited(ChildId id, const ExitStatus& status) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    exits_.push_back({id, status});
    heard_.notify_all();
  }

  void LaunchFinished(JobId id, Result<LaunchedChild> outcome) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (outcome.ok()) {
      launches_.push_back({id, 0, outcome.value().id, outcome.value().pid});
    } else {
      launches_.push_back({id, outcome.error().errno_value, 0, -1});
    }
    heard_.notify_all();
  }

  // False when the deadline passes first.
  bool WaitForExits(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return heard_.wait_for(lock, kDeadline, [&] { return exits_.size() >= count; });
  }
  bool WaitForLaunches(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return heard_.wait_for(lock, kDeadline, [&] { return launches_.size() >= count; });
  }

  std::vector<Exit> exits() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return exits_;
  }
  std::vector<Launch> launches() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return launches_;
  }

  size_t ExitsOf(ChildId id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<size_t>(std::count_if(exits_.begin(), exits_.end(),
                                             [id](const Exit& exit) { return exit.id == id; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Exit> exits_;
  std::vector<Launch> launches_;
};

}  // namespace sallyport
