// Makes the kernel refuse system calls, as an old one or a container's profile does.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

namespace sallyport {

struct RefusedCall {
  long number;
  long first_argument = -1;  // refused only with this one; -1: always
};

enum class RefusedFor {
  kThread,  // this thread, and those that it starts from now on
  kProcess,
};

// For good: a filter cannot be taken off. The calling thread gets no_new_privs.
inline bool Refuse(const std::vector<RefusedCall>& calls, int errno_value, RefusedFor whom) {
#if defined(__x86_64__)
  constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const auto refusal = static_cast<unsigned>(SECCOMP_RET_ERRNO | errno_value);
  for (const RefusedCall& call : calls) {
    const bool any = call.first_argument < 0;
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.number), 0,
                              static_cast<unsigned char>(any ? 1 : 3)));
    if (!any) {
      // Its low half: both architectures are little-endian.
      filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));
      filter.push_back(
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.first_argument), 0, 1));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, refusal));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const unsigned flags = whom == RefusedFor::kProcess ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

}  // namespace sallyport
