// What is open in every process of the machine: idle, and with a process that has 10 000 sockets.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { quantile } from '../statistics.mjs';

export const title = 'audit of every process, beside lsof and lsfd';

const root = path.join(import.meta.dirname, '../..');

// To /dev/null: neither pays for a reader.
const command = (name, ...args) => ({
  missing: spawnSync(name, ['-v'], { stdio: 'ignore' }).error && `install ${name}`,
  look: () => spawnSync(name, args, { stdio: 'ignore' }),
});

async function listSubjects() {
  const { auditAll } = await import(path.join(root, 'dist/index.mjs'));
  const bare = { origins: false, otherEnds: false };
  return [
    { id: 'bare', label: 'auditAll, as lsof', subject: true, look: () => auditAll(bare) },
    { id: 'all', label: 'auditAll, with origins and other ends', look: () => auditAll() },
    { id: 'lsof', label: 'lsof -n -P', ...command('lsof', '-n', '-P') },
    {
      id: 'lsof-fds',
      label: 'lsof -n -P, descriptors only',
      ...command('lsof', '-n', '-P', '-d', '0-999999'),
    },
    { id: 'lsfd', label: 'lsfd', ...command('lsfd') },
  ];
}

/** A process with 10 000 connections to another. */
async function startCrowd() {
  spawnSync('make', ['--silent', '-C', path.join(root, 'test/fixtures'), 'build/crowd']);
  const directory = mkdtempSync(path.join(tmpdir(), 'sallyport-bench-'));
  const crowd = spawn(
    path.join(root, 'test/fixtures/build/crowd'),
    ['--pairs', '10000', directory],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const [said] = await Promise.race([once(crowd.stdout, 'data'), once(crowd, 'exit')]);
  if (!String(said).includes('ready')) throw new Error('the crowd did not come together');
  return async () => {
    crowd.stdin.end();
    await once(crowd, 'exit');
    rmSync(directory, { recursive: true });
  };
}

const countProcesses = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length;

async function measure(id, what, rounds) {
  const entries = (await listSubjects()).map((entry) => ({ ...entry, samples: [] }));
  for (const entry of entries) if (!entry.missing) entry.look();
  for (let round = 0; round < rounds; round++) {
    const first = round % entries.length;
    for (const entry of [...entries.slice(first), ...entries.slice(0, first)]) {
      if (entry.missing) continue;
      const begin = process.hrtime.bigint();
      entry.look();
      entry.samples.push(Number(process.hrtime.bigint() - begin) / 1e6);
    }
  }
  return {
    id: `audit-${id}`,
    title: `${what}, ${countProcesses()} processes: ms, ${rounds} looks each`,
    note:
      'lsof and lsfd also list mapped files and the start of a process is in their time; ' +
      'what bounds auditAll is two to three system calls for each descriptor',
    metrics: [
      { key: 'p50', title: 'p50', digits: 1, compare: true },
      { key: 'p10', title: 'p10', digits: 1, compare: true },
    ],
    rows: entries.map(({ samples, missing, ...row }) =>
      missing
        ? { ...row, failure: missing }
        : { ...row, values: { p50: quantile(samples, 0.5), p10: quantile(samples, 0.1) } },
    ),
  };
}

export async function run({ quick }) {
  const idle = await measure('idle', 'an idle machine', quick ? 10 : 30);
  const end = await startCrowd();
  try {
    return [idle, await measure('crowd', 'with 10 000 connections', quick ? 5 : 15)];
  } finally {
    await end();
  }
}
