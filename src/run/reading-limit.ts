// How long a file is read once its run is being ended: it may be as large as its holes make it.

/** In milliseconds: enough for what a program has written before it was ended, some gigabytes. */
const LONGEST_READ = 3_000;

/** @returns asked between two pieces: it is to be read no further */
export function limitReading(isEnding: () => boolean): () => boolean {
  let since: number | undefined;
  return () => {
    if (!isEnding()) return false;
    since ??= performance.now();
    return performance.now() - since > LONGEST_READ;
  };
}
