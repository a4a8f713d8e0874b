// A parent whose own 0, 1 or 2 are closed still gives its children the right ones.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';
import type { Witness } from '../support/witness.js';

const combinations = Array.from({ length: 8 }, (_, mask) => ({
  closed: [0, 1, 2].filter((fd) => (mask & (1 << fd)) !== 0),
}));

interface Seen {
  stdio: Witness['descriptors'];
  fds: number[];
  source: { dev: number; ino: string };
}

/** One child for each form of the standard channels, from a parent that closed `closed`. */
async function launchAll(closed: number[]) {
  return inNode(async ({ sallyport, storm, processes, fixture, scratch, require }, closed) => {
    const fs = require('node:fs') as typeof import('node:fs');
    const source = fs.openSync('/etc/hosts', 'r');
    // A control: this one is inheritable, and must never arrive by itself.
    storm.openInheritable('/etc/passwd', 40);
    for (const fd of closed) storm.closeFd(fd);
    const about = fs.fstatSync(source, { bigint: true });
    const launch = async (name: string, options: import('../../src/index.js').SpawnOptions) => {
      const out = `${scratch}/${name}`;
      const child = sallyport.spawn(fixture('witness'), ['--out', out], options);
      const { code } = await child.exited;
      child[Symbol.dispose]();
      if (code !== 0) throw new Error(`the witness of '${name}' ended with ${String(code)}`);
      const report = JSON.parse(fs.readFileSync(out, 'utf8')) as Witness;
      return {
        stdio: report.descriptors.filter(({ fd }) => fd < 3),
        fds: report.descriptors.map(({ fd }) => fd),
        source: { dev: Number(about.dev), ino: String(about.ino) },
      } satisfies Seen;
    };
    const open = processes.listDescriptors().filter((fd) => fd < 3);
    return {
      open,
      null: await launch('null', { stdio: 'null' }),
      pipe: await launch('pipe', { stdio: 'pipe' }),
      descriptor: await launch('descriptor', { stdio: source }),
      mixed: await launch('mixed', {
        stdio: ['null', 'pipe', source],
        pass: [{ fd: source, as: 5 }],
      }),
      inherit: await launch('inherit', {
        stdio: [0, 1, 2].map((fd) => (closed.includes(fd) ? 'null' : 'inherit')),
      }),
    };
  }, closed);
}

describe.each(combinations)('a parent that closed $closed', ({ closed }) => {
  it('each form of stdio gives three channels and nothing else', async () => {
    const seen = await launchAll(closed);
    expect(seen.open).toEqual([0, 1, 2].filter((fd) => !closed.includes(fd)));
    for (const name of ['null', 'pipe', 'descriptor', 'inherit'] as const) {
      expect(seen[name].fds, name).toEqual([0, 1, 2]);
    }
    expect(seen.mixed.fds).toEqual([0, 1, 2, 5]);
    expect(seen.null.stdio.map(({ link }) => link)).toEqual([
      '/dev/null',
      '/dev/null',
      '/dev/null',
    ]);
    expect(seen.pipe.stdio.map(({ type, access }) => `${type} ${access}`)).toEqual([
      'pipe read',
      'pipe write',
      'pipe write',
    ]);
    for (const { dev, ino } of seen.descriptor.stdio) {
      expect({ dev, ino }).toEqual(seen.descriptor.source);
    }
    expect(seen.mixed.stdio.map(({ type }) => type)).toEqual(['char-device', 'pipe', 'file']);
  });

  it('a closed one cannot be inherited: the error says so', async () => {
    const refused = await inNode(({ sallyport, storm }, closed) => {
      const messages = [];
      for (const fd of closed) storm.closeFd(fd);
      for (const fd of closed) {
        const stdio: ['null' | 'inherit', 'null' | 'inherit', 'null' | 'inherit'] = [
          'null',
          'null',
          'null',
        ];
        stdio[fd] = 'inherit';
        try {
          sallyport.spawn('true', [], { stdio });
          messages.push('no error');
        } catch (error) {
          messages.push((error as Error).message);
        }
      }
      return messages;
    }, closed);
    expect(refused).toHaveLength(closed.length);
    refused.forEach((message, index) => {
      expect(message).toMatch(/^spawn true EBADF: /);
      expect(message).toContain(String(closed[index]));
    });
  });
});
