/* What this machine's static libstdc++ and libgcc take from newer C libraries. */

/* glibc 2.35: the unwinder asks it for a frame's table. Found nowhere, an exception ends the
   process, as it does in any addon that is built without exceptions. */
int _dl_find_object(void* address, void* result) {
  (void)address;
  (void)result;
  return -1;
}

/* glibc 2.32: never set, shared counters stay atomic. */
char __libc_single_threaded = 0;
