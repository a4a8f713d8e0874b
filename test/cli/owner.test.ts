// `--user` of a run for which something is made before: who gets it, by the databases of the system.
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

import { fixture, makeScratch } from '../support/fixtures.js';
import { listThreads, readAll, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { runCli, startCli } from './command-line.js';

/** Users of test/fixtures/names.c, who are not in /etc/passwd. */
const CROWD = { uid: 64_001, gid: 64_002 };
const SLOW = { uid: 64_003, gid: 64_002 };

const preload = { LD_PRELOAD: fixture('names.so') };

function makeWorkspace(): string {
  const workspace = makeScratch();
  // Its user must get there.
  chmodSync(workspace, 0o755);
  return workspace;
}

needs('root').describe('a user who is in another database than /etc/passwd', () => {
  it.each(['crowd', '64001'])('owns workspace and credentials: %s', async (user) => {
    expect(readFileSync('/etc/passwd', 'utf8')).not.toMatch(/crowd|64001/);
    const workspace = makeWorkspace();
    const source = {
      kind: 'command',
      name: 'database',
      reason: 'the task reads a database',
      command: [
        'printf',
        '{"values":{"username":"somebody","password":"made-up-password"},"expiresAt":null}',
      ],
      plain: ['username'],
      delivery: { by: 'file', format: 'pgpass', host: 'db.example' },
    };
    const file = path.join(makeScratch(), 'credentials.json');
    writeFileSync(file, JSON.stringify({ version: 1, sources: [source] }));
    const args = ['run', '--credentials', file, '--workspace', workspace, '--user', user];
    const script = 'stat -c "%u %g" "$HOME" "$PGPASSFILE"; id -u';
    const ran = await runCli([...args, 'sh', '-c', script], { env: preload });
    expect(ran).toMatchObject({
      stdout: '64001 64002\n64001 64002\n64001\n',
      stderr: '',
      code: 0,
    });
    expect(lstatSync(path.join(workspace, '.tmp'))).toMatchObject(CROWD);
  });

  it('is looked up while the event loop goes on', async () => {
    const directory = makeScratch();
    const gate = path.join(directory, 'gate');
    expect(spawnSync('mkfifo', [gate]).status).toBe(0);
    const beats = path.join(directory, 'beats');
    const heart = path.join(directory, 'heart.cjs');
    writeFileSync(
      heart,
      `setInterval(() => require('fs').appendFileSync(${JSON.stringify(beats)}, '.'), 2).unref();`,
    );
    const count = (): number => (existsSync(beats) ? lstatSync(beats).size : 0);
    const workspace = makeWorkspace();
    const child = startCli(
      ['run', '--workspace', workspace, '--user', 'slow', 'id', '-u'],
      ['ignore', 'pipe', 'inherit'],
      { env: { ...preload, NAMES_GATE: gate, NODE_OPTIONS: `--require=${heart}` } },
    );
    const ended = once(child, 'exit');
    const output = readAll(child.stdout!);
    const pid = child.pid!;
    await waitFor('the lookup', () => listThreads(pid).includes('sallyport-names'));
    const before = count();
    await waitFor('turns of the event loop', () => count() >= before + 5);
    expect(listThreads(pid)).toContain('sallyport-names');
    expect(readdirSync(workspace)).toEqual([]);
    // Not closed: the launch looks it up as well.
    openSync(gate, 'r+');
    expect(await ended).toEqual([0, null]);
    expect((await output).toString()).toBe('64003\n');
    expect(lstatSync(path.join(workspace, '.home'))).toMatchObject(SLOW);
  });
});

it.each(['no-such-user', '64099'])('%s is in none: nothing is made', async (user) => {
  const workspace = makeWorkspace();
  const { code, stderr, stdout } = await runCli([
    'run',
    '--workspace',
    workspace,
    '--user',
    user,
    'true',
  ]);
  expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
  expect(stderr).toBe(
    `sallyport: --user ${user}: not in the user databases of this system ('getent passwd' asks them): give the name or number of one who is\n`,
  );
  expect(readdirSync(workspace)).toEqual([]);
});
