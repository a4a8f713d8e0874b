// The short examples, the demo, and the list of all of them.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { readDocument } from '../docs/markdown.js';
import { root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';
import { runExample } from './support.js';

describe('examples/README.md', () => {
  it('lists every example, and says of each what it shows', () => {
    const { sections } = readDocument('examples/README.md');
    const rows = sections.flatMap((section) => section.rows);
    const listed = rows.map(([name = '']) => /\(([^)]+?)\/?\)/.exec(name)?.[1]);
    const there = readdirSync(path.join(root, 'examples')).filter(
      (name) => name !== 'README.md' && !name.endsWith('.dockerignore'),
    );
    expect(listed.sort()).toEqual(there.sort());
    expect(rows.filter(([, shows = '']) => shows.length < 20)).toEqual([]);
  });
});

describe('the short examples', () => {
  it('first-spawn.mjs prints what the program printed, and its exit code', async () => {
    const { code, stdout, stderr } = await runExample('first-spawn.mjs');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^hello from the parent\nexit code 3, as asked; \d+ µs/);
  });

  it('pass-a-descriptor.cjs hands over one file and refuses another object', async () => {
    const { code, stdout, stderr } = await runExample('pass-a-descriptor.cjs');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const file = readFileSync(path.join(root, 'examples/pass-a-descriptor.cjs'), 'utf8');
    for (const line of file.split('\n').slice(0, 2)) expect(stdout).toContain(`${line}\n`);
    expect(stdout).toMatch(/^refused: descriptor \d+ is char-device \/dev\/null/m);
  });

  needs('git').it(
    'explain-a-plan.mjs prints the plan without a value, and its digest',
    async () => {
      const { code, stdout, stderr } = await runExample('explain-a-plan.mjs');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('"GIT_ASKPASS_SECRET"');
      expect(stdout).not.toContain('made-up');
      const digest = stdout.trimEnd().split('\n').at(-1)!;
      expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      const description: unknown = JSON.parse(stdout.slice(0, stdout.lastIndexOf('sha256:')));
      expect(description).toMatchObject({ version: 1, digest, cwd: '/' });
    },
  );

  it('text-summary is run by its profile', () => {
    const folder = path.join(root, 'examples/text-summary');
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [path.join(root, 'dist/cli/main.js'), 'run', '--profile', path.join(folder, 'profile.json')],
      { input: readFileSync(path.join(folder, 'notes.txt')), encoding: 'utf8' },
    );
    // The profile wants a file for its input, and this is a pipe.
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toContain('channels.stdin');

    const script = 'exec "$0" "$1" run --profile "$2/profile.json" <"$2/notes.txt"';
    const main = path.join(root, 'dist/cli/main.js');
    const ran = spawnSync('sh', ['-c', script, process.execPath, main, folder], {
      encoding: 'utf8',
    });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: '' });
    const lines = readFileSync(path.join(folder, 'notes.txt'), 'utf8').trimEnd().split('\n').length;
    expect(ran.stdout).toMatch(
      new RegExp(`^${String(lines)} lines, \\d+ words, \\d+ characters\n$`),
    );
  });

  it('side-by-side shows the leak of the one, and none of the other', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [path.join(root, 'scripts/demo.mjs')],
      { encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^child_process {2}leaked 3 descriptors and 5 credentials/m);
    expect(stdout).toMatch(/^sallyport {6}handed over descriptors 0, 1, 2 and \d variables/m);
  });
});
