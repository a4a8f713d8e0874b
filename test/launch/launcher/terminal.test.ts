// `terminal`: a real pseudo-terminal becomes the controlling terminal of the child's own session.
import { fstatSync, read, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';

import { launch, spawn, type Child, type SpawnOptions } from '../../../src/index.js';
import { thrown } from '../../support/errors.js';
import { fixture, loadStorm, publicFixture } from '../../support/fixtures.js';
import { listDescriptors, readAll, readStat, waitFor } from '../../support/processes.js';
import { needs } from '../../support/tools.js';
import { witness } from '../../support/witness.js';

const storm = loadStorm();
const opened: number[] = [];

function openTerminal(): { master: number; terminal: number } {
  const [master = -1, terminal = -1] = storm.makeInheritable('terminal');
  opened.push(master, terminal);
  return { master, terminal };
}

afterEach(() => {
  for (const fd of opened.splice(0)) storm.closeFd(fd);
});

/** The `tty_nr` of /proc/<pid>/stat for this terminal: minor and major mixed, proc_pid_stat(5). */
function numberOf(terminal: number): number {
  const { rdev } = fstatSync(terminal);
  const major = (rdev >> 8) & 0xfff;
  const minor = (rdev & 0xff) | ((rdev >> 12) & 0xfff00);
  return (minor & 0xff) | (major << 8) | ((minor >> 8) << 20);
}

async function readSome(fd: number): Promise<string> {
  const { bytesRead, buffer } = await promisify(read)(fd, Buffer.alloc(64), 0, 64, null);
  return buffer.toString('latin1', 0, bytesRead);
}

const hold = ['--quiet', '--hold'];

async function statOf(child: Child): Promise<unknown> {
  const { pid } = child;
  // Awake it reads files of /proc about itself.
  const stat = await waitFor('its hold', () => {
    const now = readStat(pid);
    return now?.state === 'S' && now;
  });
  const descriptors = listDescriptors(pid);
  child.kill('SIGKILL');
  await child.exited;
  return {
    descriptors,
    terminal: stat.terminal,
    leads: stat.sid === pid && stat.pgid === pid,
    inForeground: stat.foreground === pid,
  };
}

describe('terminal', () => {
  it.each<[string, (terminal: number) => SpawnOptions]>([
    ['by the pass list', (fd) => ({ stdio: 'null', pass: [{ fd, as: 7 }], terminal: 7 })],
    ['as a standard channel', (fd) => ({ stdio: ['null', fd, 'null'], terminal: 1 })],
    ['as all of them', (fd) => ({ stdio: [fd, fd, fd], terminal: 0 })],
    [
      'by the calling thread',
      (fd) => ({ stdio: [fd, fd, fd], terminal: 2, noNewPrivileges: false }),
    ],
  ])('%s: the child leads its session, in the foreground', async (_, optionsFor) => {
    const { terminal } = openTerminal();
    // Both ends of it are inheritable: a plain child would have them at their numbers too.
    const { pass } = optionsFor(terminal);
    const descriptors = pass === undefined ? [0, 1, 2] : [0, 1, 2, 7];
    const place = { terminal: numberOf(terminal), leads: true, inForeground: true };
    expect(storm.plainSpawn(fixture('exact_fds'), ['0', '1', '2'])).toBeGreaterThanOrEqual(2);
    expect(await statOf(spawn(witness, hold, optionsFor(terminal)))).toEqual({
      descriptors,
      ...place,
    });
  });

  it('by launch', async () => {
    const { terminal } = openTerminal();
    const child = await launch(witness, hold, {
      stdio: [terminal, terminal, terminal],
      terminal: 0,
    });
    const place = { terminal: numberOf(terminal), leads: true, inForeground: true };
    expect(await statOf(child)).toEqual({ descriptors: [0, 1, 2], ...place });
  });

  it('the control: without the option the same child has none', async () => {
    const { terminal } = openTerminal();
    const child = spawn(witness, hold, { stdio: [terminal, terminal, terminal], umask: 0o22 });
    expect(await statOf(child)).toMatchObject({ terminal: 0, inForeground: false });
  });

  it('/dev/tty is it, and its keys reach the child', async () => {
    const { master, terminal } = openTerminal();
    const script = 'trap "echo interrupted >&3; exit" INT; echo ready >/dev/tty; read key; :';
    const child = spawn('/bin/sh', ['-c', `exec 3>&2 2>/dev/null; ${script}`], {
      stdio: [terminal, terminal, 'pipe'],
      terminal: 0,
    });
    // The terminal is in no raw mode: a line ends with \r\n.
    let text = '';
    while (!text.endsWith('\r\n')) text += await readSome(master);
    expect(text).toBe('ready\r\n');
    writeSync(master, '\x03');
    expect((await readAll(child.stderr)).toString()).toBe('interrupted\n');
    await child.exited;
  });

  needs('root').it('also for another user, who may not open it by its path', async () => {
    const { terminal } = openTerminal();
    const child = spawn(publicFixture('witness'), hold, {
      stdio: [terminal, terminal, terminal],
      terminal: 0,
      user: 64_010,
      group: 64_011,
    });
    expect(await statOf(child)).toMatchObject({ terminal: numberOf(terminal), leads: true });
  });
});

describe('refused', () => {
  it.each<[string, SpawnOptions, RegExp]>([
    ['with another session', { session: 'group', terminal: 0 }, /^terminal: needs session: 'new'/],
    ['with our session', { session: 'inherit', terminal: 0 }, /^terminal: needs session: 'new'/],
    ['a number the child does not have', { terminal: 5 }, /^terminal: 5 is not a descriptor of/],
    ['no number', { terminal: '0' as unknown as number }, /^terminal: must be a whole number/],
  ])('%s: by the plan', (_, options, message) => {
    const error = thrown(() => spawn('true', [], options));
    expect(error).toMatchObject({ code: 'ERR_SALLYPORT_INVALID_ARGUMENT', stagePath: 'terminal' });
    expect(error.message).toMatch(message);
  });

  it('what is no terminal: by the step itself', () => {
    const error = thrown(() => spawn('true', [], { stdio: 'null', terminal: 2 }));
    expect(error).toMatchObject({
      code: 'ENOTTY',
      stage: 'terminal',
      stagePath: '2',
      stageSource: 'reported',
    });
    expect(error.message).toContain("ioctl TIOCSCTTY '2'");
  });

  it('the terminal of another session: it is not taken away', async () => {
    const { terminal } = openTerminal();
    const options: SpawnOptions = { stdio: [terminal, terminal, terminal], terminal: 0 };
    const first = spawn(witness, hold, options);
    const error = thrown(() => spawn(witness, hold, options));
    expect(error).toMatchObject({
      code: 'EPERM',
      stage: 'terminal',
      stagePath: '0',
      stageSource: 'reported',
    });
    expect(error.message).toContain('controlling terminal of another session');
    expect(await statOf(first)).toMatchObject({ terminal: numberOf(terminal), inForeground: true });
  });
});
