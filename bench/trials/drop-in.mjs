// child_process with and without sallyport/register, on each Node, in an empty parent and a big one.
import path from 'node:path';

import { availableMemory } from '../machine.mjs';
import { askEach, askTogether, interleave, withDrivers } from '../interleave.mjs';
import { median } from '../statistics.mjs';
import { buildRows, microseconds, pool } from './rows.mjs';

export const title = 'child_process with and without sallyport/register';

const register = path.join(import.meta.dirname, '../../dist/register.js');
const WARM_UP = 50;

/** `node` → `node` and `registered`, `node24` → `node24` and `registered24`. */
function withRegistered(definition) {
  const [node, ...words] = definition.command;
  const registered = {
    ...definition,
    id: definition.id.replace('node', 'registered'),
    label: `${definition.label}, registered,`,
    subject: true,
    command: [node, '--require', register, ...words],
  };
  return [registered, definition];
}

export async function run({ drivers, quick }) {
  const nodes = drivers.filter(({ id }) => /^node\d*$/.test(id)).flatMap(withRegistered);
  const [rounds, batch] = quick ? [4, 5] : [10, 10];
  const sections = [];
  for (const gibibytes of [0, 1, 4]) {
    const fitting = Math.floor((availableMemory() * 0.8) / (gibibytes * 2 ** 30 * 1.05));
    const pairs = Math.floor(Math.min(fitting, nodes.length) / 2);
    if (pairs === 0 || (quick && gibibytes > 1)) continue;
    // A pair is measured in one run.
    for (let first = 0; first < nodes.length; first += pairs * 2) {
      const group = nodes.slice(first, first + pairs * 2);
      sections.push(await measure(group, gibibytes, rounds, batch));
    }
  }
  return sections;
}

function measure(definitions, gibibytes, rounds, batch) {
  return withDrivers(definitions, async (entries) => {
    const ask = (name, count) => (driver) => driver.request(name, '/bin/true', count);
    await askEach(entries, ask('calls', WARM_UP));
    await askEach(entries, ask('sync', WARM_UP));
    await askTogether(entries, (driver) => driver.request('buffers', gibibytes * 1024));
    const calls = await interleave(entries, rounds, ask('calls', batch));
    const sync = await interleave(entries, rounds, ask('sync', batch));
    return {
      id: `drop-in ${gibibytes}`,
      title: `a parent of ${gibibytes} GiB: µs, p50 of ${rounds * batch}`,
      metrics: [
        { key: 'blocked', title: 'spawn blocks', compare: true },
        { key: 'sync', title: 'spawnSync', compare: true },
        { key: 'shell', title: 'execSync', compare: true },
      ],
      rows: buildRows(entries, (entry) => ({
        blocked: median(pool(calls.get(entry), 'blocked').map(microseconds)),
        sync: median(pool(sync.get(entry), 'sync').map(microseconds)),
        shell: median(pool(sync.get(entry), 'shell').map(microseconds)),
      })),
    };
  });
}
