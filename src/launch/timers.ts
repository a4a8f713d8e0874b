// Timers, by the event loop or by whoever waits without it.

export interface Timers {
  /** Calls once, after so many milliseconds. @returns what calls it off */
  after(milliseconds: number, call: () => void): () => void;
}

export const loopTimers: Timers = {
  after(milliseconds, call) {
    const timer = setTimeout(call, milliseconds);
    return () => {
      clearTimeout(timer);
    };
  },
};
