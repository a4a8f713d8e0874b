// What each thing that one may ask for adds to the call.
import { askEach, interleave, withDrivers } from '../interleave.mjs';
import { withOptions } from '../registry.mjs';
import { median } from '../statistics.mjs';
import { microseconds, pool, WARM_UP } from './rows.mjs';

export const title = 'time blocked in the call, by what is asked for';

const PASSED = Array.from({ length: 8 }, (_, index) => ({ fd: 0, as: 3 + index }));
const ASKED = {
  nothing: {},
  'three pipes': { stdio: 'pipe' },
  'eight descriptors': { pass: PASSED },
  "env: 'inherit'": { env: 'inherit' },
  'pipes and descriptors': { stdio: 'pipe', pass: PASSED },
  "session: 'group'": { session: 'group' },
  'noNewPrivileges: false': { noNewPrivileges: false },
};

export async function run({ drivers, targets, quick }) {
  const file = targets.exit_fast ?? '/bin/true';
  const [rounds, batch] = quick ? [6, 20] : [20, 40];
  const own = drivers.filter((driver) => driver.own);
  if (own.length === 0) return [];
  const definitions = own.flatMap((definition) =>
    Object.entries(ASKED).map(([asked, options]) => ({
      ...withOptions(definition, options),
      asked,
    })),
  );
  return withDrivers(definitions, async (entries) => {
    await askEach(entries, (driver) => driver.request('calls', file, WARM_UP));
    const answers = await interleave(entries, rounds, (driver) =>
      driver.request('calls', file, batch),
    );
    const rows = Object.keys(ASKED).map((asked) => {
      const cells = entries.filter(({ definition }) => definition.asked === asked);
      const failure = cells.map((entry) => entry.failure).find(Boolean);
      if (failure) return { id: asked, label: asked, failure };
      const values = {};
      for (const entry of cells) {
        values[entry.definition.id] = median(pool(answers.get(entry), 'blocked').map(microseconds));
      }
      return { id: asked, label: asked, values };
    });
    return [
      {
        id: 'options',
        title: `what is asked for: µs blocked, p50 of ${rounds * batch}`,
        metrics: own.map(({ id }) => ({ key: id, title: id })),
        rows,
      },
    ];
  });
}
