// Makes launch requests and jobs as short as a test wants them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/launch_job.h"
#include "core/launch_request.h"

namespace sallyport {

inline StringList Strings(const std::vector<std::string>& strings) {
  std::string block;
  for (const std::string& text : strings) block += text + '\0';
  return StringList(std::move(block));
}

// 0, 1 and 2 are /dev/null unless `descriptors` name them.
inline LaunchRequest Request(const std::vector<std::string>& command,
                             std::vector<DescriptorMove> descriptors = {}) {
  LaunchRequest request;
  request.executable = command.front();
  request.arguments = Strings(command);
  request.environment = Strings({"PATH=/usr/bin:/bin"});
  for (int standard = 0; standard <= 2; ++standard) {
    bool named = false;
    for (const DescriptorMove& move : descriptors) named = named || move.target == standard;
    if (!named) request.null_targets.push_back(standard);
  }
  request.descriptors = std::move(descriptors);
  return request;
}

inline LaunchRequest Shell(const std::string& script, std::vector<DescriptorMove> moves = {}) {
  return Request({"/bin/sh", "-c", script}, std::move(moves));
}

// The same as a job: the channels are all /dev/null.
inline std::unique_ptr<LaunchJob> Job(const std::vector<std::string>& command,
                                      std::shared_ptr<LaunchListener> listener, JobId id = 0) {
  auto job = std::make_unique<LaunchJob>();
  job->request = Request(command);
  job->request.null_targets.clear();
  for (int standard = 0; standard <= 2; ++standard) {
    job->table.push_back({standard, TableEntry::Kind::kNull, -1});
  }
  job->listener = std::move(listener);
  job->id = id;
  return job;
}

}  // namespace sallyport
