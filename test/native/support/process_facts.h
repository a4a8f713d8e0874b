// What /proc says about this process, its threads and its children.
#pragma once

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/deadline.h"

namespace sallyport {

// A descriptor table as seen from outside: number -> text of the link.
using TableView = std::map<int, std::string>;

inline std::vector<std::string> Names(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  std::vector<std::string> names;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

inline std::string LinkText(const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length < 0 ? std::string() : std::string(text.data(), static_cast<size_t>(length));
}

// `process`: "/proc/<pid>" or "/proc/self/task/<tid>".
inline TableView TableOf(const std::string& process) {
  TableView table;
  for (const std::string& name : Names(process + "/fd")) {
    const std::string text = LinkText(process + "/fd/" + name);
    // Closed since, or the one that was used for looking.
    const bool own = text.rfind("/proc/", 0) == 0 && text.rfind("/fd") == text.size() - 3;
    if (!text.empty() && !own) table[atoi(name.c_str())] = text;
  }
  return table;
}

inline TableView TableOf(pid_t pid) { return TableOf("/proc/" + std::to_string(pid)); }

inline std::string OwnThread(pid_t thread) { return "/proc/self/task/" + std::to_string(thread); }

// By thread, so that a descriptor on a lane is seen too.
inline std::map<pid_t, std::string> OwnThreads() {
  std::map<pid_t, std::string> names;
  for (const std::string& thread : Names("/proc/self/task")) {
    std::ifstream file("/proc/self/task/" + thread + "/comm");
    std::string name;
    if (std::getline(file, name)) names[atoi(thread.c_str())] = name;
  }
  return names;
}

inline std::vector<pid_t> ThreadsNamed(const std::string& wanted) {
  std::vector<pid_t> found;
  for (const auto& [thread, name] : OwnThreads()) {
    if (name == wanted) found.push_back(thread);
  }
  return found;
}

// The children that this thread started and that nobody has reaped.
inline std::vector<pid_t> ChildrenOf(pid_t thread) {
  std::ifstream file(OwnThread(thread) + "/children");
  std::vector<pid_t> children;
  for (pid_t pid; file >> pid;) children.push_back(pid);
  return children;
}

// A line of /proc/<pid>/status, without its name.
inline std::string StatusField(const std::string& process, const std::string& field) {
  std::ifstream file(process + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    const size_t start = line.find_first_not_of(" \t", field.size() + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

inline std::string StatusField(pid_t pid, const std::string& field) {
  return StatusField("/proc/" + std::to_string(pid), field);
}

// Neither running ones nor zombies, of any thread.
inline bool HasNoChildren() {
  siginfo_t info = {};
  return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD;
}

inline std::string Show(const TableView& table) {
  std::string text;
  for (const auto& [fd, target] : table) text += " " + std::to_string(fd) + "=" + target;
  return text;
}

// The table of an idle lane: 0, 1 and 2 on /dev/null, the control socket, nothing else.
inline bool IsCleanLane(pid_t thread) {
  const TableView table = TableOf(OwnThread(thread));
  return table.size() == 4 && table.count(3) == 1 && table.at(3).rfind("socket:[", 0) == 0 &&
         std::all_of(table.begin(), table.find(3),
                     [](const auto& entry) { return entry.second == "/dev/null"; });
}

// What must be there again when a test ends. A lane stays once it has started, and with it the
// other end of its control socket; so does the reactor, with two descriptors.
class Baseline {
 public:
  // ThreadSanitizer starts a thread of its own when the first other one starts. And a lane of the
  // test before may be on its way out: not counted before two looks see the same.
  Baseline() {
    std::thread([] {}).join();
    Eventually([this] {
      const Facts last = std::exchange(before_, Facts());
      return before_.lanes == last.lanes && before_.threads == last.threads &&
             std::all_of(before_.lanes.begin(), before_.lanes.end(), IsCleanLane);
    });
  }

  // "" when everything is as it was, soon; otherwise what is not.
  std::string Difference() const {
    std::string difference;
    Eventually([&] { return (difference = Compare()).empty(); });
    return difference;
  }

 private:
  struct Facts {
    TableView table = TableOf("/proc/thread-self");
    std::vector<pid_t> lanes = ThreadsNamed("sallyport-lane");
    size_t reactors = ThreadsNamed("sallyport-react").size();
    size_t threads = OwnThreads().size();

    size_t Descriptors() const { return table.size() - lanes.size() - 2 * reactors; }
    size_t Threads() const { return threads - lanes.size() - reactors; }
  };

  std::string Compare() const {
    const Facts now;
    std::string difference;
    if (now.Descriptors() != before_.Descriptors()) {
      difference += "before:" + Show(before_.table) + "; now:" + Show(now.table) + "; ";
    }
    if (now.Threads() != before_.Threads()) {
      difference += std::to_string(before_.Threads()) + " threads before, now " +
                    std::to_string(now.Threads()) + "; ";
    }
    if (!HasNoChildren()) difference += "children; ";
    for (pid_t lane : now.lanes) {
      const std::string table = Show(TableOf(OwnThread(lane)));
      if (!IsCleanLane(lane)) difference += "lane:" + table + "; ";
    }
    return difference;
  }

  Facts before_;
};

}  // namespace sallyport
