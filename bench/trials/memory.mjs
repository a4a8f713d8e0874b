// What the parent pays for each child that lives: private memory, and descriptors.
import { readdirSync, readFileSync } from 'node:fs';
import { askEach, withDrivers } from '../interleave.mjs';
import { buildRows } from './rows.mjs';

export const title = 'private memory and descriptors of the parent for each live child';

function inspect(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const privateKiB = [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)]
    .map((match) => Number(match[1]))
    .reduce((sum, value) => sum + value, 0);
  return { privateKiB, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

export async function run({ drivers, targets, quick }) {
  if (!targets.pour) return [];
  const few = 20;
  const many = few + (quick ? 100 : 300);
  const kept = drivers.filter(({ startsOnly }) => !startsOnly);
  return withDrivers(kept, async (entries) => {
    // The first children pay for what is loaded once.
    const measured = await askEach(entries, async (driver) => {
      await driver.request('live', targets.pour, few);
      const before = inspect(driver.pid);
      await driver.request('live', targets.pour, many);
      const after = inspect(driver.pid);
      await driver.request('release');
      const perChild = (key) => (after[key] - before[key]) / (many - few);
      return { memory: perChild('privateKiB'), descriptors: perChild('descriptors') };
    });
    return [
      {
        id: 'memory',
        title: `a live child with three pipes: per child, of ${many - few}`,
        metrics: [
          { key: 'memory', title: 'KiB private', digits: 1, compare: true },
          { key: 'descriptors', title: 'descriptors', digits: 1 },
        ],
        rows: buildRows(entries, (entry) => measured.get(entry)),
      },
    ];
  });
}
