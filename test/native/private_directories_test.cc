// Directories of a workspace, made and removed beside symlinks and within a budget.
#include "core/private_directories.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/beneath.h"
#include "core/unique_fd.h"

namespace sallyport {
namespace {

class Scratch {
 public:
  Scratch() {
    char path[] = "/tmp/sallyport-native-XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Scratch() {
    const std::string command = "rm -rf " + path_;
    REQUIRE(system(command.c_str()) == 0);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<PrivateDirectories> Make(const Scratch& scratch) {
  return MakePrivateDirectories(scratch.path(), {".home", ".home/.cache", ".tmp"}, geteuid(),
                                getegid());
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

void WriteFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(fd.valid());
}

TEST_CASE("parents and names") {
  CHECK(ParentOf("a") == "");
  CHECK(NameOf("a") == "a");
  CHECK(ParentOf("a/b/c") == "a/b");
  CHECK(NameOf("a/b/c") == "c");
}

TEST_CASE("a directory is opened beneath, and a symlink on the way is ELOOP") {
  const Scratch scratch;
  REQUIRE(mkdir((scratch / "a").c_str(), 0700) == 0);
  REQUIRE(mkdir((scratch / "a/b").c_str(), 0700) == 0);
  REQUIRE(symlink("a", (scratch / "link").c_str()) == 0);
  REQUIRE(symlink("b", (scratch / "a/last").c_str()) == 0);
  WriteFile(scratch / "file");
  const UniqueFd root(open(scratch.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(OpenDirectoryBeneath(root.get(), "a/b", O_PATH).valid());
  CHECK(OpenDirectoryBeneath(root.get(), "", O_PATH).valid());
  const auto refused = [&root](const char* path) {
    return OpenDirectoryBeneath(root.get(), path, O_RDONLY).valid() ? 0 : errno;
  };
  CHECK(refused("link") == ELOOP);
  CHECK(refused("link/b") == ELOOP);
  CHECK(refused("a/last") == ELOOP);
  CHECK(refused("file") == ENOTDIR);
  CHECK(refused("none") == ENOENT);
  CHECK(refused("none/b") == ENOENT);
}

TEST_CASE("what was made is taken back where the next one is refused") {
  const Scratch scratch;
  REQUIRE(symlink("/tmp", (scratch / ".tmp").c_str()) == 0);
  const Result<PrivateDirectories> made = Make(scratch);
  REQUIRE(!made.ok());
  CHECK(made.error().errno_value == ELOOP);
  CHECK(made.error().path == scratch / ".tmp");
  CHECK(!Exists(scratch / ".home"));
}

TEST_CASE("a tree is removed within a budget, call by call") {
  const Scratch scratch;
  const Result<PrivateDirectories> made = Make(scratch);
  REQUIRE(made.ok());
  std::string path = scratch / ".home";
  for (int depth = 0; depth < 30; ++depth) {
    for (int i = 0; i < 5; ++i) WriteFile(path + "/" + std::to_string(i));
    path += "/d";
    REQUIRE(mkdir(path.c_str(), 0700) == 0);
  }
  REQUIRE(symlink("/etc", (path + "/link").c_str()) == 0);
  const PrivateDirectories& directories = made.value();
  int calls = 0;
  for (; calls < 1000; ++calls) {
    const Result<bool> gone = RemovePrivateDirectory(scratch.path(), directories.root, ".home",
                                                     directories.directories[0].identity, 10);
    REQUIRE(gone.ok());
    if (gone.value()) break;
  }
  CHECK(calls > 10);
  CHECK(!Exists(scratch / ".home"));
  CHECK(Exists("/etc/passwd"));
  CHECK(Exists(scratch / ".tmp"));
}

TEST_CASE("another directory in its place is not removed") {
  const Scratch scratch;
  const Result<PrivateDirectories> made = Make(scratch);
  REQUIRE(made.ok());
  REQUIRE(rename((scratch / ".home").c_str(), (scratch / "aside").c_str()) == 0);
  REQUIRE(mkdir((scratch / ".home").c_str(), 0700) == 0);
  const PrivateDirectories& directories = made.value();
  const Result<bool> gone = RemovePrivateDirectory(scratch.path(), directories.root, ".home",
                                                   directories.directories[0].identity, 10);
  REQUIRE(!gone.ok());
  CHECK(gone.error().errno_value == ESTALE);
  CHECK(Exists(scratch / ".home"));
  CHECK(Exists(scratch / "aside/.cache"));
}

}  // namespace
}  // namespace sallyport
