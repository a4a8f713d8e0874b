// Time blocked in the call while the parent holds memory: fork copies page tables, vfork does not.
import { availableMemory } from '../machine.mjs';
import { runLevels } from './levels.mjs';

export const title = 'time blocked with 0, 1 and 4 GiB of Buffers or of JS objects';

const GIBIBYTE = 2 ** 30;
// What a driver's own process takes beside its ballast, collections included.
const OVERHEAD = 0.35;

/** The drivers, in order, whose ballast fits in the memory that is free now. */
function takeWhatFits(drivers, gibibytes) {
  const each = gibibytes * GIBIBYTE * (1 + OVERHEAD);
  const count = Math.max(0, Math.floor((availableMemory() * 0.9) / each));
  const fitting = drivers.slice(0, count);
  const left = drivers.slice(count);
  return { fitting, left };
}

/** First those that matter most when memory is short. */
function byImportance(drivers) {
  const order = ['node', 'bun', 'c', 'python', 'node26', 'node24', 'node22', 'deno'];
  const rank = ({ id, subject }) => (subject ? -1 : order.indexOf(id));
  return [...drivers].sort((a, b) => rank(a) - rank(b));
}

export async function run({ drivers, targets, quick }) {
  const file = targets.exit_fast ?? '/bin/true';
  const starting = drivers.filter(({ wrapsChildProcess }) => !wrapsChildProcess);
  const sizes = quick ? [1] : [1, 4];
  const sections = [];
  for (const gibibytes of sizes) {
    for (const kind of ['buffers', 'objects']) {
      const able =
        kind === 'objects' ? starting.filter(({ family }) => family === 'javascript') : starting;
      const { fitting, left } = takeWhatFits(byImportance(able), gibibytes);
      if (fitting.length === 0) continue;
      const section = await runLevels({
        drivers: able.filter((driver) => fitting.includes(driver)),
        file,
        rounds: quick ? 4 : 10,
        batch: gibibytes === 1 ? 10 : 4,
        levels: [0, gibibytes],
        nameLevel: (level) => (level === 0 ? 'empty' : `${level} GiB`),
        load: (driver, level) => driver.request(kind, level * 1024),
        title: `${gibibytes} GiB of ${kind === 'buffers' ? 'Buffers (or malloc)' : 'JS objects'}`,
      });
      if (left.length > 0) {
        const ids = left.map(({ id }) => id).join(', ');
        section.note = `not enough free memory to run beside these: ${ids}`;
      }
      sections.push(section);
    }
  }
  return sections;
}
