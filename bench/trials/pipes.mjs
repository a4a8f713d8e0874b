// How fast a child's output is read, and its input written.
import { interleave, withDrivers } from '../interleave.mjs';
import { median } from '../statistics.mjs';
import { buildRows } from './rows.mjs';

export const title = 'reading 4 GiB from a child, writing 1 GiB to a child';

const GIBIBYTE = 2 ** 30;

export async function run({ drivers, targets, quick }) {
  if (!targets.pour) return [];
  const rounds = quick ? 2 : 3;
  const sizes = quick ? { read: 0.5, write: 0.25 } : { read: 4, write: 1 };
  const starting = drivers.filter(
    ({ wrapsChildProcess, startsOnly }) => !wrapsChildProcess && !startsOnly,
  );
  return withDrivers(starting, async (entries) => {
    const rates = new Map(entries.map((entry) => [entry, {}]));
    for (const [direction, gibibytes] of Object.entries(sizes)) {
      const bytes = gibibytes * GIBIBYTE;
      const answers = await interleave(entries, rounds, async (driver) => {
        const answer = await driver.request(direction, targets.pour, bytes);
        if (answer.bytes !== bytes) throw new Error(`${direction} ${answer.bytes} of ${bytes}`);
        return gibibytes / (answer.elapsed / 1e9);
      });
      for (const [entry, own] of answers) rates.get(entry)[direction] = median(own);
    }
    return [
      {
        id: 'pipes',
        title: `pipes: GiB a second, median of ${rounds}`,
        note: 'here more is better: a ratio above 1 is in favour of sallyport',
        metrics: Object.entries(sizes).map(([direction, gibibytes]) => ({
          key: direction,
          title: `${direction} ${gibibytes} GiB`,
          digits: 2,
          compare: true,
        })),
        rows: buildRows(entries, (entry) => rates.get(entry)),
      },
    ];
  });
}
