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

class TableScan {
 public:
  // `only` as in ScanRequest. `ours`: numbers that the scan itself has open in this table.
  TableScan(const std::unordered_set<uint64_t>* only, std::vector<int> ours)
      : only_(only), ours_(std::move(ours)) {}

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
  bool ReadOne(const Directories& directories, const char* name, ScannedDescriptor* descriptor);
  bool ReadObject(int directory, const char* name, ScannedDescriptor* descriptor);
  bool ReadDetails(const Directories& directories, const char* name, ScannedDescriptor* descriptor);

  const std::unordered_set<uint64_t>* only_;
  std::vector<int> ours_;
  int link_refused_ = 0;
  int details_refused_ = 0;
  // All sockets are on one filesystem, and so are all pipes: one stat(2) tells which.
  uint64_t socket_dev_ = 0;
  uint64_t pipe_dev_ = 0;
  std::string text_;
};

}  // namespace sallyport
