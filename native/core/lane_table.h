// The private descriptor table of a spawner lane.
#pragma once

#include "core/result.h"

namespace sallyport {

enum class LaneTable {
  kPrivate,  // holds 0, 1, 2 (/dev/null), the control socket, and nothing else
  kShared,   // the system refuses private tables: the thread has the process's own
};

// Gives the calling thread a descriptor table of its own: close_range(CLOSE_RANGE_UNSHARE), kernel
// 5.9, else unshare(CLONE_FILES), kernel 2.6.16. After that no descriptor number of the process
// means anything on this thread. Fails where /dev/null cannot be opened: a copy of the parent's 0,
// 1 and 2 would keep its pipes open after it has closed them.
//
// `control`: the number of the control socket, which is another one afterwards, after a failure
// too.
Result<LaneTable> IsolateTable(int* control);

}  // namespace sallyport
