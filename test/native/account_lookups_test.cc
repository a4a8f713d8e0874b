// Users and groups by name, looked up off the thread that asks, and launches that wait for that.
#include "core/account_lookups.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/accounts.h"
#include "launcher/instructions.h"
#include "support/process_facts.h"
#include "support/recorder.h"
#include "support/requests.h"

namespace sallyport {
namespace {

constexpr char kNobody[] = "no-such-user-anywhere";

std::vector<LaunchStep> AllThree() {
  return {{STEP_GROUPS, {kLookUp}}, {STEP_GROUP, {kLookUp}}, {STEP_USER, {kLookUp}}};
}

std::unique_ptr<LaunchJob> JobAs(const std::string& user, const std::shared_ptr<Recorder>& recorder,
                                 JobId id) {
  // Without a launcher the steps are not taken: who we are does not matter here.
  std::unique_ptr<LaunchJob> job = Job({"/bin/true"}, recorder, id);
  job->accounts.user = user;
  job->request.steps = AllThree();
  return job;
}

class UserRecorder : public AccountListener {
 public:
  void UserLookedUp(LookupId id, const Result<AccountIds>& outcome) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_[id] =
        outcome.ok()
            ? std::to_string(outcome.value().uid) + ":" + std::to_string(outcome.value().gid)
            : std::string(outcome.error().stage) + " " +
                  std::to_string(outcome.error().errno_value) + " " + outcome.error().path;
  }
  std::map<LookupId, std::string> heard() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_;
  }

 private:
  std::mutex mutex_;  // guards the field below
  std::map<LookupId, std::string> heard_;
};

}  // namespace

TEST_CASE("names and numbers become ids") {
  std::vector<LaunchStep> steps = AllThree();
  REQUIRE(LookUpAccounts({"root", ""}, &steps).ok());
  CHECK(steps[1].arguments == std::vector<uint64_t>{0});
  CHECK(steps[2].arguments == std::vector<uint64_t>{0});
  CHECK(std::count(steps[0].arguments.begin(), steps[0].arguments.end(), 0) == 1);
  CHECK(std::count(steps[0].arguments.begin(), steps[0].arguments.end(), kLookUp) == 0);

  steps = {{STEP_USER, {kLookUp}}, {STEP_UMASK, {022}}, {STEP_GROUP, {17}}};
  REQUIRE(LookUpAccounts({"0", ""}, &steps).ok());
  CHECK(steps[0].arguments == std::vector<uint64_t>{0});
  CHECK(steps[1].arguments == std::vector<uint64_t>{022});
  CHECK(steps[2].arguments == std::vector<uint64_t>{17});
}

TEST_CASE("who is in no database is refused by name") {
  std::vector<LaunchStep> steps = {{STEP_USER, {kLookUp}}};
  const Result<bool> user = LookUpAccounts({kNobody, ""}, &steps);
  REQUIRE_FALSE(user.ok());
  CHECK(std::string(user.error().stage) == "user");
  CHECK(user.error().errno_value == ENOENT);
  CHECK(user.error().path == kNobody);
  steps = {{STEP_GROUP, {kLookUp}}};
  const Result<bool> group = LookUpAccounts({"", kNobody}, &steps);
  REQUIRE_FALSE(group.ok());
  CHECK(std::string(group.error().stage) == "group");
  CHECK(group.error().errno_value == ENOENT);
}

TEST_CASE("launches wait for their lookup and are told of its refusal") {
  const Baseline before;
  LanePool& pool = LanePool::Instance(true);
  const auto recorder = std::make_shared<Recorder>();
  REQUIRE(AccountLookups::Instance().Submit(JobAs("root", recorder, 1), pool).ok());
  REQUIRE(AccountLookups::Instance().Submit(JobAs(kNobody, recorder, 2), pool).ok());
  REQUIRE(AccountLookups::Instance().Submit(Job({"/bin/true"}, recorder, 3), pool).ok());
  REQUIRE(recorder->WaitForLaunches(3));
  for (const Recorder::Launch& launch : recorder->launches()) {
    CHECK(launch.refused == (launch.id == 2 ? ENOENT : 0));
  }
  REQUIRE(recorder->WaitForExits(2));
  CHECK_FALSE(AccountLookups::Instance().Cancel(1));
  CHECK(before.Difference() == "");
}

TEST_CASE("lookups that are taken back at any moment: each is told of once") {
  const Baseline before;
  LanePool& pool = LanePool::Instance(true);
  AccountLookups& lookups = AccountLookups::Instance();
  const auto recorder = std::make_shared<Recorder>();
  constexpr JobId kFirst = 100;
  constexpr JobId kJobs = 150;
  std::atomic<JobId> submitted{kFirst};
  std::atomic<int> wrong{0};
  std::thread submitter([&] {
    for (JobId id = kFirst; id < kFirst + kJobs; ++id) {
      if (!lookups.Submit(JobAs("root", recorder, id), pool).ok()) ++wrong;
      submitted = id + 1;
    }
  });
  std::map<JobId, bool> canceled;
  for (JobId id = kFirst; id < kFirst + kJobs; id += 2) {
    while (submitted <= id) std::this_thread::yield();
    // In the order of the way of a launch: it cannot slip past.
    canceled[id] = lookups.Cancel(id) || pool.Cancel(id);
  }
  submitter.join();
  REQUIRE(recorder->WaitForLaunches(kJobs));
  size_t children = 0;
  for (const Recorder::Launch& launch : recorder->launches()) {
    const auto found = canceled.find(launch.id);
    const bool taken_back = found != canceled.end() && found->second;
    if (launch.refused != (taken_back ? ECANCELED : 0)) ++wrong;
    if (launch.refused == 0) ++children;
  }
  CHECK(wrong == 0);
  REQUIRE(recorder->WaitForExits(children));
  CHECK(recorder->launches().size() == kJobs);
  CHECK(before.Difference() == "");
}

TEST_CASE("the ids of a user are told once, by the number of their lookup") {
  const Baseline before;
  const auto recorder = std::make_shared<UserRecorder>();
  AccountLookups& lookups = AccountLookups::Instance();
  std::map<LookupId, std::string> asked;
  for (const std::string user : {"root", "0", kNobody, "4294967294"}) {
    const Result<LookupId> lookup = lookups.Find(user, recorder);
    REQUIRE(lookup.ok());
    asked[lookup.value()] = user;
  }
  REQUIRE(asked.size() == 4);
  REQUIRE(Eventually([&] { return recorder->heard().size() == 4; }));
  for (const auto& [id, outcome] : recorder->heard()) {
    const bool is_root = asked[id] == "root" || asked[id] == "0";
    CHECK(outcome == (is_root ? "0:0" : "user " + std::to_string(ENOENT) + " " + asked[id]));
  }
  CHECK(Eventually([] { return ThreadsNamed("sallyport-names").empty(); }));
  CHECK(before.Difference() == "");
}

TEST_CASE("a listener that goes away hears nothing of its lookups") {
  const Baseline before;
  LanePool& pool = LanePool::Instance(true);
  AccountLookups& lookups = AccountLookups::Instance();
  const auto leaving = std::make_shared<Recorder>();
  for (JobId id = 500; id < 520; ++id) {
    REQUIRE(lookups.Submit(JobAs("root", leaving, id), pool).ok());
  }
  lookups.CancelAll(leaving.get());
  const size_t heard_by_then = leaving->launches().size();
  pool.CancelAll(leaving.get());
  // What had left the lookup may still tell of itself; what had not is gone.
  CHECK(Eventually([] { return ThreadsNamed("sallyport-names").empty(); }));
  CHECK(Eventually([&] { return HasNoChildren(); }));
  CHECK(leaving->launches().size() >= heard_by_then);
  CHECK(leaving->launches().size() <= 20);
  CHECK(before.Difference() == "");
}

}  // namespace sallyport
