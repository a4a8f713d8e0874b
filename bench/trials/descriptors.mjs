// Time blocked in the call while the parent has many descriptors open.
import { runLevels } from './levels.mjs';

export const title = 'time blocked with 0 to 15 000 descriptors open';

// What a runtime opens for itself, and the pipes of a child.
const SPARE = 200;

export async function run({ drivers, targets, quick, machine }) {
  const most = Math.min(15_000, (machine.openFilesLimit ?? 1024) - SPARE);
  const levels = [...[0, 1_000, 5_000].filter((level) => level < most), most];
  const section = await runLevels({
    id: 'descriptors',
    drivers: drivers.filter(({ wrapsChildProcess }) => !wrapsChildProcess),
    file: targets.exit_fast ?? '/bin/true',
    rounds: quick ? 4 : 10,
    batch: 10,
    levels,
    nameLevel: (level) => (level === 0 ? 'none' : level.toLocaleString('en-US')),
    load: (driver, level) => driver.request('descriptors', level),
    title: 'descriptors open in the parent',
  });
  if (most < 15_000) section.note = `the limit of open files allows only ${most}`;
  return [section];
}
