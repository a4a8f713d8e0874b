// sealDescriptors: what it marks is handed over by no plain spawn any more.
import { describe, expect, it } from 'vitest';

import { sealDescriptors } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { inNode } from '../support/node-script.js';

/** Opens one of each beyond gaps, seals, and looks with a plain spawn before and after. */
const seal = (kinds?: 'sockets' | 'all') =>
  inNode(({ sallyport, storm, fixture, require }, kinds) => {
    const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
    const sockets = [
      storm.listenInheritable(40).fd,
      ...storm.makeInheritable('socketpair', 100),
      ...storm.makeInheritable('udp', 900),
    ];
    const others = [
      storm.openInheritable('/etc/hosts', 30),
      storm.openInheritable('/etc', 60),
      ...storm.makeInheritable('pipe', 300),
      ...storm.makeInheritable('memfd', 500),
      ...storm.makeInheritable('epoll', 700),
    ];
    const already = storm.openInheritable('/etc/hosts', 35);
    storm.setCloexec(already, true);
    const held = () => {
      const child = spawnSync(fixture('witness'), [], { stdio: ['ignore', 'pipe', 'ignore'] });
      const report = JSON.parse(String(child.stdout)) as { descriptors: Array<{ fd: number }> };
      return report.descriptors.map(({ fd }) => fd);
    };
    const standard = () => [0, 1, 2].map((fd) => storm.isCloexec(fd)).join();
    const standardBefore = standard();
    const before = held();
    const sealed = sallyport.sealDescriptors(kinds === null ? undefined : { kinds });
    const after = held();
    const again = sallyport.sealDescriptors(kinds === null ? undefined : { kinds });
    const untouched = standard() === standardBefore;
    return { sockets, others, already, before, sealed, after, again, untouched };
  }, kinds ?? null);

describe('sealDescriptors', () => {
  it.each([undefined, 'sockets'] as const)(
    'kinds: %s seals sockets past every gap',
    async (kinds) => {
      const seen = await seal(kinds);
      // The control: a plain spawn hands all of them over.
      expect(seen.before).toEqual(expect.arrayContaining([...seen.sockets, ...seen.others]));
      const fds = seen.sealed.map(({ fd }) => fd);
      // Beside ours there may be what whoever started us left open.
      expect(fds).toEqual(expect.arrayContaining(seen.sockets));
      expect(fds).toEqual([...fds].sort((left, right) => left - right));
      expect(seen.sealed.every(({ kind }) => kind === 'socket' || kind === 'listener')).toBe(true);
      expect(seen.after.filter((fd) => seen.sockets.includes(fd))).toEqual([]);
      expect(seen.after).toEqual(expect.arrayContaining(seen.others));
      expect(seen.again).toEqual([]);
      expect(seen.untouched).toBe(true);
    },
  );

  it("kinds: 'all' leaves 0, 1, 2 and nothing else", async () => {
    const seen = await seal('all');
    expect(seen.before).toEqual(expect.arrayContaining([...seen.sockets, ...seen.others]));
    const fds = seen.sealed.map(({ fd }) => fd);
    expect(fds).toEqual(expect.arrayContaining([...seen.sockets, ...seen.others]));
    expect(fds).not.toContain(seen.already);
    expect(seen.after).toEqual([0, 1, 2]);
    expect(seen.again).toEqual([]);
    expect(seen.untouched).toBe(true);
  });

  it('says what each of them is', async () => {
    const { sealed, sockets, others } = await seal('all');
    const kindOf = Object.fromEntries(sealed.map(({ fd, kind }) => [fd, kind]));
    expect(sockets.map((fd) => kindOf[fd])).toEqual(['listener', 'socket', 'socket', 'socket']);
    expect(others.map((fd) => kindOf[fd])).toEqual([
      'file',
      'directory',
      'pipe',
      'pipe',
      'memfd',
      'epoll',
    ]);
    const file = sealed.find(({ fd }) => fd === others[0]);
    expect(file).toMatchObject({ target: '/etc/hosts', access: 'read' });
    expect(JSON.parse(JSON.stringify(sealed))).toEqual(sealed);
  });

  it('a sealed descriptor can still be passed on purpose', async () => {
    const code = await inNode(async ({ sallyport, storm, fixture }) => {
      const { fd } = storm.listenInheritable(40);
      sallyport.sealDescriptors({ kinds: 'all' });
      const child = sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', '40', '3'], {
        stdio: 'null',
        pass: [fd, { fd, as: 3, expect: { kind: 'listener', access: 'both' } }],
      });
      return (await child.exited).code;
    }, null);
    expect(code).toBe(0);
  });

  it('refuses an option it does not have', () => {
    expect(thrown(() => sealDescriptors({ kind: 'all' } as never))).toMatchObject({
      code: 'ERR_SALLYPORT_UNKNOWN_OPTION',
    });
  });

  it.each([['files'], [{}], [1]])('refuses kinds: %s', (kinds) => {
    const error = thrown(() => sealDescriptors({ kinds: kinds as never }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
  });
});
