// Binding of the scans: processes, their descriptors and sockets, and comparisons between them.
#include "binding/auditing.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "binding/values.h"
#include "core/process_scan.h"
#include "core/serving_evidence.h"
#include "core/socket_scan.h"
#include "core/system_calls.h"

namespace sallyport {

namespace {

// One array of numbers and one string in which each entry is followed by a NUL: an object for each
// of ten thousand descriptors, made here by one call a property, would cost more than the scan.
// src/audit/unpack.ts takes them in the same order.
class Packed {
 public:
  void Number(double number) { numbers_.push_back(number); }
  void Inode(uint64_t inode) {
    Number(static_cast<double>(inode >> 32));
    Number(static_cast<double>(inode & 0xffffffff));
  }
  void Text(std::string_view text) {
    text_.append(text);
    text_.push_back('\0');
  }

  Napi::Value ToJs(Napi::Env env) const {
    Napi::Float64Array numbers = Napi::Float64Array::New(env, numbers_.size());
    if (!numbers_.empty()) {
      memcpy(numbers.Data(), numbers_.data(), numbers_.size() * sizeof(double));
    }
    Napi::Array pair = Napi::Array::New(env, 2);
    pair.Set(0u, numbers);
    pair.Set(1u, Napi::String::New(env, text_));
    return pair;
  }

 private:
  std::vector<double> numbers_;
  std::string text_;
};

void Pack(const ScannedDescriptor& descriptor, const SocketScan& sockets, Packed* packed) {
  packed->Number(descriptor.fd);
  packed->Number(descriptor.thread);
  packed->Number(static_cast<double>(descriptor.kind));
  packed->Number(static_cast<double>(descriptor.access));
  packed->Number(descriptor.close_on_exec);
  packed->Number(descriptor.flags);
  packed->Number(static_cast<double>(descriptor.offset));
  packed->Number(static_cast<double>(descriptor.dev));
  packed->Inode(descriptor.inode);
  packed->Number(descriptor.deleted ? 1 : 0);
  packed->Number(descriptor.pidfd_target);
  packed->Number(static_cast<double>(descriptor.locks.size()));
  const bool is_socket =
      descriptor.kind == ObjectKind::kSocket || descriptor.kind == ObjectKind::kListener;
  const auto row = is_socket ? sockets.by_inode.find(descriptor.inode) : sockets.by_inode.end();
  packed->Number(row == sockets.by_inode.end() ? -1 : static_cast<double>(row->second));
  packed->Text(descriptor.target);
  for (const std::string& lock : descriptor.locks) packed->Text(lock);
}

void Pack(const ScannedProcess& process, const SocketScan& sockets, Packed* packed) {
  packed->Number(process.pid);
  packed->Number(static_cast<unsigned char>(process.facts.state));
  packed->Number(process.facts.parent);
  packed->Number(process.facts.group);
  packed->Number(process.facts.session);
  packed->Number(process.facts.threads);
  packed->Number(static_cast<double>(process.facts.start_time));
  packed->Number(static_cast<double>(process.uid));
  packed->Number(static_cast<double>(process.network));
  packed->Number(static_cast<double>(process.refusal));
  packed->Number(process.errno_value);
  packed->Number(static_cast<double>(process.arguments.size()));
  packed->Number(static_cast<double>(process.descriptors.size()));
  packed->Text(process.facts.command);
  packed->Text(process.executable);
  for (const std::string& argument : process.arguments) packed->Text(argument);
  for (const ScannedDescriptor& descriptor : process.descriptors) {
    Pack(descriptor, sockets, packed);
  }
}

void Pack(const SocketRow& row, uint64_t network, Packed* packed) {
  packed->Inode(row.inode);
  packed->Number(row.family);
  packed->Number(row.type);
  packed->Number(row.protocol);
  packed->Number(row.state);
  packed->Number(static_cast<double>(row.receive_queue));
  packed->Number(static_cast<double>(row.send_queue));
  packed->Number(static_cast<double>(row.uid));
  packed->Inode(row.peer);
  packed->Number(static_cast<double>(network));
  packed->Text(row.local);
  packed->Text(row.remote);
}

// Bits of the second argument, SCAN_* in src/native-binding.ts.
constexpr uint32_t kEvery = 1;
constexpr uint32_t kFactsOnly = 2;
constexpr uint32_t kSockets = 4;
constexpr uint32_t kListeners = 8;

// pids Int32Array, SCAN_* bits, inodes Float64Array (ScanRequest::only), port -> [numbers, text] |
// failure
Napi::Value Scan(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ScanRequest request;
  const Napi::Int32Array pids = info[0].As<Napi::Int32Array>();
  request.pids.assign(pids.Data(), pids.Data() + pids.ElementLength());
  const uint32_t bits = info[1].As<Napi::Number>().Uint32Value();
  request.every = (bits & kEvery) != 0;
  request.facts_only = (bits & kFactsOnly) != 0;
  const Napi::Float64Array only = info[2].As<Napi::Float64Array>();
  for (size_t i = 0; i < only.ElementLength(); ++i) {
    request.only.insert(static_cast<uint64_t>(only.Data()[i]));
  }
  int list_refused = 0;
  std::vector<ScannedProcess> processes = ScanProcesses(request, &list_refused);
  if (list_refused != 0) return FailureToJs(env, SysError{"audit", list_refused, "/proc"});
  SocketScan sockets;
  if ((bits & kSockets) != 0) {
    SocketWish wish;
    wish.listeners = (bits & kListeners) != 0;
    wish.port = info[3].As<Napi::Number>().Int32Value();
    sockets = ResolveSockets(wish, &processes);
  }
  Packed packed;
  packed.Number(static_cast<double>(processes.size()));
  packed.Number(static_cast<double>(sockets.rows.size()));
  packed.Number(static_cast<double>(sockets.own_network));
  for (size_t i = 0; i < sockets.rows.size(); ++i) {
    Pack(sockets.rows[i], sockets.namespaces[i], &packed);
  }
  for (const ScannedProcess& process : processes) Pack(process, sockets, &packed);
  return packed.ToJs(env);
}

// left pid, right pid, pairs of numbers Int32Array -> for each pair 0 (same open file description),
// 1 or 2 (less or greater, in an order of the kernel's own) or a negative errno
Napi::Value Compare(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const int left = info[0].As<Napi::Number>().Int32Value();
  const int right = info[1].As<Napi::Number>().Int32Value();
  const Napi::Int32Array pairs = info[2].As<Napi::Int32Array>();
  Napi::Int32Array answers = Napi::Int32Array::New(env, pairs.ElementLength() / 2);
  for (size_t i = 0; i < answers.ElementLength(); ++i) {
    const int order = CompareFiles(left, pairs.Data()[2 * i], right, pairs.Data()[2 * i + 1]);
    answers.Data()[i] = order < 0 ? -errno : order;
  }
  return answers;
}

// pid, inodes of listeners Float64Array -> for each epoll, accept, poll, unclear, errno
Napi::Value Serving(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Float64Array given = info[1].As<Napi::Float64Array>();
  std::vector<uint64_t> inodes;
  for (size_t i = 0; i < given.ElementLength(); ++i) {
    inodes.push_back(static_cast<uint64_t>(given.Data()[i]));
  }
  const std::vector<ServingEvidence> found =
      FindServingEvidence(info[0].As<Napi::Number>().Int32Value(), inodes);
  Napi::Int32Array result = Napi::Int32Array::New(env, 5 * found.size());
  int32_t* at = result.Data();
  for (const ServingEvidence& evidence : found) {
    *at++ = evidence.epoll ? 1 : 0;
    *at++ = evidence.accept ? 1 : 0;
    *at++ = evidence.poll ? 1 : 0;
    *at++ = evidence.unclear ? 1 : 0;
    *at++ = evidence.refused;
  }
  return result;
}

}  // namespace

void InitAuditing(Napi::Env env, Napi::Object exports) {
  exports.Set("scanProcesses", Napi::Function::New<Scan>(env, "scanProcesses"));
  exports.Set("compareFiles", Napi::Function::New<Compare>(env, "compareFiles"));
  exports.Set("findServingEvidence", Napi::Function::New<Serving>(env, "findServingEvidence"));
}

}  // namespace sallyport
