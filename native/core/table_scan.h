// Reads one descriptor table in /proc: of a process, or of a thread that has its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/process_scan.h"

namespace sallyport {

// All sockets are on one filesystem of the kernel's own with one mount, and so are all pipes. Once
// known, they tell a socket by its fdinfo, and its link need not be read.
struct InternalMount {
  int mount = 0;
  uint64_t dev = 0;
};
struct InternalMounts {
  InternalMount sockets;
  InternalMount pipes;
};

class TableScan {
 public:
  // `only` as in ScanRequest. `ours`: numbers that the scan itself has open in this table.
  TableScan(const std::unordered_set<uint64_t>* only, InternalMounts* mounts, std::vector<int> ours)
      : only_(only), mounts_(mounts), ours_(std::move(ours)) {}

  // `directory` is /proc/<pid> or /proc/<pid>/task/<tid>. 0, or the errno with which the list is
  // refused.
  int Read(int directory, pid_t thread, std::vector<ScannedDescriptor>* descriptors);

  // The errno with which the details of some descriptor were refused.
  int details_refused() const { return details_refused_; }

 private:
  struct Directories {
    int fd;
    int fdinfo;
  };
  void ReadRange(const Directories& directories, pid_t thread, const int* begin, const int* end,
                 std::vector<ScannedDescriptor>* descriptors);
  void ReadInParts(const Directories& directories, pid_t thread, const std::vector<int>& numbers,
                   unsigned parts, std::vector<ScannedDescriptor>* descriptors);
  bool ReadOne(const Directories& directories, const char* name, ScannedDescriptor* descriptor);
  bool ReadObject(int directory, const char* name, ScannedDescriptor* descriptor);
  bool ReadInternal(int directory, const char* name, bool is_socket, InternalMount* internal,
                    ScannedDescriptor* descriptor);
  enum class Details { kRead, kRefused, kGone };
  Details ReadDetails(int directory, const char* name, FdinfoFacts* facts);
  bool IsInternal(const FdinfoFacts& facts, ScannedDescriptor* descriptor) const;
  void Learn(const FdinfoFacts& facts, const ScannedDescriptor& descriptor);

  const std::unordered_set<uint64_t>* only_;
  InternalMounts* mounts_;
  std::vector<int> ours_;
  int link_refused_ = 0;
  int details_refused_ = 0;
  std::string text_;
};

}  // namespace sallyport
