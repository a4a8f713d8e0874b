// Looks up users and groups by the system's own databases, getpwnam(3).
#include "core/accounts.h"

#include <grp.h>
#include <pwd.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "launcher/instructions.h"

namespace sallyport {

namespace {

struct User {
  std::string name;
  uid_t uid;
  gid_t gid;
};

bool IsNumber(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char digit) { return digit >= '0' && digit <= '9'; });
}

// Calls one of the getXXX_r functions with as much room as it asks for. Returns 0 or an errno
// value; ENOENT when there is no such entry.
template <class Entry, class Call>
int Query(Entry* entry, std::vector<char>* room, Call call) {
  room->resize(4096);
  for (;;) {
    Entry* found = nullptr;
    const int refused = call(entry, room->data(), room->size(), &found);
    if (refused == ERANGE) {
      room->resize(room->size() * 2);
    } else if (refused != EINTR) {
      return refused == 0 && found == nullptr ? ENOENT : refused;
    }
  }
}

Result<User> FindUser(const std::string& text) {
  passwd entry;
  std::vector<char> room;
  const int refused =
      IsNumber(text)
          ? Query(&entry, &room,
                  [&text](passwd* e, char* r, size_t s, passwd** f) {
                    return getpwuid_r(static_cast<uid_t>(strtoul(text.c_str(), nullptr, 10)), e, r,
                                      s, f);
                  })
          : Query(&entry, &room, [&text](passwd* e, char* r, size_t s, passwd** f) {
              return getpwnam_r(text.c_str(), e, r, s, f);
            });
  if (refused != 0) return SysError{"user", refused, text};
  return User{entry.pw_name, entry.pw_uid, entry.pw_gid};
}

Result<gid_t> FindGroup(const std::string& text) {
  group entry;
  std::vector<char> room;
  const int refused = Query(&entry, &room, [&text](group* e, char* r, size_t s, group** f) {
    return getgrnam_r(text.c_str(), e, r, s, f);
  });
  if (refused != 0) return SysError{"group", refused, text};
  return entry.gr_gid;
}

std::vector<gid_t> GroupsOf(const User& user) {
  std::vector<gid_t> groups(32);
  for (;;) {
    int count = static_cast<int>(groups.size());
    if (getgrouplist(user.name.c_str(), user.gid, groups.data(), &count) >= 0) {
      groups.resize(static_cast<size_t>(count));
      return groups;
    }
    groups.resize(std::max<size_t>(static_cast<size_t>(count), groups.size() * 2));
  }
}

}  // namespace

Result<AccountIds> LookUpUser(const std::string& user) {
  const Result<User> found = FindUser(user);
  if (!found.ok()) return found.error();
  return AccountIds{found.value().uid, found.value().gid};
}

Result<bool> LookUpAccounts(const AccountNames& names, std::vector<LaunchStep>* steps) {
  // Asked once: all steps are to be about the same answer, and each may take long.
  std::optional<User> user;
  for (LaunchStep& step : *steps) {
    if (std::find(step.arguments.begin(), step.arguments.end(), kLookUp) == step.arguments.end()) {
      continue;
    }
    if (step.code == STEP_GROUP && !names.group.empty()) {
      const Result<gid_t> gid = FindGroup(names.group);
      if (!gid.ok()) return gid.error();
      step.arguments = {gid.value()};
      continue;
    }
    if (step.code != STEP_USER && step.code != STEP_GROUP && step.code != STEP_GROUPS) continue;
    if (!user.has_value()) {
      Result<User> found = FindUser(names.user);
      if (!found.ok()) return found.error();
      user = std::move(found.value());
    }
    if (step.code == STEP_USER) step.arguments = {user->uid};
    if (step.code == STEP_GROUP) step.arguments = {user->gid};
    if (step.code == STEP_GROUPS) {
      const std::vector<gid_t> groups = GroupsOf(*user);
      step.arguments.assign(groups.begin(), groups.end());
    }
  }
  return true;
}

}  // namespace sallyport
