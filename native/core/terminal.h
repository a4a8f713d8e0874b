// The controlling terminal and job control: what a shell does for its jobs, for the command line.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "core/result.h"

namespace sallyport {

// Whether fd is the terminal that the keyboard's signals of this session come from.
bool IsControllingTerminal(int fd);

// The process group that the terminal's keyboard belongs to. Stage "terminal".
Result<pid_t> ForegroundGroup(int fd);

// 0 or an errno value. Works from a background group too.
int SetForegroundGroup(int fd, pid_t group);

// Echo, line editing, control characters: what `stty` shows, without the window's size. Stage
// "terminal".
Result<termios> SaveTerminalModes(int fd);

// 0 or an errno value. Works from a background group too. What was typed and not yet read stays.
int RestoreTerminalModes(int fd, const termios& modes);

// Of the terminal's window; 0 where fd is none or does not say.
int TerminalColumns(int fd);

// write(2), also from a background group where the terminal stops those that write (stty tostop).
// What was written, or -1 with errno set.
ssize_t WriteTerminal(int fd, const void* bytes, size_t size);

pid_t ProcessGroup();

// The signal by which this child of ours was stopped, once for each stop; 0 when it was not, or
// goes on already. Never reaps: an exit stays there for the reaper.
int TakeStop(pid_t pid);

enum class SignalScope { kProcess, kGroup };

// Sends a signal to this process, or to its process group, which includes it, and lets the default
// action happen here, whatever handler is installed. For a stop signal this returns when the
// process goes on, or at once where the kernel discards the signal (an orphaned process group).
void RaiseDefault(int signal, SignalScope scope);

// Ends the process and nothing more. Node's own way out puts the modes of the terminal back to what
// they were when it started, which from the background breaks the program that is in the
// foreground.
[[noreturn]] void ExitNow(int code);

}  // namespace sallyport
