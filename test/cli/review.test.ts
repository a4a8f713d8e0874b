// The command line about what was approved and what was done: review, profile, run --profile, report.
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { Profile } from '../../src/index.js';
import { makeScratch, root } from '../support/fixtures.js';
import { readAll } from '../support/processes.js';
import { runCli, startCli, type Ran } from './command-line.js';

const example = path.join(root, 'examples/text-summary');
const profile = path.join(example, 'profile.json');
const scratch = makeScratch();

/** With the notes of the example, or another file, on stdin. */
async function withInput(
  words: string,
  input = path.join(example, 'notes.txt'),
): Promise<Omit<Ran, 'signal'>> {
  const fd = openSync(input, 'r');
  const child = startCli(words.split(' '), [fd, 'pipe', 'pipe']);
  closeSync(fd);
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr] = await Promise.all([readAll(child.stdout!), readAll(child.stderr!)]);
  const [code] = await ended;
  return { code, stdout: stdout.toString(), stderr: stderr.toString() };
}

describe('review --cards', () => {
  it('prints the eight decisions on the example that is shipped', async () => {
    const { code, stdout, stderr } = await runCli(['review', '--cards']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3));
    expect(rows.slice(1, 9)).toEqual([
      ['S37', 'accept', 'extra-descriptors: accept'],
      ['S38', 'hold', 'extra-descriptors: hold'],
      ['S39', 'reject', 'extra-descriptors: reject'],
      ['S40', 'reject', 'standard-channels: reject'],
      ['S41', 'hold', 'descriptor-evidence: hold'],
      ['S42', 'hold', 'launcher: hold'],
      ['S43', 'accept', 'os-rights: not-assessed'],
      ['S44', 'hold', 'completion: hold'],
    ]);
  });

  it('as JSON with the sentences', async () => {
    const { stdout } = await runCli(['review', '--cards', '--json']);
    const cards = JSON.parse(stdout) as Array<{ gates: Array<{ name: string; sentence: string }> }>;
    const rights = cards[6]?.gates.find(({ name }) => name === 'os-rights');
    expect(rights?.sentence).toContain('neither authorized here nor shown to be blocked');
  });
});

describe('run --profile', () => {
  it('runs the example', async () => {
    const { code, stdout, stderr } = await withInput(`run --profile ${profile}`);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '2 lines, 21 words, 110 characters\n',
      stderr: '',
    });
  });

  it.each([
    ['another variable', '--env CI=1', 'environment'],
    ['new privileges', '--allow-new-privileges', 'launcher'],
    ['another directory', '--cwd /tmp', 'environment'],
  ])(
    '%s: starts nothing, 125, the gates on stderr and in the report',
    async (_what, option, gate) => {
      const record = path.join(makeScratch(), 'runs.jsonl');
      const { code, stdout, stderr } = await withInput(
        `run --profile ${profile} --report ${record} ${option}`,
      );
      expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
      expect(stderr).toMatch(new RegExp(`^ +${gate} +reject`, 'm'));
      expect(stderr).toMatch(/^ +os-rights +not-assessed/m);
      const report = JSON.parse(readFileSync(record, 'utf8')) as {
        admission: { decision: string; gates: Array<{ name: string; decision: string }> };
      };
      expect(report.admission.decision).toBe('reject');
      expect(report.admission.gates).toContainEqual(
        expect.objectContaining({ name: gate, decision: 'reject' }),
      );
    },
  );

  it('stdin that is no file is rejected', async () => {
    const { code, stderr } = await withInput(`run --profile ${profile}`, '/dev/null');
    expect(code).toBe(125);
    expect(stderr).toMatch(/standard-channels +reject/);
  });

  it('the exit code of the program is its own', async () => {
    const own = path.join(scratch, 'false.json');
    const { executable, ...rest } = JSON.parse(readFileSync(profile, 'utf8')) as Profile;
    const fails = { ...rest, executable: { ...executable, path: '/bin/false' }, arguments: [] };
    writeFileSync(own, JSON.stringify(fails));
    expect((await withInput(`run --profile ${own}`)).code).toBe(1);
  });

  it('a program ended by a realtime signal, which has no name: 128 and its number', async () => {
    const own = path.join(scratch, 'realtime.json');
    const { executable, ...rest } = JSON.parse(readFileSync(profile, 'utf8')) as Profile;
    const shell = { ...executable, path: '/bin/sh', kind: 'any' as const };
    const ends = { ...rest, executable: shell, arguments: ['-c', 'kill -40 $$'] };
    writeFileSync(own, JSON.stringify(ends));
    expect((await withInput(`run --profile ${own}`)).code).toBe(168);
  });

  it('a command that does not say its operands is told so; a broken profile as well', async () => {
    const own = path.join(scratch, 'operand.json');
    const approved = JSON.parse(readFileSync(profile, 'utf8')) as Profile;
    approved.arguments = [{ operand: 'data', rule: { kind: 'text' } }];
    writeFileSync(own, JSON.stringify(approved));
    const said = await withInput(`run --profile ${own}`);
    expect(said.code).toBe(125);
    expect(said.stderr).toContain("'data'");
    writeFileSync(own, JSON.stringify({ ...approved, chanels: {} }));
    const broken = await withInput(`run --profile ${own}`);
    expect(broken.code).toBe(125);
    expect(broken.stderr).toContain('did you mean channels?');
  });
});

describe('review --profile', () => {
  it.each([
    ['', 0, 'accept'],
    [' --env CI=1', 2, 'reject'],
  ])('%s', async (option, expected, decision) => {
    const { code, stdout } = await withInput(`review --profile ${profile}${option}`);
    expect(code).toBe(expected);
    expect(stdout).toMatch(new RegExp(`^decision +${decision}$`, 'm'));
    expect(stdout).toContain('authorizes nothing');
  });
});

describe('profile', () => {
  it('draft gives what check takes, and review accepts', async () => {
    const own = path.join(scratch, 'drafted.json');
    const drafted = await withInput(`profile draft --cwd / -- /usr/bin/wc -l`);
    expect(drafted.code).toBe(0);
    writeFileSync(own, drafted.stdout);
    const checked = await runCli(['profile', 'check', own]);
    expect(checked).toMatchObject({
      code: 0,
      stdout: `${own}: a profile of /usr/bin/wc; further descriptors: 0\nstill to be stated: channels.stdin.reason\n`,
    });
    writeFileSync(own, drafted.stdout.replace('to be stated', 'its input'));
    expect((await runCli(['profile', 'check', own])).stdout).not.toContain('stated');
    expect((await withInput(`review --profile ${own}`)).code).toBe(0);
  });

  it('nothing of a profile, of a plan or of a record acts on the terminal', async () => {
    // CSI in two characters and in one, a bell, and what turns the line round.
    const name = 'x\u001b[2J\u009b2J\u0007\u202e\u2028y';
    const acting =
      // eslint-disable-next-line no-control-regex -- they are what is looked for
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
    const file = path.join(scratch, 'odd.json');
    const drafted = await runCli(['profile', 'draft', '--', '/bin/true', name]);
    const profile = JSON.parse(drafted.stdout) as Profile;
    expect(profile.arguments).toEqual([name]);
    writeFileSync(file, JSON.stringify({ ...profile, name }));
    const record = path.join(scratch, 'odd-record.jsonl');
    const command = ['/bin/true', name];
    const own = ['--env', `A${name}=1`];
    const printed = [
      drafted,
      await runCli(['profile', 'check', file]),
      await runCli(['review', '--profile', file, ...own]),
      await runCli(['review', '--profile', file, ...own, '--json']),
      await runCli(['run', '--profile', file, ...own]),
      await runCli(['run', '--report', record, ...own, '--', ...command]),
      await runCli(['report', record]),
      await runCli(['report', record, '--json']),
      await runCli(['run', '--explain', '--json', ...own, '--', ...command]),
    ];
    for (const { stdout, stderr } of printed) {
      expect(stdout).not.toMatch(acting);
      expect(stderr).not.toMatch(acting);
    }
    expect(readFileSync(record, 'utf8')).not.toMatch(acting);
    expect(JSON.parse(printed[7]!.stdout)).toMatchObject({
      inheritance: { environmentNames: expect.arrayContaining([`A${name}`]) },
    });
  });

  it('check names what is wrong, 125', async () => {
    const own = path.join(scratch, 'broken.json');
    writeFileSync(own, '{"profile": 1, "executabel": {}}');
    const { code, stderr } = await runCli(['profile', 'check', own]);
    expect(code).toBe(125);
    expect(stderr).toContain('did you mean executable?');
  });

  it('schema prints what is published', async () => {
    const { stdout } = await runCli(['profile', 'schema']);
    const published = readFileSync(path.join(root, 'schema/profile.v1.json'), 'utf8');
    expect(JSON.parse(stdout)).toEqual(JSON.parse(published));
  });
});

describe('report', () => {
  it('prints a record, compares two, and checks a chain', async () => {
    const folder = makeScratch();
    mkdirSync(path.join(folder, 'more'));
    const [one, two] = [path.join(folder, 'one.jsonl'), path.join(folder, 'more/two.jsonl')];
    const start = (record: string, option = ''): ReturnType<typeof withInput> =>
      withInput(`run --profile ${profile} --report ${record}${option}`);
    await start(one);
    await start(one);
    await start(two, ' --env CI=1');
    expect(existsSync(two)).toBe(true);

    const printed = await runCli(['report', one]);
    expect(printed.code).toBe(0);
    expect(printed.stdout).toMatch(/^inheritance +at-exec/m);
    expect(printed.stdout).toMatch(/^not tested +effects/m);
    expect(printed.stdout).toMatch(/^authorized +not assessed/m);

    const same = path.join(folder, 'same.jsonl');
    writeFileSync(same, `${readFileSync(one, 'utf8').split('\n')[0] ?? ''}\n`);
    const [first, second] = [
      await runCli(['report', same, one]),
      await runCli(['report', one, two]),
    ];
    expect(first).toMatchObject({ code: 0, stdout: 'nothing differs\n' });
    expect(second.code).toBe(1);
    expect(second.stdout).toMatch(/^admission\.decision: "accept" → "reject"$/m);

    const whole = await runCli(['report', '--verify', one]);
    expect(whole.code).toBe(0);
    const kept = /sha256:\S+/.exec(whole.stdout)![0];
    const grown = await runCli(['report', '--verify', '--kept', kept, one]);
    expect(grown).toMatchObject({ code: 0, stdout: expect.stringContaining('record 2 has the') });
    const cut = await runCli(['report', '--verify', '--kept', kept, same]);
    expect(cut).toMatchObject({ code: 1, stdout: expect.stringContaining('no record has the') });
    for (const options of [
      ['--kept', kept],
      ['--verify', '--kept', 'sha256:1'],
    ]) {
      const wrong = await runCli(['report', ...options, one]);
      expect(wrong).toMatchObject({ code: 125, stderr: expect.stringMatching(/--kept: .*write/) });
    }
    writeFileSync(one, readFileSync(one, 'utf8').replace('"accept"', '"reject"'));
    const broken = await runCli(['report', '--verify', one]);
    expect(broken.code).toBe(1);
    expect(broken.stdout).toContain('broken at record 2');
  });

  it('says what is no record', async () => {
    const own = path.join(scratch, 'none.jsonl');
    writeFileSync(own, '{}\n');
    const { code, stderr } = await runCli(['report', own]);
    expect(code).toBe(125);
    expect(stderr).toContain('no record of a run');
    expect((await runCli(['report', path.join(scratch, 'missing')])).stderr).toContain('ENOENT');
  });

  it('says the same of one in which something is missing, another, or nested without end', async () => {
    const own = path.join(scratch, 'odd.jsonl');
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const odd = [
      '{"version":1,"outcome":{},"cleanup":{}}',
      '{"version":1,"outcome":{},"cleanup":{},"admission":{"gates":[{}]}}',
      '{"version":1,"outcome":1,"cleanup":1}',
      `{"version":1,"outcome":1,"cleanup":1,"x":${nested}}`,
      `{"version":1,"outcome":1,"cleanup":1,"x":[${nested}]}`,
    ];
    writeFileSync(own, `${odd.join('\n')}\n`);
    for (const [index] of odd.entries()) {
      const { code, stderr } = await runCli(['report', own, '--number', String(index + 1)]);
      expect([code, stderr]).toEqual([125, expect.stringContaining('no record of a run')]);
    }
    const other = path.join(scratch, 'other.jsonl');
    writeFileSync(other, `${odd[3] ?? ''}\n`);
    const { code, stderr } = await runCli(['report', own, other]);
    expect([code, stderr]).toEqual([125, expect.stringContaining('no record of a run')]);
    expect((await runCli(['report', own, '--number', '0x1'])).stderr).toContain('no such record');
    // No range of numbers where there is none.
    expect((await runCli(['report', '/dev/null'])).stderr).toContain('there is no record in it');
    const second = await runCli(['report', other, '--number', '2']);
    expect(second.stderr).toContain('it has one, --number 1');
  });
});
