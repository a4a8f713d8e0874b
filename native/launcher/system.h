// Raw system calls, for a program without a C library.
#ifndef SALLYPORT_LAUNCHER_SYSTEM_H
#define SALLYPORT_LAUNCHER_SYSTEM_H

#include <asm/unistd.h>

/* Returns a negative errno value on failure, as the kernel does. */
static inline long Call6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#else
#error "the launcher knows the system calls of x86-64 and arm64"
#endif
}

#define CALL0(n) Call6(n, 0, 0, 0, 0, 0, 0)
#define CALL1(n, a) Call6(n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) Call6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) Call6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) Call6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL5(n, a, b, c, d, e) Call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define CALL6(n, a, b, c, d, e, f) \
  Call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
