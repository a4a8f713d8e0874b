// What it costs to stay with a program until its report, beside a plain launch until its exit.
import { askEach, interleave, withDrivers } from '../interleave.mjs';
import { withOptions } from '../registry.mjs';
import { median, quantile } from '../statistics.mjs';
import { describeTarget, microseconds, nameTarget, pool, WARM_UP } from './rows.mjs';

export const title = 'run() to its report, beside launch() to the exit';

const PIPES = ['null', 'pipe', 'pipe'];
const WAYS = [
  { id: 'launch', label: 'launch()', call: 'launch', options: { stdio: PIPES } },
  { id: 'run', label: 'run()', call: 'run', options: { stdio: PIPES } },
  {
    id: 'run-group',
    label: "run(), containment 'group'",
    call: 'run',
    options: { stdio: PIPES, containment: 'group' },
  },
  { id: 'launch-null', label: 'launch(), no pipes', call: 'launch', options: { stdio: 'null' } },
  { id: 'run-null', label: 'run(), no pipes', call: 'run', options: { stdio: 'null' } },
];

export async function run({ drivers, targets, quick }) {
  const launch = drivers.find(({ id }) => id === 'launch');
  if (launch === undefined) return [];
  const files = ['/bin/true', targets.exit_fast].filter(Boolean);
  const [rounds, batch] = quick ? [10, 20] : [40, 25];
  const definitions = WAYS.map(({ id, label, call, options }) => {
    const definition = withOptions(launch, options);
    const [command, values] = [definition.command.slice(0, -2), definition.command.at(-1)];
    return { ...definition, id, label, command: [...command, call, values] };
  });
  return withDrivers(definitions, async (entries) => {
    const sections = [];
    for (const file of files) {
      await askEach(entries, (driver) => driver.request('calls', file, WARM_UP));
      const answers = await interleave(entries, rounds, (driver) =>
        driver.request('calls', file, batch),
      );
      sections.push({
        id: `run ${nameTarget(file)}`,
        title: `run() of ${describeTarget(file)}: µs, ${rounds * batch} each`,
        note: 'p10: what is left when nobody else has the processors',
        metrics: [
          { key: 'exitedP10', title: 'p10' },
          { key: 'exitedP50', title: 'p50' },
          { key: 'exitedP99', title: 'p99' },
          { key: 'busy', title: 'busy' },
        ],
        rows: entries.map((entry) => {
          const { id, label } = entry.definition;
          if (entry.failure !== undefined) return { id, label, failure: entry.failure };
          const exited = pool(answers.get(entry), 'exited').map(microseconds);
          const busy = pool(answers.get(entry), 'busy').map(microseconds);
          return {
            id,
            label,
            values: {
              exitedP10: quantile(exited, 0.1),
              exitedP50: median(exited),
              exitedP99: quantile(exited, 0.99),
              busy: median(busy),
            },
          };
        }),
      });
    }
    return sections;
  });
}
