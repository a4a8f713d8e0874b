// StringList: the block of strings that exec takes, moved about and never invalidated.
#include "core/launch_request.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/requests.h"

namespace sallyport {
namespace {

std::vector<std::string> Read(const StringList& list) {
  std::vector<std::string> strings;
  for (char* const* at = list.pointers(); *at != nullptr; ++at) strings.emplace_back(*at);
  return strings;
}

}  // namespace

TEST_CASE("empty lists and empty strings") {
  CHECK(Read(StringList()).empty());
  CHECK(Read(StringList("")).empty());
  CHECK(Read(Strings({""})) == std::vector<std::string>{""});
  CHECK(Read(Strings({"", "", "a", ""})) == std::vector<std::string>{"", "", "a", ""});
}

TEST_CASE("a last string without its NUL counts all the same") {
  CHECK(Read(StringList("a")) == std::vector<std::string>{"a"});
  CHECK(Read(StringList(std::string("a\0b", 3))) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a list that is moved points into itself") {
  // Short ones lie inside the string object and move with it; long ones do not.
  for (size_t length : {1, 5, 14, 15, 16, 100, 5000}) {
    CAPTURE(length);
    const std::vector<std::string> wanted = {std::string(length, 'x'), "y"};
    StringList first = Strings(wanted);
    StringList second(std::move(first));
    CHECK(Read(second) == wanted);
    StringList third;
    third = std::move(second);
    CHECK(Read(third) == wanted);
    third = Strings({"other"});
    CHECK(Read(third) == std::vector<std::string>{"other"});

    std::vector<LaunchRequest> requests;
    for (int i = 0; i < 10; ++i) {
      LaunchRequest request;
      request.arguments = Strings(wanted);
      requests.push_back(std::move(request));
    }
    for (const LaunchRequest& request : requests) CHECK(Read(request.arguments) == wanted);
  }
}

TEST_CASE("random bytes come back as they went in") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> wanted(random() % 50);
    for (std::string& text : wanted) {
      text.resize(random() % 60);
      for (char& byte : text) byte = static_cast<char>(1 + random() % 255);
    }
    CHECK(Read(Strings(wanted)) == wanted);
  }
}

}  // namespace sallyport
