// Medians and quantiles of samples.

/** Nearest rank; undefined where there is no sample. */
export function quantile(samples, q) {
  if (samples.length === 0) return undefined;
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}

export const median = (samples) => quantile(samples, 0.5);
