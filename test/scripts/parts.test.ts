// A test run in parts: every test file is in one of them and in no other, and none is forgotten.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';

interface Counts {
  passed: number;
  failed: string[];
  skipped: Array<{ name: string; reason: string }>;
}

interface Parts {
  partNames: string[];
  filtersOf: (part: string) => string[];
  listTestFiles: (folder: string) => string[];
  readReport: (part: string) => Counts;
}

const { partNames, filtersOf, listTestFiles, readReport } = (await import(
  path.join(root, 'scripts/test-parts.mjs')
)) as Parts;

const ofVitest = partNames.filter((part) => part !== 'native');

describe('the parts of a test run', () => {
  it('have each test file once', () => {
    const files = listTestFiles(path.join(root, 'test')).map((name) => `test/${name}`);
    expect(files.length).toBeGreaterThan(100);
    const filters = new Map(ofVitest.map((part) => [part, filtersOf(part)]));
    const inParts = files.map((file) => [
      file,
      ofVitest.filter((part) => filters.get(part)?.some((filter) => file.includes(filter))),
    ]);
    expect(inParts.filter(([, parts]) => parts!.length !== 1)).toEqual([]);
  });

  it.each(ofVitest.filter((part) => filtersOf(part).length > 0))(
    'are told apart by vitest as they are here: %s',
    (part) => {
      // Of two folders one may have the name of the other at its beginning: run, runtimes.
      const { stdout } = spawnSync(
        process.execPath,
        [
          path.join(root, 'node_modules/vitest/vitest.mjs'),
          'list',
          '--filesOnly',
          ...filtersOf(part),
        ],
        { cwd: root, encoding: 'utf8' },
      );
      const listed = stdout.split('\n').filter((line) => line.endsWith('.test.ts'));
      const entries = new Set(
        listed.map((file) => {
          const [, entry = ''] = file.split('/');
          return entry.endsWith('.ts') ? `test/${entry}` : `test/${entry}/`;
        }),
      );
      expect([...entries].sort()).toEqual(filtersOf(part).sort());
    },
  );

  it('that left no report have failed', () => {
    expect(existsSync(path.join(root, 'reports/parts/no-such-part.json'))).toBe(false);
    expect(readReport('no-such-part')).toEqual({
      passed: 0,
      failed: ['no-such-part: ended without a report'],
      skipped: [],
    });
  });

  it('are named when another is asked for', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [path.join(root, 'scripts/test.mjs'), '--part', 'none'],
      { encoding: 'utf8' },
    );
    expect(status).toBe(1);
    expect(stderr).toBe(`test: unknown part 'none'; write ${partNames.join(', ')}\n`);
  });
});

describe('CI', () => {
  const folder = path.join(root, 'scripts/ci');
  const scripts = readdirSync(folder);
  const run = readFileSync(path.join(root, '.ci/run'), 'utf8');
  const order = /^for part in (.*); do$/m.exec(run)![1]!.split(' ');

  it('calls every script of its folder once, and every part is one', () => {
    expect(['install', ...order].map((name) => `${name}.sh`).sort()).toEqual(scripts.sort());
    expect(order).toEqual(expect.arrayContaining(partNames));
  });

  it('has scripts that can be run, each with its job in its second line', () => {
    for (const name of scripts) {
      const file = path.join(folder, name);
      accessSync(file, constants.X_OK);
      const { status, stderr } = spawnSync('bash', ['-n', file], { encoding: 'utf8' });
      expect([name, status, stderr]).toEqual([name, 0, '']);
      expect(readFileSync(file, 'utf8')).toMatch(/^#!\/bin\/bash\n# \S.*\.\nset -euo pipefail\n/);
    }
  });

  /** What .ci/run prints at its end, and its exit code, where these scripts fail. */
  function runCi(failing: string[]) {
    const copy = mkdtempSync(path.join(tmpdir(), 'sallyport-ci-'));
    try {
      mkdirSync(path.join(copy, '.ci'));
      copyFileSync(path.join(root, '.ci/run'), path.join(copy, '.ci/run'));
      mkdirSync(path.join(copy, 'scripts/ci'), { recursive: true });
      for (const name of scripts) {
        const code = failing.includes(name.replace('.sh', '')) ? 1 : 0;
        writeFileSync(path.join(copy, 'scripts/ci', name), `exit ${code}\n`, { mode: 0o755 });
      }
      const closing = `if (process.argv[2] === '--sum') console.log('3 passed, 0 failed');\n`;
      writeFileSync(path.join(copy, 'scripts/test.mjs'), closing);
      const { status, stdout } = spawnSync('bash', ['.ci/run'], { cwd: copy, encoding: 'utf8' });
      return { status, lines: stdout.split('\n').filter((line) => !line.includes(' took ')) };
    } finally {
      rmSync(copy, { recursive: true });
    }
  }

  it('ends with the sum of the parts, and nothing is printed after it', () => {
    expect(runCi([])).toEqual({ status: 0, lines: ['3 passed, 0 failed', ''] });
  });

  it('names what failed without a failed test, and fails', () => {
    expect(runCi(['lint', 'demo'])).toEqual({
      status: 1,
      lines: ['ci: lint failed', 'ci: demo failed', '3 passed, 0 failed', ''],
    });
  });
});
