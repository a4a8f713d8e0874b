// How long the call blocks its caller, and how long until the exit was seen.
import { askEach, interleave, withDrivers } from '../interleave.mjs';
import { median, quantile } from '../statistics.mjs';
import { buildRows, describeTarget, microseconds, nameTarget, pool, WARM_UP } from './rows.mjs';

export const title = 'time blocked in the call, and from spawn to exit seen';

export async function run({ drivers, targets, quick }) {
  const files = ['/bin/true', targets.exit_fast].filter(Boolean);
  const [rounds, batch] = quick ? [8, 25] : [20, 50];
  return withDrivers(drivers, async (entries) => {
    const sections = [];
    for (const file of files) {
      await askEach(entries, (driver) => driver.request('calls', file, WARM_UP));
      const answers = await interleave(entries, rounds, (driver) =>
        driver.request('calls', file, batch),
      );
      sections.push({
        id: `calls ${nameTarget(file)}`,
        title: `calls of ${describeTarget(file)}: µs, ${rounds * batch} each`,
        note: 'busy: how long the event loop was at work for each child, the call included (Node only)',
        metrics: [
          { key: 'blockedP50', title: 'blocked p50', compare: true },
          { key: 'blockedP99', title: 'p99' },
          { key: 'exitedP50', title: 'to exit p50', compare: true },
          { key: 'exitedP99', title: 'p99' },
          { key: 'busy', title: 'busy' },
        ],
        rows: buildRows(entries, (entry) => {
          const blocked = pool(answers.get(entry), 'blocked').map(microseconds);
          const exited = pool(answers.get(entry), 'exited').map(microseconds);
          const busy = pool(answers.get(entry), 'busy').map(microseconds);
          return {
            blockedP50: median(blocked),
            blockedP99: quantile(blocked, 0.99),
            exitedP50: median(exited),
            exitedP99: quantile(exited, 0.99),
            busy: median(busy),
          };
        }),
      });
    }
    return sections;
  });
}
