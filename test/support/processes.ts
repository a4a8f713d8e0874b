// The looks at /proc of processes.cjs, for tests.
import { createRequire } from 'node:module';

const looks = createRequire(import.meta.url)('./processes.cjs') as typeof import('./processes.cjs');

export const {
  countBesidesSockets,
  countDescriptors,
  countThreads,
  hasEnded,
  isGone,
  listChildren,
  listDescriptors,
  listMarked,
  listThreads,
  listZombies,
  readAll,
  readEnvironment,
  readStat,
  readStatus,
  waitFor,
} = looks;
