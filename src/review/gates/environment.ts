// The gate of the environment and the working directory.
import { posix } from 'node:path';

import { Comparison, type Case, type Gate } from '../gate.js';
import { isWithin } from './arguments.js';

export function reviewEnvironment({ plan, approved }: Case): Gate {
  const comparison = new Comparison();
  const { fixed, passed, granted } = approved.environment;
  const allowed = new Set([...passed, ...granted].map(({ name }) => name));
  for (const [name, value] of Object.entries(plan.environment)) {
    if (allowed.has(name)) continue;
    const path = `environment.${name}`;
    if (!Object.hasOwn(fixed, name)) comparison.wider(path, 'nothing', 'a value');
    else if (fixed[name] !== value) comparison.wider(path, 'a fixed value', 'another value');
  }
  for (const name of [...Object.keys(fixed), ...granted.map(({ name: each }) => each)]) {
    if (!Object.hasOwn(plan.environment, name)) {
      comparison.narrower(`environment.${name}`, 'a value', 'nothing');
    }
  }
  const directory = 'path' in approved.cwd ? approved.cwd.path : approved.cwd.within;
  const isApproved =
    'path' in approved.cwd
      ? plan.cwd === directory
      : isWithin(plan.cwd, directory) && posix.normalize(plan.cwd) === plan.cwd;
  if (!isApproved) comparison.wider('cwd', directory, plan.cwd);
  const names = Object.keys(plan.environment).sort();
  return comparison.gate(
    'environment',
    `${[...Object.keys(fixed), ...allowed].sort().join(' ')}; in ${'path' in approved.cwd ? '' : 'or below '}${directory}`,
    `${names.join(' ')}; in ${plan.cwd}`,
    {
      accept:
        'each variable was approved, and so was the directory; a directory confines nothing, and other authority of the user remains',
      hold: 'something of the environment that was approved is missing',
      reject: 'the environment or the directory is not the one that was approved',
    },
  );
}
