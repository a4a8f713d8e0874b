// sallyport leaks -- a program: what plain spawns of it would have handed over.
import { openSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

import { spawn } from '../../src/index.js';
import { root } from '../support/fixtures.js';
import { cli } from './terminal.js';

async function runLeaks(args: readonly string[]): Promise<{ code: number | null; stdout: string }> {
  const child = spawn(process.execPath, [cli, 'leaks', ...args], {
    pass: [{ fd: openSync('/etc/hosts', 'r'), as: 30 }],
    stdio: ['null', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '' },
  });
  const [stdout, { code }] = await Promise.all([text(child.stdout), child.exited]);
  return { code, stdout };
}

const program = path.join(root, 'test/compat/scripts/leaky-children.cjs');

describe('sallyport leaks -- <program>', () => {
  it('lists each child with what it was spared, and where that came from', async () => {
    const { code, stdout } = await runLeaks(['--json', '--', process.execPath, program]);
    expect(code).toBe(1);
    const { children, ...head } = JSON.parse(stdout) as { children: Array<{ file: string }> };
    expect(head).toEqual({ version: 1, program: process.execPath, code: 0, signal: null });
    const leak = { fd: 30, kind: 'file', what: 'file /etc/hosts (read)', from: 'inherited' };
    expect(children.map(({ file }) => file)).toEqual(['true', 'true', process.execPath]);
    for (const child of children) expect(child).toMatchObject({ version: 1, leaks: [leak] });
  });

  it('tells what the program opened, in words', async () => {
    const opens = `
      const { execFileSync } = require('node:child_process');
      execFileSync('true');
      console.log('said by the program');`;
    const { code, stdout } = await runLeaks(['--', process.execPath, '-e', opens]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^said by the program\ntrue \(pid \d+, started by \d+\): 1 would have/);
    expect(stdout).toContain('  30! file /etc/hosts (read): its parent inherited it\n');
    expect(stdout).toMatch(/1 child, 1 of them with more than their stdio\n$/);
  });

  it('finds nothing where there is nothing', async () => {
    const { code, stdout } = await runLeaks(['--', 'true']);
    expect([code, stdout]).toEqual([
      0,
      'true started no child by child_process, or is no Node program\n',
    ]);
  });

  it.each([[['--']], [['a', 'b']], [['--', '']]])('refuses %j', async (args) => {
    expect(await runLeaks(args)).toEqual({ code: 125, stdout: '' });
  });
});
