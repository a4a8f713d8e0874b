// The other end of a pipe under test: `pour out BYTES`, `pour in` (until its end).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBlock = 256 * 1024 };  // More than a pipe holds: the child is never the slow side.
static char block[kBlock];

static int PourOut(long long bytes) {
  memset(block, 'x', sizeof block);
  while (bytes > 0) {
    size_t wanted = bytes < kBlock ? (size_t)bytes : kBlock;
    ssize_t written = write(1, block, wanted);
    if (written <= 0) return 1;
    bytes -= written;
  }
  return 0;
}

static int PourIn(void) {
  for (;;) {
    ssize_t got = read(0, block, sizeof block);
    if (got <= 0) return got < 0;
  }
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "out") == 0) return PourOut(atoll(argv[2]));
  if (argc == 2 && strcmp(argv[1], "in") == 0) return PourIn();
  return 2;
}
