// The spawner lanes of this process: gives launches to idle lanes, keeps the others in order.
#include "core/lane_pool.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "core/reactor.h"
#include "core/reaper.h"
#include "core/stuck_child.h"

namespace sallyport {

namespace {

// A lane sleeps while its child is on the way to exec, so that a few more than cores are of use;
// more than eight never were.
size_t UsualLanes() { return std::clamp(std::thread::hardware_concurrency(), 2u, 8u); }

// Lanes that hang in an exec do not count as lanes, up to this many threads in all.
constexpr size_t kMostLanes = 32;

// An exec takes well under a millisecond. A lane that takes this long is waiting for a mount.
constexpr std::chrono::milliseconds kStuckAfter(100);

// How long an init whose launch was taken back is given to end what it has started. One that hangs
// before its own exec has started nothing.
constexpr std::chrono::milliseconds kInitMayTake(250);

constexpr size_t kLongestQueue = 16384;

SysError Canceled() { return {"process", ECANCELED, ""}; }

// The reactor could not be started or take another descriptor; errno says why.
SysError NoReactor() { return {errno == EAGAIN ? "process" : "descriptor", errno, ""}; }

// Whoever hears of a failure finds nothing of it left open.
void TellFailure(std::unique_ptr<LaunchJob> job, const SysError& error) {
  const JobId id = job->id;
  const std::shared_ptr<LaunchListener> listener = job->listener;
  job.reset();
  listener->LaunchFinished(id, error);
}

// Hears of the end of a child that nobody wants.
class Unheard : public ExitListener {
 public:
  void ChildExited(ChildId, const ExitStatus&) override {}
};

// Before its job ends, which closes the link to an init: that ends what it has started, and itself.
void Discard(LaunchJob& job, pid_t pid) {
  // It may have started something already.
  const bool leads_group = job.request.session != SessionMode::kInherit;
  const Result<ChildId> id =
      Reaper::Instance().Watch(pid, leads_group, false, std::make_shared<Unheard>(),
                               job.request.init ? &job.control : nullptr);
  if (!id.ok() || job.request.init) return;
  if (Reaper::Instance().SignalGroup(id.value(), SIGKILL) == 0) return;
  Reaper::Instance().Signal(id.value(), SIGKILL);
}

}  // namespace

LanePool& LanePool::Instance(bool no_new_privileges) {
  static LanePool* const restricted = new LanePool(true);
  static LanePool* const plain = new LanePool(false);
  return no_new_privileges ? *restricted : *plain;
}

Result<LaneTable> LanePool::Table() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!workers_.empty()) return workers_.front()->lane->table();
  }
  const Result<Worker*> worker = AddWorker();
  if (!worker.ok()) return worker.error();
  const LaneTable table = worker.value()->lane->table();
  Release(worker.value());
  return table;
}

Result<LaunchedChild> LanePool::Run(LaunchJob& job) {
  const Result<bool> opened = OpenTable(job);
  if (!opened.ok()) return opened.error();
  const Result<Worker*> worker = Acquire();
  if (!worker.ok()) return worker.error();

  LaneCall call;
  call.request = &job.request;
  const Result<bool> sent = worker.value()->lane->Send(call);
  if (!sent.ok()) {
    Release(worker.value());
    return sent.error();
  }
  call.Wait();
  // Watched before the lane is idle again: KillStuckChild() takes what is not watched for stuck.
  Result<LaunchedChild> launched =
      call.outcome->ok() ? WatchLaunched(job, call.outcome->value(), std::move(call.evidence))
                         : call.outcome->error();
  Release(worker.value());
  return launched;
}

Result<bool> LanePool::Submit(std::unique_ptr<LaunchJob> job) {
  if (!Reactor::Instance().Run()) return NoReactor();
  Worker* worker = nullptr;
  bool grow = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) worker = TakeIdle();
    if (worker != nullptr) {
      worker->job = std::move(job);
    } else {
      if (queue_.size() >= kLongestQueue) return SysError{"process", EAGAIN, "queue"};
      queue_.push_back(std::move(job));
      grow = MayGrow();
    }
  }
  if (worker != nullptr) {
    if (!Start(worker, true)) Release(worker);
    return true;
  }
  // On the reactor's thread: starting a lane takes longer than a launch may block its caller.
  if (grow) Reactor::Instance().Post([this] { FillLanes(); });
  Watch();
  return true;
}

bool LanePool::Cancel(JobId id) {
  std::unique_ptr<LaunchJob> queued;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(queue_.begin(), queue_.end(), [id](const auto& job) { return job->id == id; });
    if (found != queue_.end()) {
      queued = std::move(*found);
      queue_.erase(found);
    } else {
      const auto worker = std::find_if(workers_.begin(), workers_.end(), [id](const auto& each) {
        return each->job != nullptr && each->job->id == id;
      });
      if (worker == workers_.end()) return false;
      MarkCanceled(worker->get());
      EndCanceled();
    }
  }
  if (queued != nullptr) {
    TellFailure(std::move(queued), Canceled());
  } else {
    Watch();
  }
  return true;
}

void LanePool::CancelAll(const LaunchListener* listener) {
  std::deque<std::unique_ptr<LaunchJob>> dropped;
  bool under_way = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = queue_.begin(); it != queue_.end();) {
      if ((*it)->listener.get() == listener) {
        dropped.push_back(std::move(*it));
        it = queue_.erase(it);
      } else {
        ++it;
      }
    }
    for (const auto& worker : workers_) {
      if (worker->job == nullptr || worker->job->listener.get() != listener) continue;
      MarkCanceled(worker.get());
    }
    under_way = EndCanceled();
  }
  if (under_way) Watch();
}

bool LanePool::WaitForJobs(std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return idle_.wait_for(lock, limit, [this] {
    return std::none_of(workers_.begin(), workers_.end(),
                        [](const auto& worker) { return worker->busy; });
  });
}

void LanePool::MarkCanceled(Worker* worker) {
  if (worker->canceled) return;
  worker->canceled = true;
  worker->canceled_at = Clock::now();
}

bool LanePool::EndCanceled() {
  bool any = false;
  for (const auto& worker : workers_) {
    if (worker->job == nullptr || !worker->canceled) continue;
    any = true;
    if (worker->control >= 0) {
      // The init takes it for the end of its parent. Killed at once, it would leave a program that
      // it has started just now.
      shutdown(worker->control, SHUT_RDWR);
      if (Clock::now() - worker->canceled_at < kInitMayTake) continue;
    }
    KillStuckChild(worker->lane->thread_id());
  }
  return any;
}

LanePool::Worker* LanePool::TakeIdle() {
  for (const auto& worker : workers_) {
    if (worker->busy) continue;
    worker->busy = true;
    worker->since = Clock::now();
    return worker.get();
  }
  return nullptr;
}

size_t LanePool::CountStuck() const {
  const Clock::time_point now = Clock::now();
  return static_cast<size_t>(std::count_if(
      workers_.begin(), workers_.end(),
      [now](const auto& worker) { return worker->busy && now - worker->since > kStuckAfter; }));
}

bool LanePool::MayGrow() const {
  const size_t lanes = workers_.size() + starting_;
  return lanes < kMostLanes && lanes - CountStuck() < UsualLanes();
}

Result<LanePool::Worker*> LanePool::AddWorker() {
  Result<std::unique_ptr<Lane>> lane = Lane::Start(no_new_privileges_);
  if (!lane.ok()) return lane.error();
  auto worker = std::make_unique<Worker>();
  worker->lane = std::move(lane.value());
  worker->busy = true;
  worker->since = Clock::now();
  Worker* const added = worker.get();
  const Reactor::Token token = Reactor::Instance().Add(added->lane->control(), [this, added] {
    for (int finished = added->lane->TakeAnnouncements(); finished > 0; --finished) Finish(added);
  });
  if (token == 0) return NoReactor();
  const std::lock_guard<std::mutex> lock(mutex_);
  workers_.push_back(std::move(worker));
  return added;
}

Result<LanePool::Worker*> LanePool::Acquire() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Worker* const idle = TakeIdle();
    if (idle != nullptr) return idle;
  }
  // Whatever number of launches hangs: each caller that waits has at most one lane for itself.
  return AddWorker();
}

void LanePool::Release(Worker* worker) {
  do {
    const std::lock_guard<std::mutex> lock(mutex_);
    worker->canceled = false;
    if (queue_.empty()) {
      worker->busy = false;
      idle_.notify_all();
      return;
    }
    // At once, so that Cancel() finds it in one place or the other.
    worker->job = std::move(queue_.front());
    queue_.pop_front();
    worker->since = Clock::now();
  } while (!Start(worker, false));
}

bool LanePool::Start(Worker* worker, bool elsewhere) {
  // Only Finish() takes it away, once it is sent.
  LaunchJob& job = *worker->job;
  Result<bool> ready = OpenTable(job);
  if (ready.ok()) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      worker->control = job.control.get();
    }
    // Once sent, the job belongs to Finish(), on another thread; these copies end here.
    const std::vector<UniqueFd> held = std::move(job.held);
    const std::vector<UniqueFd> theirs = std::move(job.theirs);
    worker->call.outcome.reset();
    worker->call.evidence.clear();
    worker->call.request = &job.request;
    worker->call.announce = true;
    worker->call.elsewhere = elsewhere;
    ready = worker->lane->Send(worker->call);
    if (ready.ok()) return true;
  }
  std::unique_ptr<LaunchJob> refused;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    refused = std::move(worker->job);
    worker->control = -1;
  }
  TellFailure(std::move(refused), ready.error());
  return false;
}

void LanePool::Finish(Worker* worker) {
  if (worker->call.done.load(std::memory_order_acquire) == 0) return;
  std::unique_ptr<LaunchJob> job;
  bool canceled;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job = std::move(worker->job);
    worker->control = -1;
    canceled = worker->canceled;
  }
  const Result<pid_t>& outcome = *worker->call.outcome;
  if (canceled) {
    if (outcome.ok()) Discard(*job, outcome.value());
    TellFailure(std::move(job), Canceled());
  } else if (!outcome.ok()) {
    TellFailure(std::move(job), outcome.error());
  } else {
    job->listener->LaunchFinished(
        job->id, WatchLaunched(*job, outcome.value(), std::move(worker->call.evidence)));
  }
  Release(worker);
}

void LanePool::FillLanes() {
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (queue_.empty() || !MayGrow()) return;
      ++starting_;
    }
    const Result<Worker*> worker = AddWorker();
    std::deque<std::unique_ptr<LaunchJob>> hopeless;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      --starting_;
      if (!worker.ok() && workers_.empty()) hopeless.swap(queue_);
    }
    for (auto& job : hopeless) TellFailure(std::move(job), worker.error());
    if (!worker.ok()) return;
    Release(worker.value());
  }
}

void LanePool::Watch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (watching_) return;
    watching_ = true;
  }
  Reactor::Instance().Tick([this] {
    FillLanes();
    const std::lock_guard<std::mutex> lock(mutex_);
    // Again and again: a launch may have been taken back before its child existed.
    const bool ending = EndCanceled();
    watching_ = ending || !queue_.empty();
    return watching_;
  });
}

}  // namespace sallyport
