// Starts the native threads of this addon.
#include "core/thread.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <utility>

namespace sallyport {

namespace {

// Room for the C library's own per-thread data and a few small frames; the default is 8 MiB.
constexpr size_t kStackSize = 256 * 1024;

struct Beginning {
  const char* name;
  std::function<void()> body;
};

void* Run(void* argument) {
  const std::unique_ptr<Beginning> beginning(static_cast<Beginning*>(argument));
  // Here: from outside it takes a descriptor, and there may be none left.
  prctl(PR_SET_NAME, beginning->name);
  beginning->body();
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
  auto owned = std::make_unique<Beginning>(Beginning{name, std::move(body)});
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, Run, owned.get()) == 0;
  if (started) static_cast<void>(owned.release());  // Run() owns it now
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

bool RunOnThread(const char* name, const std::function<void()>& body) {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  const bool started = StartThread(name, [&] {
    body();
    // Under the lock to its end: once it is let go, what this refers to may be gone.
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
    finished.notify_one();
  });
  if (!started) return false;
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return done; });
  return true;
}

}  // namespace sallyport
