// Time blocked in the call at several levels of a load that the parent carries, side by side.
import { askEach, askTogether, interleave, withDrivers } from '../interleave.mjs';
import { median } from '../statistics.mjs';
import { microseconds, pool } from './rows.mjs';

/**
 * Each driver runs once per level, all in one interleaved run. `load(driver, level)` puts the
 * level on; the first level is the empty process that the growth is counted from.
 */
export async function runLevels({ drivers, file, rounds, batch, levels, nameLevel, load, title }) {
  const definitions = drivers.flatMap((definition) =>
    levels.map((level) => ({ ...definition, level })),
  );
  return withDrivers(definitions, async (entries) => {
    await askTogether(entries, (driver, { definition }) => load(driver, definition.level));
    await askEach(entries, (driver) => driver.request('calls', file, 3));
    const answers = await interleave(entries, rounds, (driver) =>
      driver.request('calls', file, batch),
    );
    const rows = drivers.map(({ id, label, subject = false }) => {
      const own = entries.filter(({ definition }) => definition.id === id);
      const version = own[0].driver?.version;
      const row = { id, label: version ? `${label} ${version}` : label, subject, version };
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
      compare: true,
    }));
    for (const level of levels.slice(1)) {
      const name = `${nameLevel(level)} ÷ ${nameLevel(levels[0])}`;
      metrics.push({ key: `growth ${level}`, title: name, digits: 1 });
    }
    return { title: `${title}: µs blocked, p50 of ${rounds * batch}`, metrics, rows };
  });
}
