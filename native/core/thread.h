// Starts the native threads of this addon.
#pragma once

#include <functional>

namespace sallyport {

// Runs `body` on a detached thread with every signal blocked: a signal that the kernel delivered to
// a thread of ours would never reach JavaScript. `name`: a literal of at most 15 characters. False
// when the system refuses another thread.
bool StartThread(const char* name, std::function<void()> body);

// The same, and waits until `body` has returned. False, without having run it, likewise.
bool RunOnThread(const char* name, const std::function<void()>& body);

}  // namespace sallyport
