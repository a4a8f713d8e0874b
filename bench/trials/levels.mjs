// Time blocked in the call at several levels of a load that the parent carries, side by side.
import { askEach, askTogether, interleave, withDrivers } from '../interleave.mjs';
import { median } from '../statistics.mjs';
import { microseconds, pool, WARM_UP } from './rows.mjs';

/**
 * Each driver runs once per level, all in one interleaved run. `load(driver, level)` puts the
 * level on; the first level is the empty process that the growth is counted from.
 */
export async function runLevels(options) {
  const { id, title, drivers, file, rounds, batch, levels, nameLevel, load } = options;
  const definitions = drivers.flatMap((definition) =>
    levels.map((level) => ({ ...definition, level })),
  );
  return withDrivers(definitions, async (entries) => {
    // Before the load is on, or a fork at 4 GiB would take minutes of it.
    await askEach(entries, (driver) => driver.request('calls', file, WARM_UP));
    await askTogether(entries, (driver, { definition }) => load(driver, definition.level));
    await askEach(entries, (driver) => driver.request('calls', file, 5));
    const answers = await interleave(entries, rounds, (driver) =>
      driver.request('calls', file, batch),
    );
    const rows = drivers.map(({ id: driverId, label, subject = false }) => {
      const own = entries.filter(({ definition }) => definition.id === driverId);
      const version = own[0].driver?.version;
      const row = {
        id: driverId,
        label: version ? `${label} ${version}` : label,
        subject,
        version,
      };
      const failure = own.map((entry) => entry.failure).find(Boolean);
      if (failure) return { ...row, failure };
      const values = {};
      for (const entry of own) {
        const { level } = entry.definition;
        values[`p50 ${level}`] = median(pool(answers.get(entry), 'blocked').map(microseconds));
        values[`growth ${level}`] = values[`p50 ${level}`] / values[`p50 ${levels[0]}`];
      }
      return { ...row, values };
    });
    const metrics = levels.map((level) => ({
      key: `p50 ${level}`,
      title: nameLevel(level),
      compare: level === levels.at(-1),
    }));
    for (const level of levels.slice(1)) {
      const name = `${nameLevel(level)} ÷ ${nameLevel(levels[0])}`;
      metrics.push({ key: `growth ${level}`, title: name, digits: 1 });
    }
    return { id, title: `${title}: µs blocked, p50 of ${rounds * batch}`, levels, metrics, rows };
  });
}
