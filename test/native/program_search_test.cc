// A program by its name: the candidates of execvp(3), what is passed over, and scripts without
// '#!'.
#include "core/program_search.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/posix_spawner.h"

namespace sallyport {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("candidates are those of execvp") {
  CHECK(ListCandidates("tool", "/a:/b") == Names{"/a/tool", "/b/tool"});
  CHECK(ListCandidates("tool", "") == Names{"tool"});
  CHECK(ListCandidates("tool", ":/b:") == Names{"tool", "/b/tool", "tool"});
  CHECK(ListCandidates("./tool", "/a") == Names{"./tool"});
  CHECK(ListCandidates("", "/a").empty());
}

// Starts nothing that is to be watched: what is executed is told by the attempt alone.
struct Attempts {
  Names executed;
  Names first_arguments;
  int refusal = ENOENT;

  Result<LaunchedChild> operator()(LaunchJob& job) {
    executed.push_back(job.request.executable);
    first_arguments.emplace_back(job.request.arguments.pointers()[0]);
    return SysError{"exec", refusal, job.request.executable};
  }
};

class Directory {
 public:
  Directory() { CHECK(mkdtemp(&path_[0]) != nullptr); }
  ~Directory() { CHECK(system(("rm -r " + path_).c_str()) == 0); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }
  void Add(const std::string& name) const { std::ofstream(path_ + "/" + name) << "x"; }

 private:
  std::string path_ = "/tmp/sallyport-search-XXXXXX";
};

SysError Search(Attempts& attempts, const std::string& name, const std::string& path) {
  LaunchJob job;
  job.request.executable = name;
  const std::string arguments("named\0a\0", 8);
  job.request.arguments = StringList(arguments);
  const Result<LaunchedChild> child = SpawnSearched(job, path, arguments, std::ref(attempts));
  REQUIRE(!child.ok());
  return child.error();
}

TEST_CASE("what is not there costs no attempt") {
  const Directory directory;
  directory.Add("tool");
  Attempts attempts;
  attempts.refusal = E2BIG;
  CHECK(Search(attempts, "tool", "/no/such:" + directory.path()).errno_value == E2BIG);
  CHECK(attempts.executed == Names{directory.path() + "/tool"});
}

TEST_CASE("one that is denied is remembered, and the search goes on") {
  const Directory first;
  const Directory second;
  first.Add("tool");
  second.Add("tool");
  Attempts attempts;
  attempts.refusal = EACCES;
  const std::string path = first.path() + ":" + second.path() + ":/no/such";
  CHECK(Search(attempts, "tool", path).errno_value == EACCES);
  CHECK(attempts.executed == Names{first.path() + "/tool", second.path() + "/tool"});
}

TEST_CASE("what has no format is given to /bin/sh, once") {
  const Directory directory;
  directory.Add("tool");
  Attempts attempts;
  attempts.refusal = ENOEXEC;
  CHECK(Search(attempts, directory.path() + "/tool", "").errno_value == ENOEXEC);
  CHECK(attempts.executed == Names{directory.path() + "/tool", "/bin/sh"});
  CHECK(attempts.first_arguments == Names{"named", "/bin/sh"});
}

TEST_CASE("nothing is searched for in a name that is empty or too long") {
  Attempts attempts;
  CHECK(Search(attempts, "", "/bin").errno_value == ENOENT);
  CHECK(Search(attempts, std::string(300, 'x'), "/bin").errno_value == ENAMETOOLONG);
  CHECK(attempts.executed.empty());
}

}  // namespace
}  // namespace sallyport
