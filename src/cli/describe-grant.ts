// One variable of an environment as text for people: where it comes from and why.
import type { EnvironmentGrant } from '../index.js';

export function describeGrant({ name, origin, reason, flag }: EnvironmentGrant): string {
  const more = flag === undefined ? '' : ` (${flag.kind}: ${flag.why})`;
  return `${name} ${origin}: ${reason}${more}`;
}
