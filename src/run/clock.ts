// When a run began, by the wall and by the monotonic clock.

export interface Clock {
  /** ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds. */
  elapsed(): number;
}

export function startClock(): Clock {
  const start = performance.now();
  return {
    startedAt: new Date().toISOString(),
    elapsed: () => Math.round((performance.now() - start) * 1000) / 1000,
  };
}
