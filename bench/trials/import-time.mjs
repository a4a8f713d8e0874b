// What loading a package costs, each time in a fresh Node.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { median, quantile } from '../statistics.mjs';

export const title = 'import time, beside an empty module';

const here = path.join(import.meta.dirname, '..');
const peers = process.env.SALLYPORT_BENCH_PEERS ?? path.join(here, 'peers');

function importOnce(name) {
  const args = [path.join(here, 'drivers/import-once.mjs'), name, peers];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) {
    throw new Error(/^\w*Error.*$/m.exec(stderr)?.[0] ?? `exit status ${status}`);
  }
  return Number(stdout);
}

export async function run({ quick }) {
  const rounds = quick ? 8 : 25;
  const installed = (name) => existsSync(path.join(peers, 'node_modules', name));
  const packages = [
    { id: 'empty', label: 'an empty module' },
    { id: 'sallyport', label: 'sallyport, import', subject: true },
    { id: 'sallyport-require', label: 'sallyport, require' },
    { id: 'child_process', label: 'node:child_process' },
    ...['tinyexec', 'execa'].filter(installed).map((id) => ({ id, label: id })),
  ].map((entry) => ({ ...entry, samples: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const entry of packages) {
      if (entry.failure) continue;
      try {
        entry.samples.push(importOnce(entry.id));
      } catch (error) {
        entry.failure = error.message;
      }
    }
  }
  const empty = median(packages[0].samples);
  return [
    {
      id: 'import',
      title: `import: ms, ${rounds} fresh processes each`,
      metrics: [
        { key: 'p50', title: 'p50', digits: 2 },
        { key: 'p99', title: 'p99', digits: 2 },
        { key: 'overEmpty', title: 'over empty', digits: 2 },
      ],
      rows: packages.map(({ samples, ...row }) => {
        if (row.failure) return row;
        const p50 = median(samples);
        return { ...row, values: { p50, p99: quantile(samples, 0.99), overEmpty: p50 - empty } };
      }),
    },
  ];
}
