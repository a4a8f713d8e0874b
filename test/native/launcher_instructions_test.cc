// The block that the launcher reads, read as the launcher does.
#include "core/launcher_instructions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "launcher/instructions.h"
#include "support/requests.h"

namespace sallyport {
namespace {

// Nothing is read outside of the block: AddressSanitizer would not see it within a string's room.
class Reader {
 public:
  explicit Reader(const std::string& block) : block_(block.begin(), block.end()) {
    REQUIRE(block_.size() >= sizeof header);
    memcpy(&header, block_.data(), sizeof header);
  }

  uint64_t Word(size_t offset) const {
    REQUIRE(offset + sizeof(uint64_t) <= block_.size());
    uint64_t word;
    memcpy(&word, block_.data() + offset, sizeof word);
    return word;
  }
  std::string Text(size_t offset) const {
    REQUIRE(offset < block_.size());
    const size_t room = block_.size() - offset;
    const size_t length = strnlen(block_.data() + offset, room);
    REQUIRE(length < room);
    return std::string(block_.data() + offset, length);
  }
  std::vector<std::string> Texts(size_t list) const {
    CHECK(list % 8 == 0);
    std::vector<std::string> texts;
    for (size_t at = list; Word(at) != 0; at += 8) texts.push_back(Text(Word(at)));
    return texts;
  }
  std::vector<LaunchStep> Steps() const {
    std::vector<LaunchStep> steps;
    for (uint32_t at = 0; at < header.step_words;) {
      const uint64_t word = Word(sizeof header + 8 * at++);
      LaunchStep step = {static_cast<uint32_t>(word), {}};
      for (uint64_t i = 0; i < word >> 32; ++i) {
        step.arguments.push_back(Word(sizeof header + 8 * at++));
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }
  size_t size() const { return block_.size(); }

  LauncherHeader header;

 private:
  std::vector<char> block_;
};

std::vector<std::string> RandomTexts(std::mt19937* random) {
  std::vector<std::string> texts((*random)() % 20);
  for (std::string& text : texts) {
    text.resize((*random)() % 40);
    for (char& byte : text) byte = static_cast<char>(1 + (*random)() % 255);
  }
  return texts;
}

}  // namespace

TEST_CASE("whatever is asked for is in the block, once") {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const std::vector<std::string> arguments = RandomTexts(&random);
    const std::vector<std::string> environment = RandomTexts(&random);
    LaunchRequest request = Request({"/bin/true"});
    request.executable = std::string(1 + random() % 30, 'e');
    request.arguments = Strings(arguments);
    request.environment = Strings(environment);
    request.init = random() % 2 == 0;
    request.control = request.init ? static_cast<int>(random() % 10) : -1;
    request.session = static_cast<SessionMode>(random() % 3);
    const size_t steps = random() % 8;
    for (size_t i = 0; i < steps; ++i) {
      LaunchStep step = {static_cast<uint32_t>(1 + random() % 11), {}};
      step.arguments.resize(random() % 5);
      for (uint64_t& argument : step.arguments) argument = random();
      request.steps.push_back(step);
    }
    request.descriptors = {{5, static_cast<int>(random() % 100)}, {6, 2}};

    const Reader block(BuildInstructions(request));
    CHECK(block.header.magic == LAUNCHER_MAGIC);
    CHECK(block.header.size == block.size());
    CHECK(block.header.role == (request.init ? ROLE_INIT : ROLE_EXEC));
    CHECK(block.header.control == request.control);
    CHECK(block.header.session == static_cast<int>(request.session));
    CHECK(block.header.foreground == -1);
    CHECK(block.header.highest == std::max(2, request.descriptors[0].target));
    CHECK(block.Text(block.header.executable) == request.executable);
    CHECK(block.Texts(block.header.argv) == arguments);
    CHECK(block.Texts(block.header.envp) == environment);
    const std::vector<LaunchStep> read = block.Steps();
    REQUIRE(read.size() == request.steps.size());
    for (size_t i = 0; i < read.size(); ++i) {
      CHECK(read[i].code == request.steps[i].code);
      CHECK(read[i].arguments == request.steps[i].arguments);
    }
  }
}

TEST_CASE("LISTEN_PID has a variable of its own, with room for any pid") {
  LaunchRequest request = Request({"/bin/true"});
  request.environment = Strings({"LISTEN_FDS=2"});
  request.steps = {{STEP_UMASK, {022}}};
  request.announces_listeners = true;
  std::string bytes = BuildInstructions(request);
  const Reader block(bytes);
  const std::vector<LaunchStep> steps = block.Steps();
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].code == STEP_UMASK);
  CHECK(steps[1].code == STEP_LISTEN_PID);
  REQUIRE(steps[1].arguments.size() == 1);
  // As the launcher writes it: the longest that a 64-bit number can be.
  const std::string longest = "18446744073709551615";
  bytes.replace(steps[1].arguments[0], longest.size(), longest);
  const Reader written(bytes);
  CHECK(written.Texts(written.header.envp) ==
        std::vector<std::string>{"LISTEN_FDS=2", "LISTEN_PID=" + longest});
  CHECK(written.Text(written.header.executable) == "/bin/true");
  CHECK(written.Texts(written.header.argv) == std::vector<std::string>{"/bin/true"});
}

TEST_CASE("every step that can be refused has a stage of its own") {
  std::vector<std::string> stages;
  for (uint32_t code : {STEP_EXEC, STEP_LIMIT, STEP_UMASK, STEP_NICE, STEP_IO_PRIORITY,
                        STEP_OOM_SCORE_ADJUST, STEP_CPU_AFFINITY, STEP_TERMINAL, STEP_GROUPS,
                        STEP_GROUP, STEP_USER, STEP_DIE_WITH_PARENT, STEP_CGROUP}) {
    const std::string stage = StepStage(code);
    CHECK(stage != "launcher");
    CHECK(std::count(stages.begin(), stages.end(), stage) == 0);
    stages.push_back(stage);
  }
  CHECK(std::string(StepStage(STEP_INSTRUCTIONS)) == "launcher");
  CHECK(std::string(StepStage(4711)) == "launcher");
}

}  // namespace sallyport
