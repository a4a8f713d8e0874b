// Which variables a child of a replaced child_process is given.
import { PASSED_THROUGH } from '../plan/create-environment.js';
import type { Settings } from './settings.js';

/** Node's own, between a parent and its fork; and what registers the child as well. */
const ALWAYS = [
  'PATH',
  ...PASSED_THROUGH,
  'NODE_CHANNEL_FD',
  'NODE_CHANNEL_SERIALIZATION_MODE',
  'NODE_UNIQUE_ID',
  'SALLYPORT_REGISTER',
];

export function inheritedPairs(): string[] {
  return Object.entries(process.env).map(([name, value]) => `${name}=${value ?? ''}`);
}

/**
 * By the time that a call comes here Node has mixed what the program wrote with what this process has.
 * What is the same as in this process counts as inherited.
 */
export function limitEnvironment(
  pairs: readonly string[],
  { allowedVariables }: Settings,
): readonly string[] {
  if (allowedVariables === undefined) return pairs;
  const allowed = new Set([...ALWAYS, ...allowedVariables]);
  return pairs.filter((pair) => {
    const end = pair.indexOf('=');
    const name = pair.slice(0, end === -1 ? pair.length : end);
    return allowed.has(name) || process.env[name] !== pair.slice(end + 1);
  });
}
