// What it costs to hold a child before its exec and to look at it.
import { askEach, interleave, withDrivers } from '../interleave.mjs';
import { withOptions } from '../registry.mjs';
import { median, quantile } from '../statistics.mjs';
import { describeTarget, microseconds, nameTarget, pool, WARM_UP } from './rows.mjs';

export const title = 'a launch that is verified, to exit seen';

const ASKED = {
  plain: ['launch()', {}],
  launcher: ['through the launcher', { umask: 0o22 }],
  verified: ["verify: 'at-exec'", { verify: 'at-exec' }],
  later: ["verify: 'after-exec'", { verify: 'after-exec' }],
};

export async function run({ drivers, targets, quick }) {
  const files = ['/bin/true', targets.exit_fast].filter(Boolean);
  const [rounds, batch] = quick ? [8, 25] : [20, 50];
  const launch = drivers.find(({ id }) => id === 'launch');
  if (launch === undefined) return [];
  const definitions = Object.entries(ASKED).map(([asked, [label, options]]) => ({
    ...withOptions(launch, options),
    label,
    asked,
  }));
  return withDrivers(definitions, async (entries) => {
    const sections = [];
    for (const file of files) {
      await askEach(entries, (driver) => driver.request('calls', file, WARM_UP));
      const answers = await interleave(entries, rounds, (driver) =>
        driver.request('calls', file, batch),
      );
      const rows = entries.map((entry) => {
        const { asked, label } = entry.definition;
        if (entry.failure) return { id: asked, label, failure: entry.failure };
        const exited = pool(answers.get(entry), 'exited').map(microseconds);
        const blocked = pool(answers.get(entry), 'blocked').map(microseconds);
        const values = {
          blockedP50: median(blocked),
          exitedP50: median(exited),
          exitedP99: quantile(exited, 0.99),
        };
        return { id: asked, label, values };
      });
      sections.push({
        id: `verify ${nameTarget(file)}`,
        title: `verified launches of ${describeTarget(file)}: µs, ${rounds * batch} each`,
        metrics: [
          { key: 'blockedP50', title: 'blocked p50' },
          { key: 'exitedP50', title: 'to exit p50' },
          { key: 'exitedP99', title: 'p99' },
        ],
        rows,
      });
    }
    return sections;
  });
}
