// Children started and seen to exit in a second, with 1, 8 and 64 of them in flight.
import { askEach, interleave, withDrivers } from '../interleave.mjs';
import { median } from '../statistics.mjs';
import { buildRows, describeTarget, nameTarget, pool, WARM_UP } from './rows.mjs';

export const title = 'children a second with 1, 8 and 64 in flight';

const LEVELS = [1, 8, 64];

export async function run({ drivers, targets, quick }) {
  const [rounds, count] = quick ? [2, 128] : [5, 320];
  const files = ['/bin/true', targets.exit_fast].filter(Boolean);
  return withDrivers(drivers, async (entries) => {
    const sections = [];
    for (const file of files) {
      const rates = new Map(entries.map((entry) => [entry, {}]));
      await askEach(entries, (driver) => driver.request('throughput', file, 8, WARM_UP));
      for (const level of LEVELS) {
        const answers = await interleave(entries, rounds, (driver) =>
          driver.request('throughput', file, level, count),
        );
        for (const [entry, own] of answers) {
          rates.get(entry)[level] = median(pool(own, 'elapsed').map((ns) => count / (ns / 1e9)));
        }
      }
      sections.push({
        id: `throughput ${nameTarget(file)}`,
        title: `throughput of ${describeTarget(file)}: children a second, median of ${rounds} × ${count}`,
        note: 'here more is better: a ratio above 1 is in favour of sallyport',
        metrics: LEVELS.map((level) => ({
          key: String(level),
          title: `${level} in flight`,
          compare: true,
        })),
        rows: buildRows(entries, (entry) => rates.get(entry)),
      });
    }
    return sections;
  });
}
