// Time blocked in the call while the parent holds memory: fork copies page tables, vfork does not.
import { availableMemory } from '../machine.mjs';
import { runLevels } from './levels.mjs';

export const title = 'time blocked with 0, 1 and 4 GiB of Buffers or of JS objects';

const GIBIBYTE = 2 ** 30;
// What a process takes per byte of ballast: a collector needs room to move objects.
const COST = { buffers: 1.05, objects: 1.35 };

/**
 * The drivers in groups whose ballast fits in the memory that is free now. Our own are in each, as
 * far as there is room: a ratio comes from one run.
 */
function groupByMemory(drivers, bytesEach) {
  const own = drivers.filter((driver) => driver.own);
  const peers = drivers.filter((driver) => !driver.own);
  const fitting = Math.floor((availableMemory() * 0.8) / bytesEach);
  while (own.length > 1 && own.length >= fitting) own.pop();
  const room = fitting - own.length;
  if (room < 1) return [];
  const groups = [];
  for (let i = 0; i < peers.length; i += room) {
    groups.push([...own, ...peers.slice(i, i + room)]);
  }
  return groups.length > 0 ? groups : [own];
}

export async function run({ drivers, targets, quick }) {
  const starting = drivers.filter(({ wrapsChildProcess }) => !wrapsChildProcess);
  const able = {
    buffers: starting,
    objects: starting.filter(({ family }) => family === 'javascript'),
  };
  const sections = [];
  for (const gibibytes of [1, 4]) {
    for (const kind of ['buffers', 'objects']) {
      const isBig = gibibytes > 1;
      if (quick && isBig && kind === 'objects') continue;
      const title = `${gibibytes} GiB of ${kind === 'buffers' ? 'Buffers (or malloc)' : 'JS objects'}`;
      const groups = groupByMemory(able[kind], gibibytes * GIBIBYTE * COST[kind]);
      if (groups.length === 0) console.log(`\n${title}: left out, not enough free memory`);
      for (const group of quick && isBig ? groups.slice(0, 1) : groups) {
        const section = await runLevels({
          id: `heap ${kind} ${gibibytes}`,
          drivers: group,
          file: targets.exit_fast ?? '/bin/true',
          rounds: quick ? 4 : 10,
          batch: isBig ? 4 : 10,
          levels: [0, gibibytes],
          nameLevel: (level) => (level === 0 ? 'empty' : `${level} GiB`),
          load: (driver, level) => driver.request(kind, level * 1024),
          title,
        });
        sections.push(section);
      }
    }
  }
  return sections;
}
