// Puts what a broker delivers into an environment.
import type { DeliveredCredentials } from './broker.js';

const GIT_COUNT = 'GIT_CONFIG_COUNT';

/**
 * The variables with those of the broker, and without those that would win over them. Configuration
 * that git is given by GIT_CONFIG_COUNT already comes first.
 */
export function applyCredentials(
  variables: Readonly<Record<string, string>>,
  { environment, remove }: DeliveredCredentials,
): Record<string, string> {
  const kept = Object.entries(variables).filter(([name]) => !remove.includes(name));
  // Without a prototype, as all environments here.
  const result = Object.assign(
    Object.create(null) as Record<string, string>,
    Object.fromEntries(kept),
  );
  const before = Number(result[GIT_COUNT] ?? 0);
  const added = environment[GIT_COUNT];
  for (const [name, value] of Object.entries(environment)) {
    const [, what, index] = /^GIT_CONFIG_(KEY|VALUE)_(\d+)$/.exec(name) ?? [];
    if (what === undefined) result[name] = value;
    else result[`GIT_CONFIG_${what}_${before + Number(index)}`] = value;
  }
  if (added !== undefined) result[GIT_COUNT] = String(before + Number(added));
  return result;
}
