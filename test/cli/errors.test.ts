// Each error of the command line is one paragraph that says where it is, what it is, and what to do.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { runCli } from './command-line.js';

const scratch = makeScratch();
const manifest = path.join(root, 'package.json');
const profile = path.join(root, 'examples/text-summary/profile.json');
const empty = path.join(scratch, 'empty');
writeFileSync(empty, '');
const plan = path.join(scratch, 'null.json');
writeFileSync(plan, 'null');
const template = path.join(scratch, 'template.json');
const approved = JSON.parse(readFileSync(profile, 'utf8')) as { arguments: unknown[] };
writeFileSync(
  template,
  JSON.stringify({ ...approved, arguments: [{ operand: 'script', rule: { kind: 'text' } }] }),
);

/** What each says to do. */
const ADVICE =
  /\b(write|give|set|leave|choose|see|name|open|create|make|redirect|did you mean|must be|lists|lower)\b/;

const cases: string[][] = [
  [],
  ['--nope'],
  ['nope'],
  ['audit'],
  ['audit', 'abc'],
  ['audit', '4194304'],
  ['audit', '--nope', '1'],
  ['audit', '1', '2'],
  ['audit', '1', '--interval', '5'],
  ['audit', '1', '--watch', '--interval', '0'],
  ['audit', '1', '--watch', '--tree'],
  ['audit', '1', '--html', 'x'],
  ['audit', '1', '--tree', '--html', 'x', '--json'],
  ['audit', '1', '--tree', '--against', 'x'],
  ['audit', '1', '--against', '/no/such'],
  ['audit', '1', '--against', plan],
  ['leaks', 'abc'],
  ['leaks', '--'],
  ['leaks', '1', '2'],
  ['listeners', '0'],
  ['listeners', '--yes'],
  ['listeners', '--release'],
  ['listeners', '1', '--release'],
  ['listeners', '1', '--release', '--yes'],
  ['holders'],
  ['holders', '/no/such'],
  ['review'],
  ['review', '--profile', '/no/such'],
  ['review', '--profile', empty],
  ['review', '--profile', manifest],
  ['profile'],
  ['profile', 'check'],
  ['profile', 'check', '/no/such'],
  ['profile', 'draft'],
  ['report'],
  ['report', '/no/such'],
  ['report', empty],
  ['report', manifest, '--number', '1'],
  ['report', manifest, '--number', '0'],
  ['run'],
  ['run', ''],
  ['run', '--json', 'true'],
  ['run', '--nope=x', 'true'],
  ['run', '--sesion', 'new', 'true'],
  ['run', '--pass'],
  ['run', '--pass', 'x', 'true'],
  ['run', '--pass', '5', 'true'],
  ['run', '--pass', '200', 'true'],
  ['run', '--pass', '1', 'true'],
  ['run', '--pass', '0=3', '--pass', '1=3', 'true'],
  ['run', '--pass', '0=100000000', 'true'],
  ['run', '--env', '', 'true'],
  ['run', '--env', 'ABSENT', 'true'],
  ['run', '--set', 'x', 'true'],
  ['run', '--preset', 'x', 'true'],
  ['run', '--cache', 'x', 'true'],
  ['run', '--allow-env', 'A*', 'true'],
  ['run', '--run-id', 'a b', 'true'],
  ['run', '--workspace', '/no/such', 'true'],
  ['run', '--workspace', scratch, '--user', 'no-such-user', 'true'],
  ['run', '--remove-home', 'true'],
  ['run', '--cwd', '/no/such', 'true'],
  ['run', '--session', 'x', 'true'],
  ['run', '--deadline', 'x', 'true'],
  ['run', '--max-output', 'x', 'true'],
  ['run', '--limit', 'x', 'true'],
  ['run', '--limit', 'x=1', 'true'],
  ['run', '--user', 'no-such-user', 'true'],
  ['run', '--quiet', '--report', '/no/such/file', 'true'],
  ['run', '--profile', profile, '--deadline', '5'],
  ['run', '--profile', template],
  ['run', 'no-such-program'],
  ['run', manifest],
];

describe('an error of the command line', () => {
  it.each(cases.map((args) => [args]))('%j', async (args) => {
    const { code, stdout, stderr } = await runCli(args, { cwd: scratch });
    expect(code).toBeGreaterThanOrEqual(125);
    expect(stdout).toBe('');
    // One paragraph; where and what; what to do.
    expect(stderr).toMatch(/^sallyport: [^\n]+: [^\n]+\n$/);
    const advice = stderr.slice(stderr.lastIndexOf(': ') + 2);
    expect(advice).toMatch(ADVICE);
    // The names are those of the command line.
    expect(stderr).not.toMatch(/give another cwd|for user, group/);
  });

  it('of a command names that command', async () => {
    const { stderr } = await runCli(['profile', 'check']);
    expect(stderr).toContain("write 'sallyport profile check [options] <file>'");
    expect((await runCli(['audit', '--nope'])).stderr).toContain("'sallyport audit --help'");
    expect((await runCli(['run', '--cwd', '/no/such', 'true'])).stderr).toContain('another --cwd');
  });
});

it('every sentence for a mistake says what to do', () => {
  const folder = path.join(root, 'src/cli');
  const sentences = readdirSync(folder).flatMap((name) =>
    [
      ...readFileSync(path.join(folder, name), 'utf8').matchAll(
        /new UsageError\(\s*(['"`])((?:(?!\1)[^])*)\1,?\s*\)/g,
      ),
    ].map(([, , sentence = '']) => `${name}: ${sentence}`),
  );
  expect(sentences.length).toBeGreaterThan(25);
  // What ends in somebody else's words is theirs to say.
  const own = sentences.filter((sentence) => !sentence.endsWith('}'));
  expect(own.filter((sentence) => !ADVICE.test(sentence))).toEqual([]);
});
