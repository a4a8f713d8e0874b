// Reads the files of one directory in /proc.
#include "core/proc_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <string_view>

#include "core/proc_text.h"

namespace sallyport {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

int ReadFileAt(int directory, const char* name, size_t limit, std::string* text) {
  text->clear();
  const UniqueFd file(openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  std::array<char, 4096> buffer;
  while (text->size() < limit) {
    const ssize_t length = read(file.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno;
    text->append(buffer.data(), std::min(static_cast<size_t>(length), limit - text->size()));
    // These files are made in one piece: what does not fill the buffer was all.
    if (static_cast<size_t>(length) < buffer.size()) break;
  }
  return 0;
}

int ReadLinkAt(int directory, const char* name, std::string* target) {
  std::array<char, PATH_MAX> buffer;
  const ssize_t length = readlinkat(directory, name, buffer.data(), buffer.size());
  if (length < 0) return errno;
  target->assign(buffer.data(), static_cast<size_t>(length));
  return 0;
}

int ListNumbers(int directory, std::vector<int>* numbers, int* used) {
  // fdopendir takes the descriptor over, and the caller keeps using it.
  UniqueFd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return errno;
  const int own_number = own.get();
  if (used != nullptr) *used = own_number;
  const std::unique_ptr<DIR, CloseDirectory> stream(fdopendir(own_number));
  if (stream == nullptr) return errno;
  static_cast<void>(own.release());
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    std::string_view name = entry->d_name;
    uint64_t number = 0;
    if (TakeNumber(&name, &number) && name.empty() && number <= INT_MAX) {
      numbers->push_back(static_cast<int>(number));
    }
    errno = 0;
  }
  return errno;
}

UniqueFd OpenDirectoryAt(int directory, const char* name) {
  return UniqueFd(openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace sallyport
