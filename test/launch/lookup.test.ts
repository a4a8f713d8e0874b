// Which program really runs: the child's PATH decides, and posix_spawn gets an absolute path.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { spawn, type SpawnOptions } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { makeScratch } from '../support/fixtures.js';
import { readAll } from '../support/processes.js';

const scratch = makeScratch();
const before = process.env['PATH'] ?? '';

beforeAll(() => {
  for (const directory of ['ours', 'theirs', 'cwd']) {
    const tool = path.join(scratch, directory, 'tool');
    mkdirSync(path.dirname(tool));
    writeFileSync(tool, `#!/bin/sh\necho ${directory}\n`);
    chmodSync(tool, 0o755);
  }
});

afterEach(() => {
  process.env['PATH'] = before;
});

async function run(file: string, options: SpawnOptions = {}): Promise<string> {
  const child = spawn(file, [], options);
  expect(path.isAbsolute(child.plan.executable)).toBe(true);
  return child.stdout ? String(await readAll(child.stdout)).trim() : '';
}

describe('the program that runs', () => {
  it("is the one of the child's PATH, though the parent's has another", async () => {
    process.env['PATH'] = `${path.join(scratch, 'ours')}:${before}`;
    expect(await run('tool', { env: { PATH: path.join(scratch, 'theirs') } })).toBe('theirs');
  });

  it("is never one that only the parent's PATH has: the error says where that is", () => {
    process.env['PATH'] = `${path.join(scratch, 'ours')}:${before}`;
    for (const options of [{}, { env: {} }, { env: { PATH: '/nowhere' } }]) {
      const error = thrown(() => spawn('tool', [], options));
      expect(error).toMatchObject({ code: 'ENOENT', stage: 'lookup' });
      expect(error.message).toContain(path.join(scratch, 'ours', 'tool'));
    }
  });

  it('is never one in the working directory, whatever PATH says', () => {
    const cwd = path.join(scratch, 'cwd');
    for (const PATH of ['', '.', ':', '.:', '::/nowhere', '../cwd']) {
      expect(thrown(() => spawn('tool', [], { cwd, env: { PATH } }))).toMatchObject({
        code: 'ENOENT',
      });
    }
  });

  it("with a slash it is taken against the plan's cwd", async () => {
    const cwd = path.join(scratch, 'cwd');
    expect(await run('./tool', { cwd })).toBe('cwd');
    expect(await run('../theirs/tool', { cwd })).toBe('theirs');
  });
});
