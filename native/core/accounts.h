// Looks up users and groups by the system's own databases, getpwnam(3).
#pragma once

#include <sys/types.h>

#include <string>

#include "core/launch_request.h"
#include "core/result.h"

namespace sallyport {

// Stands for an id that is to be looked up, among the arguments of a step.
constexpr uint64_t kLookUp = UINT64_MAX;

struct AccountNames {
  std::string user;   // a name, or a number in decimal; "" when no step asks for one
  std::string group;  // likewise; "" for the user's own group
};

struct AccountIds {
  uid_t uid;
  gid_t gid;  // of the user's own group
};

// By name, or by a number in decimal. May take long, as below. Stage "user"; ENOENT: not in the
// databases.
Result<AccountIds> LookUpUser(const std::string& user);

// Replaces every kLookUp: of a user step by the uid, of a group step by the gid, of a groups step
// by all groups that the databases give the user. May take long where they are remote, and opens
// descriptors: never on a lane. Stage "user" or "group" or "groups"; ENOENT: not in the databases.
Result<bool> LookUpAccounts(const AccountNames& names, std::vector<LaunchStep>* steps);

}  // namespace sallyport
