// Reads the files of one directory in /proc.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/unique_fd.h"

namespace sallyport {

// Reads a file to its end or to `limit` bytes. 0, or the errno.
int ReadFileAt(int directory, const char* name, size_t limit, std::string* text);

// 0, or the errno.
int ReadLinkAt(int directory, const char* name, std::string* target);

// The names that are numbers, in the directory's order. 0, or the errno. `used`: the number that
// was open for it meanwhile, which the listing of our own descriptors has.
int ListNumbers(int directory, std::vector<int>* numbers, int* used = nullptr);

UniqueFd OpenDirectoryAt(int directory, const char* name);

}  // namespace sallyport
