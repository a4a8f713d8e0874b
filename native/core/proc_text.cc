// Parsers of what /proc prints about one process. Pure: any bytes give an answer or a refusal.
#include "core/proc_text.h"

#include <algorithm>
#include <limits>

namespace sallyport {

namespace {

constexpr std::string_view kBlanks = " \t";

int DigitOf(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return 16;
}

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

void SkipBlanks(std::string_view* text) {
  text->remove_prefix(std::min(text->size(), text->find_first_not_of(kBlanks)));
}

// A number that may be negative; 0 where there is none.
int64_t SignedWord(std::string_view word) {
  const bool negative = TakePrefix(&word, "-");
  uint64_t number = 0;
  if (!TakeNumber(&word, &number)) return 0;
  number = std::min<uint64_t>(number, std::numeric_limits<int64_t>::max());
  return negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
}

// What fits into an int; 0 for what does not.
pid_t PidWord(std::string_view word) {
  const int64_t number = SignedWord(word);
  return number < -1 || number > std::numeric_limits<pid_t>::max() ? 0 : static_cast<pid_t>(number);
}

uint64_t UnsignedWord(std::string_view word) {
  uint64_t number = 0;
  return TakeNumber(&word, &number) ? number : 0;
}

}  // namespace

bool TakeNumber(std::string_view* text, uint64_t* number, unsigned base) {
  uint64_t value = 0;
  size_t taken = 0;
  for (; taken < text->size(); ++taken) {
    const auto digit = static_cast<unsigned>(DigitOf((*text)[taken]));
    if (digit >= base) break;
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / base) return false;
    value = value * base + digit;
  }
  if (taken == 0) return false;
  text->remove_prefix(taken);
  *number = value;
  return true;
}

std::string_view TakeWord(std::string_view* text) {
  SkipBlanks(text);
  const std::string_view word = text->substr(0, text->find_first_of(kBlanks));
  text->remove_prefix(word.size());
  SkipBlanks(text);
  return word;
}

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

bool ParseStat(std::string_view text, StatFacts* facts) {
  // The name stands in brackets and may itself hold blanks and brackets: up to the last one.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  facts->command = std::string(text.substr(open + 1, close - open - 1));
  text.remove_prefix(close + 1);
  std::string_view rest = TakeLine(&text);
  // The field numbers are those of proc_pid_stat(5); the name was the second.
  constexpr int kLast = 48;
  for (int field = 3; field <= kLast; ++field) {
    const std::string_view word = TakeWord(&rest);
    if (word.empty()) return field > 22;  // old kernels print fewer
    switch (field) {
      case 3:
        facts->state = word.front();
        break;
      case 4:
        facts->parent = PidWord(word);
        break;
      case 5:
        facts->group = PidWord(word);
        break;
      case 6:
        facts->session = PidWord(word);
        break;
      case 9:
        facts->is_kernel_thread = (UnsignedWord(word) & 0x00200000) != 0;  // PF_KTHREAD
        facts->is_exiting = (UnsignedWord(word) & 0x4) != 0;               // PF_EXITING
        break;
      case 20:
        facts->threads = PidWord(word);
        break;
      case 22:
        facts->start_time = UnsignedWord(word);
        break;
      case 26:
        facts->image[0] = UnsignedWord(word);
        // A reader who may not trace it sees 1; a zombie and a thread of the kernel have no
        // program.
        facts->is_loading = facts->image[0] == 0 && !facts->is_exiting &&
                            !facts->is_kernel_thread && facts->state != 'Z' && facts->state != 'X';
        break;
      case 28:
        facts->image[1] = UnsignedWord(word);
        break;
      case 48:
        facts->image[2] = UnsignedWord(word);
        break;
      default:
        break;
    }
  }
  return true;
}

int64_t ParseEffectiveUid(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = TakeLine(&text);
    if (!TakePrefix(&line, "Uid:")) continue;
    TakeWord(&line);  // the real one
    uint64_t uid = 0;
    SkipBlanks(&line);
    if (!TakeNumber(&line, &uid) || uid > std::numeric_limits<uint32_t>::max()) return -1;
    return static_cast<int64_t>(uid);
  }
  return -1;
}

bool ParseFdinfo(std::string_view text, FdinfoFacts* facts) {
  bool has_offset = false;
  bool has_flags = false;
  while (!text.empty()) {
    std::string_view line = TakeLine(&text);
    if (TakePrefix(&line, "pos:")) {
      facts->offset = SignedWord(TakeWord(&line));
      has_offset = true;
    } else if (TakePrefix(&line, "flags:")) {
      SkipBlanks(&line);
      uint64_t flags = 0;
      if (!TakeNumber(&line, &flags, 8) || flags > std::numeric_limits<uint32_t>::max()) continue;
      facts->flags = static_cast<int>(static_cast<uint32_t>(flags));
      has_flags = true;
    } else if (TakePrefix(&line, "mnt_id:")) {
      facts->mount = PidWord(TakeWord(&line));
    } else if (TakePrefix(&line, "ino:")) {
      facts->inode = UnsignedWord(TakeWord(&line));
    } else if (TakePrefix(&line, "lock:")) {
      TakeWord(&line);  // its number
      facts->locks.emplace_back(line);
    } else if (TakePrefix(&line, "Pid:")) {
      facts->pidfd_target = PidWord(TakeWord(&line));
    } else if (TakePrefix(&line, "tfd:")) {
      const int64_t fd = SignedWord(TakeWord(&line));
      if (fd >= 0 && fd <= std::numeric_limits<int>::max()) {
        facts->epoll_targets.push_back(static_cast<int>(fd));
      }
    }
  }
  return has_offset && has_flags;
}

bool ParseInode(std::string_view target, std::string_view prefix, uint64_t* inode) {
  return TakePrefix(&target, prefix) && TakeNumber(&target, inode) && target == "]";
}

}  // namespace sallyport
