// sallyport audit, leaks, listeners and holders: what they print, and how they end.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, copyFileSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { auditProcess, explainPort, spawn as startExact, type Child } from '../../src/index.js';
import { formatUnreadable } from '../../src/cli/holders.js';
import { loadStorm, makeScratch, root } from '../support/fixtures.js';
import { copyPackage } from '../support/package-copy.js';
import { countColours } from '../support/png.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { runCli } from './command-line.js';
import { withTerminal } from './audit-terminal.js';

const storm = loadStorm();
const scratch = makeScratch();
const children: ChildProcess[] = [];
const exact: Child[] = [];
afterAll(() => [...children, ...exact].forEach((child) => child.kill('SIGKILL')));

/** A `sleep` with these descriptors from 3 on, whatever else this process would hand over. */
function startSleep(...fds: number[]): string {
  const pass = fds.map((fd, index) => ({ fd, as: 3 + index }));
  const child = startExact('sleep', ['60'], { stdio: 'null', pass });
  exact.push(child);
  return String(child.pid);
}

describe('sallyport audit', () => {
  it('prints aligned columns, and no colour where there is no terminal', async () => {
    const fd = openSync('/etc/hosts', 'r');
    const pid = startSleep(fd);
    closeSync(fd);
    const { code, stdout, stderr } = await runCli(['audit', pid]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [head = '', titles = '', ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(
      new RegExp(`^${pid} sleep: /\\S*/sleep \\(uid \\d+, parent ${process.pid}, `),
    );
    const column = titles.indexOf('WHAT');
    expect(column).toBeGreaterThan(20);
    for (const row of rows) expect(row.slice(column - 2, column)).toBe('  ');
    expect(rows.find((row) => row.startsWith('3 '))).toMatch(
      /^3 +file +read +kept +own +\/etc\/hosts$/,
    );
    // eslint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/\u001b/);
  });

  it('--json is what auditProcess gives', async () => {
    const pid = startSleep();
    const { code, stdout } = await runCli(['audit', pid, '--json']);
    expect(code).toBe(0);
    const { version, processes } = JSON.parse(stdout) as { version: number; processes: unknown[] };
    expect(version).toBe(1);
    expect(processes).toEqual([JSON.parse(JSON.stringify(auditProcess(Number(pid))))]);
  });

  it('--against a plan: 0 clean, 1 leaks, 2 unreadable', async () => {
    const plan = path.join(scratch, 'plan.json');
    writeFileSync(plan, (await runCli(['run', '--explain', '--json', 'sleep', '60'])).stdout);
    // The plan's channels were inherited: those of that command, not of this one.
    writeFileSync(path.join(scratch, 'numbers.json'), JSON.stringify({ descriptors: [0, 1, 2] }));
    const numbers = ['--against', path.join(scratch, 'numbers.json')];
    const clean = startSleep();
    expect(await runCli(['audit', clean, ...numbers])).toMatchObject({ code: 0 });
    const leaky = startSleep(storm.openInheritable('/etc/hosts'));
    const found = await runCli(['audit', leaky, ...numbers]);
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/^3! +file/m);
    expect(found.stdout).toContain('leaks: 3 is not named, or is something else');
    expect((await runCli(['audit', leaky, '--against', plan])).code).toBe(1);
    // What a plan should have been, and is not, is no plan of which nothing differs.
    writeFileSync(plan, 'null');
    const none = await runCli(['audit', clean, '--against', plan]);
    expect(none).toMatchObject({ code: 125, stdout: '' });
    expect(none.stderr).toContain('--against: it is null');
  });

  it('names of files and programs move no cursor', async () => {
    const file = path.join(scratch, 'bell\u0007\u001b[2J\u202e');
    writeFileSync(file, '');
    const pid = startSleep(openSync(file, 'r'));
    const { stdout } = await runCli(['audit', pid]);
    // eslint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(stdout).toContain('bell\\x07\\x1b[2J\\u202e');
  });

  it('nor does the name of one that listens, in an explanation or a refusal', async () => {
    const program =
      'import ctypes,os,socket; s=socket.create_server(("127.0.0.1",0)); ctypes.CDLL(None).prctl(15,b"a\\nb\\x1b[2J\\\\x0a",0,0,0); os.write(1,str(s.getsockname()[1]).encode()); s.accept()';
    const server = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(server);
    const [said] = (await once(server.stdout, 'data')) as [Buffer];
    const port = String(said);
    await waitFor('accept', () => explainPort(Number(port)).causes[0]?.text.includes('accept(2)'));
    const named = String.raw`a\x0ab\x1b[2J\x0a (pid ${server.pid}, descriptor 3) of user`;
    const explained = await runCli(['listeners', port]);
    expect(explained.stdout.split('\n').filter((line) => line.startsWith(named))).toHaveLength(1);
    const refused = await runCli(['listeners', port, '--release', '--yes']);
    expect(refused.code).toBe(125);
    // eslint-disable-next-line no-control-regex
    const cursor = /[\x00-\x09\x0b-\x1f\x7f]/;
    expect(refused.stderr).toMatch(/^sallyport: .*: a\\x0ab\\x1b\[2J\\x0a \(\d+\) is its server/);
    const forced = await runCli(['listeners', port, '--release', '--yes', '--force']);
    expect(forced.stdout).toMatch(/descriptor 3 of a\\x0ab/);
    for (const { stdout, stderr } of [explained, refused, forced]) {
      expect(stdout + stderr).not.toMatch(cursor);
    }
  });

  it('--watch prints changes until the process ends', async () => {
    const script = 'read l; exec 7</etc/hosts; read l';
    const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
    children.push(child);
    const watching = spawn(process.execPath, [
      path.join(import.meta.dirname, '../../dist/cli/main.js'),
      'audit',
      String(child.pid),
      '--watch',
      '--interval',
      '5',
    ]);
    children.push(watching);
    let printed = '';
    watching.stdout.on('data', (text: Buffer) => (printed += String(text)));
    // It has looked once when it holds nothing of the module loading any more: 0 appears first.
    const ended = new Promise((resolve) => watching.once('exit', resolve));
    await waitFor('the first look', () => {
      const cpu = readFileSync(`/proc/${String(watching.pid)}/wchan`, 'latin1');
      return cpu.includes('ep_poll') || cpu.includes('epoll');
    });
    child.stdin.write('\n');
    await waitFor('the change', () => printed.includes('/etc/hosts') || undefined);
    child.stdin.end();
    expect(await ended).toBe(0);
    expect(printed).toMatch(/ \+ 7 {2}file read {2}\/etc\/hosts/);
    expect(printed).toMatch(/ - 7 {2}file read/);
  });

  it('names the thread of a table of its own, at each number: with --watch and in holders', async () => {
    const main = path.join(root, 'dist/cli/main.js');
    const script = `
      const { launch } = require(${JSON.stringify(root)});
      process.stdin.once('data', async () => (await launch('true')).unref());
      process.stdout.write('ready');`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');
    const watching = spawn(process.execPath, [
      ...[main, 'audit', String(child.pid), '--watch', '--interval', '5'],
    ]);
    children.push(watching);
    let printed = '';
    watching.stdout.on('data', (text: Buffer) => (printed += String(text)));
    await waitFor(
      'the first look',
      () =>
        readFileSync(`/proc/${String(watching.pid)}/wchan`, 'latin1').includes('epoll') ||
        undefined,
    );
    child.stdin.write('\n');
    await waitFor('the lane', () => / \+ 0@\d+ {2}char-device/.test(printed) || undefined);
    expect(printed).not.toMatch(/ \+ [012] {2}/);
    const { stdout } = await runCli(['holders', '/dev/null']);
    expect(stdout).toMatch(new RegExp(`^${String(child.pid)} .* 0@\\d+ `, 'm'));
    child.kill();
    await once(watching, 'exit');
  });

  it.each([
    [['audit'], 'no process given'],
    [['audit', 'node'], 'by its id'],
    [['audit', '1', '--html', 'x'], 'needs --tree'],
    [['audit', '1', '--tree', '--against', 'x'], 'leave --tree out'],
    [['audit', '1', '--against', '/none'], '--against'],
    [['audit', '1', '--watch', '--tree'], '--watch'],
    [['audit', '1', '--interval', '5'], 'needs --watch'],
    [['audit', '1', '--wat'], 'unknown option'],
    [['audit', String(2 ** 22)], 'ESRCH'],
    [['listeners', '70000'], 'from 1 to 65535'],
    [['listeners', '--yes'], 'go with --release'],
    [['listeners', '--release'], 'needs a port'],
    [['listeners', '80', '--release'], 'nobody to ask here'],
    [['holders'], 'nothing given'],
    [['holders', '/no/such'], 'ENOENT'],
    [['leaks', '0'], 'by its id'],
  ])('%j is 125, in one sentence', async (args, part) => {
    const { code, stdout, stderr } = await runCli(args);
    expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
    expect(stderr).toContain(part);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  needs('another uid').it('what cannot be read is 2', async () => {
    const hidden = path.join(scratch, 'sleep');
    copyFileSync('/bin/sleep', hidden);
    chmodSync(hidden, 0o111);
    chmodSync(scratch, 0o755);
    // As root there is hardly anything that cannot be read.
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const child = spawn(hidden, ['60'], { stdio: 'ignore', ...user });
    children.push(child);
    await waitFor('exec', () => auditProcess(child.pid ?? 0).command === 'sleep');
    const main = path.join(copyPackage(), 'dist/cli/main.js');
    const numbers = path.join(scratch, 'none.json');
    writeFileSync(numbers, '{"descriptors":[]}', { mode: 0o644 });
    const args = [main, 'audit', String(child.pid), '--against', numbers];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', ...user });
    expect(stdout).toContain('unknown: not all of it could be read');
    expect(stdout).toMatch(/^\d+ sleep: a program that cannot be read \(/);
    expect(status).toBe(2);
    const watching = [main, 'audit', String(child.pid), '--watch'];
    const watch = spawnSync(process.execPath, watching, { encoding: 'utf8', ...user });
    expect(watch.stderr).toMatch(/^sallyport: watch \d+ EACCES: .*\n$/);
    expect(watch.status).toBe(2);
  });
});

needs('root').it('a pipe whose other end an unreadable process has is not called closed', () => {
  const child = startExact('sleep', ['60'], {
    stdio: ['pipe', 'null', 'null'],
    user: 65534,
    group: 65534,
  });
  exact.push(child);
  const main = path.join(copyPackage(), 'dist/cli/main.js');
  const args = [main, 'audit', String(child.pid)];
  const nobody = spawnSync(process.execPath, args, { encoding: 'utf8', uid: 65534, gid: 65534 });
  expect(nobody.stdout).toMatch(/^0 +pipe .* other end not found$/m);
});

it.each([
  [[1], '1 process could not be read (1): it may hold it too\n'],
  [[1, 2], '2 processes could not be read (1, 2): any of them may hold it too\n'],
])('%j could not be read: that is counted', (pids, line) => {
  expect(formatUnreadable(pids.map((pid) => ({ pid, reason: 'EACCES' })))).toBe(line);
});

describe('sallyport leaks', () => {
  it('is 1 with what would be handed over, and 0 without', async () => {
    const leaky = startSleep(storm.openInheritable('/etc/hosts'));
    const found = await runCli(['leaks', leaky]);
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/^3! +file +read +kept/m);
    const clean = startSleep();
    expect(await runCli(['leaks', clean])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('clean') as string,
    });
    const json = JSON.parse((await runCli(['leaks', leaky, '--json'])).stdout) as Record<
      string,
      unknown
    >;
    expect(json).toMatchObject({
      version: 1,
      pid: Number(leaky),
      unreadable: null,
      leaks: [{ fd: 3 }],
    });
  });

  it('without a process is about whoever started it', async () => {
    const { stdout } = await runCli(['leaks', '--json']);
    expect((JSON.parse(stdout) as { pid: number }).pid).toBe(process.pid);
  });
});

describe('sallyport listeners and holders', () => {
  it.each([
    [1, '1 process could not be read (100): it may hold it too\n'],
    [2, '2 processes could not be read (100, 101): any of them may hold it too\n'],
  ])('say that %d could not be read', (count, sentence) => {
    const unreadable = Array.from({ length: count }, (_, index) => ({
      pid: 100 + index,
      reason: 'another user',
    }));
    expect(formatUnreadable(unreadable)).toBe(sentence);
  });

  let port: number;
  let pid: string;

  beforeAll(async () => {
    const listener = storm.listenInheritable();
    ({ port } = listener);
    pid = startSleep(listener.fd);
    storm.closeFd(listener.fd);
  });

  it('name the holder of a port', async () => {
    const { code, stdout } = await runCli(['holders', String(port)]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^${pid} +sleep +\\d+ +3 +both +tcp 127.0.0.1:${port} LISTEN`, 'm'),
    );
  });

  it('explain, then release, and the port is free', async () => {
    const before = await runCli(['listeners', String(port)]);
    expect(before.code).toBe(1);
    expect(before.stdout).toMatch(
      new RegExp(`^${port} +${pid} +sleep +\\d+ +3 +copy +127.0.0.1:${port}$`, 'm'),
    );
    expect(before.stdout).toContain('holds a copy of the listener');
    const json = JSON.parse((await runCli(['listeners', String(port), '--json'])).stdout) as Record<
      string,
      unknown
    >;
    expect(json).toMatchObject({ version: 1, listeners: [{ port }], explanation: { free: false } });
    const released = await runCli(['listeners', String(port), '--release', '--yes']);
    expect(released).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('lives on') as string,
    });
    expect((await runCli(['listeners', String(port)])).code).toBe(0);
    expect((await runCli(['listeners', String(port), '--release', '--yes'])).code).toBe(125);
  });
});

describe('on a terminal', () => {
  it('colours, fits, and respects NO_COLOR', async () => {
    const long = path.join(scratch, 'a-name-that-goes-on-'.repeat(8));
    writeFileSync(long, '');
    const pid = startSleep(openSync(long, 'r'));
    const plain = await withTerminal(['audit', pid], { columns: 70, env: { NO_COLOR: '1' } });
    const lines = plain.split('\r\n').slice(1);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(70);
    expect(plain).toContain('…');
    // eslint-disable-next-line no-control-regex
    expect(plain).not.toMatch(/\u001b\[\d+m/);
    const coloured = await withTerminal(['audit', pid], { columns: 70, env: {} });
    expect(coloured).toContain('\u001b[1m');
  });
});

describe('--tree --html', () => {
  it('writes one page that loads nothing and runs nothing', async () => {
    const page = path.join(scratch, 'tree.html');
    const { code, stdout } = await runCli(['audit', String(process.pid), '--tree', '--html', page]);
    expect(stdout).toBe('');
    expect([0, 2]).toContain(code);
    const html = readFileSync(page, 'utf8');
    expect(html).not.toMatch(/<script|https?:|src=|@import|url\(/);
    expect(html).toContain(`<a href="#process-${process.pid}">`);
  });

  needs('chromium').it(
    'is drawn by a browser, with leaks in their colour',
    async () => {
      const directory = makeScratch();
      const nasty = path.join(directory, '<img src=x onerror=alert(1)>');
      writeFileSync(nasty, '');
      const fd = storm.openInheritable(nasty, 30);
      const [reading] = storm.makeInheritable('pipe', 40);
      const child = spawn('sh', ['-c', 'sleep 60 & sleep 60; wait'], { stdio: 'ignore' });
      children.push(child);
      await waitFor('the tree', () => auditProcess(child.pid ?? 0).command === 'sh');
      const page = path.join(directory, 'tree.html');
      await runCli(['audit', String(process.pid), '--tree', '--html', page]);
      expect(readFileSync(page, 'utf8')).not.toContain('<img');
      const picture = path.join(directory, 'tree.png');
      const { status, stderr } = spawnSync(
        'chromium',
        [
          '--headless',
          '--no-sandbox',
          '--disable-gpu',
          '--hide-scrollbars',
          '--window-size=1280,900',
          `--user-data-dir=${directory}/profile`,
          `--screenshot=${picture}`,
          `file://${page}`,
        ],
        { encoding: 'utf8', timeout: 60_000 },
      );
      expect(status, stderr).toBe(0);
      const colours = countColours(picture);
      for (const number of [fd, reading ?? -1]) storm.closeFd(number);
      // --leak and --dot of src/cli/tree-style.ts.
      expect(colours.get('#c62828')).toBeGreaterThan(200);
      expect(colours.get('#2f6fb5')).toBeGreaterThan(200);
    },
    90_000,
  );
});
