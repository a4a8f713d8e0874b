// A parent whose own 0, 1 or 2 are closed still gives its children the right ones.
import { describe, expect, it } from 'vitest';

import { fixture } from '../support/fixtures.js';
import { inNode, type ScriptContext } from '../support/node-script.js';
import type { Witness } from '../support/witness.js';

const combinations = Array.from({ length: 8 }, (_, mask) => ({
  closed: [0, 1, 2].filter((fd) => (mask & (1 << fd)) !== 0),
}));

const deny = (calls: string) => [fixture('seccomp_deny'), 'EPERM', calls, '--'];

/** Where the table is the process's own, what is closed there can be come upon. */
const ways = {
  'by a lane': { noNewPrivileges: true, wrap: [], route: 'lane' },
  'by the calling thread': { noNewPrivileges: false, wrap: [], route: 'direct' },
  'by the calling thread, without close_range': {
    noNewPrivileges: false,
    wrap: deny('close_range'),
    route: 'direct',
  },
  'by a lane that shares the table': {
    noNewPrivileges: true,
    wrap: deny('close_range,unshare'),
    route: 'thread',
  },
} as const;

interface Seen {
  stdio: Witness['descriptors'];
  fds: number[];
  source: { dev: number; ino: string };
}

/** One child for each form of the standard channels, from a parent that closed `closed`. */
async function launchAll(closed: number[], way: keyof typeof ways) {
  const { noNewPrivileges, wrap, route } = ways[way];
  const body = async (
    { sallyport, storm, processes, fixture, scratch, require }: ScriptContext,
    {
      closed,
      noNewPrivileges,
      route,
    }: { closed: number[]; noNewPrivileges: boolean; route: string },
  ) => {
    const fs = require('node:fs') as typeof import('node:fs');
    const source = fs.openSync('/etc/hosts', 'r');
    // A control: this one is inheritable, and must never arrive by itself.
    storm.openInheritable('/etc/passwd', 40);
    for (const fd of closed) storm.closeFd(fd);
    const about = fs.fstatSync(source, { bigint: true });
    const launch = async (name: string, options: import('../../src/index.js').SpawnOptions) => {
      const out = `${scratch}/${name}`;
      const child = sallyport.spawn(fixture('witness'), ['--out', out], {
        ...options,
        noNewPrivileges,
      });
      if (child.plan.route.kind !== route) throw new Error(`it went by ${child.plan.route.kind}`);
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
    const inherited = (fd: number) => (closed.includes(fd) ? 'null' : 'inherit');
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
        stdio: [inherited(0), inherited(1), inherited(2)],
      }),
    };
  };
  return inNode(body, { closed, noNewPrivileges, route }, { wrap: [...wrap] });
}

describe.each(combinations)('a parent that closed $closed', ({ closed }) => {
  it.each(Object.keys(ways) as Array<keyof typeof ways>)(
    'each form of stdio gives three channels and nothing else, %s',
    async (way) => {
      const seen = await launchAll(closed, way);
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
    },
  );

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
