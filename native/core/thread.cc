// Starts the native threads of this addon.
#include "core/thread.h"

#include <pthread.h>

#include <csignal>
#include <memory>

namespace sallyport {

namespace {

// Room for the C library's own per-thread data and a few small frames; the default is 8 MiB.
constexpr size_t kStackSize = 256 * 1024;

void* Run(void* argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

}  // namespace

bool StartThread(const char* name, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackSize);

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, Run, owned.get()) == 0;
  if (started) {
    static_cast<void>(owned.release());  // Run() owns it now
    pthread_setname_np(thread, name);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace sallyport
