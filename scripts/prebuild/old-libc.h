/* Ahead of every C++ file: what this machine's libstdc++ takes for granted and glibc 2.28 lacks. */
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT   /* 2.30 */
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK  /* 2.30 */
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK /* 2.30 */

/* In the headers of every glibc that we support, but not of the 2.17 that we link with. */
#define AF_VSOCK 40
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 0x1
#define F_SEAL_SHRINK 0x2
#define F_SEAL_GROW 0x4
#define F_SEAL_WRITE 0x8
