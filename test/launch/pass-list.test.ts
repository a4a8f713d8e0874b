// Each descriptor of the plan arrives at its number, and is the object that was named.
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { spawn, type SpawnOptions } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { fixture, loadStorm, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { readWitness, type Witness, witness } from '../support/witness.js';

const storm = loadStorm();
const scratch = realpathSync(makeScratch());

interface Source {
  fd: number;
  identity: string;
}

let opened: number[] = [];

function track(fd: number): Source {
  opened.push(fd);
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return { fd, identity: `${String(dev)}:${String(ino)}` };
}

/** A file of its own, so that every source is a different object. */
function makeSource(name: string, flags = constants.O_RDWR | constants.O_CREAT): Source {
  return track(openSync(path.join(scratch, name), flags));
}

/** At exactly this number, which must be free or already one of ours. */
function makeSourceAt(number: number): Source {
  const { fd } = makeSource(`at-${String(number)}`);
  if (fd === number) return track(fd);
  storm.dup2(fd, number);
  return track(number);
}

afterEach(() => {
  for (const fd of new Set(opened)) {
    try {
      closeSync(fd);
    } catch {
      // A test may have closed it.
    }
  }
  opened = [];
});

const identify = ({ dev, ino }: { dev: number; ino: string }): string => `${String(dev)}:${ino}`;

/** What the child holds from 3 on, as number → dev:inode. */
async function passed(options: SpawnOptions): Promise<Record<number, string>> {
  const { descriptors } = await launch(options);
  return Object.fromEntries(
    descriptors
      .filter(({ fd }) => fd > 2)
      .map((descriptor) => [descriptor.fd, identify(descriptor)]),
  );
}

async function launch(options: SpawnOptions): Promise<Witness> {
  const child = spawn(witness, [], options);
  const report = await readWitness(child);
  expect((await child.exited).code).toBe(0);
  return report;
}

describe('the pass list', () => {
  it('sparse numbers, given out of order', async () => {
    const [a, b] = [makeSource('a'), makeSource('b')];
    expect(
      await passed({
        pass: [
          { fd: a.fd, as: 9 },
          { fd: b.fd, as: 4 },
        ],
      }),
    ).toEqual({ 4: b.identity, 9: a.identity });
  });

  it('a bare number keeps its number', async () => {
    const source = makeSourceAt(61);
    expect(await passed({ pass: [61] })).toEqual({ 61: source.identity });
    expect(await passed({ pass: [{ fd: 61 }] })).toEqual({ 61: source.identity });
  });

  it('3 and 4 swapped, 0 and 1 swapped', async () => {
    const [a, b] = [makeSource('swap-a'), makeSource('swap-b')];
    const seen = await inNode(
      async ({ sallyport, fixture, scratch, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const child = sallyport.spawn(fixture('witness'), ['--out', `${scratch}/out`], {
          stdio: [1, 0, 'null'],
          pass: [
            { fd: 3, as: 4 },
            { fd: 4, as: 3 },
          ],
        });
        await child.exited;
        const report = JSON.parse(fs.readFileSync(`${scratch}/out`, 'utf8')) as Witness;
        const identify = (fd: number) => {
          const { dev, ino } = fs.fstatSync(fd);
          return `${String(dev)}:${String(ino)}`;
        };
        return {
          ours: [0, 1, 3, 4].map(identify),
          theirs: report.descriptors.map(({ fd, dev, ino }) => [fd, `${String(dev)}:${ino}`]),
        };
      },
      null,
      // Node finds 3 and 4 taken and puts its own descriptors elsewhere.
      {
        wrap: [
          fixture('closed_stdio'),
          ...['--open', `3=${path.join(scratch, 'swap-a')}`],
          ...['--open', `4=${path.join(scratch, 'swap-b')}`, '--'],
        ],
      },
    );
    const [zero, one, three, four] = seen.ours;
    expect([three, four]).toEqual([a.identity, b.identity]);
    expect(seen.theirs.filter(([fd]) => fd !== 2)).toEqual([
      [0, one],
      [1, zero],
      [3, four],
      [4, three],
    ]);
  });

  it('ten descriptors onto ten numbers that clash', async () => {
    const numbers = Array.from({ length: 10 }, (_, index) => 200 + index);
    const sources = numbers.map(makeSourceAt);
    // A rotation by three: every target is somebody else's source.
    const pass = sources.map(({ fd }, index) => ({ fd, as: numbers[(index + 3) % 10] ?? -1 }));
    const expected = Object.fromEntries(
      sources.map(({ identity }, index) => [numbers[(index + 3) % 10], identity]),
    );
    expect(await passed({ pass })).toEqual(expected);
    // And in the order that a naive loop of dup2 gets wrong the other way round.
    expect(await passed({ pass: [...pass].reverse() })).toEqual(expected);
  });

  it('the same source twice, once at its own number', async () => {
    const source = makeSourceAt(70);
    expect(await passed({ pass: [70, { fd: 70, as: 3 }, { fd: 70, as: 90 }] })).toEqual({
      3: source.identity,
      70: source.identity,
      90: source.identity,
    });
  });

  it('a source equal to its target, with close-on-exec on in the parent and left on', async () => {
    const source = makeSourceAt(71);
    storm.setCloexec(71, true);
    const { descriptors } = await launch({ pass: [71] });
    const last = descriptors.at(-1);
    expect(last).toMatchObject({ fd: 71, closeOnExec: false });
    expect(last && identify(last)).toBe(source.identity);
    expect(storm.isCloexec(71)).toBe(true);
  });

  it('sources above and below every target', async () => {
    const [low, high] = [makeSourceAt(50), makeSourceAt(900)];
    expect(
      await passed({
        pass: [
          { fd: low.fd, as: 400 },
          { fd: high.fd, as: 401 },
        ],
      }),
    ).toEqual({ 400: low.identity, 401: high.identity });
  });

  it('a source that is also a standard channel', async () => {
    const source = makeSource('both');
    const out = path.join(scratch, 'both.json');
    const child = spawn(witness, ['--out', out], {
      stdio: source.fd,
      pass: [{ fd: source.fd, as: 3 }],
    });
    expect((await child.exited).code).toBe(0);
    const report = JSON.parse(readFileSync(out, 'utf8')) as Witness;
    expect(report.descriptors.map(({ fd }) => fd)).toEqual([0, 1, 2, 3]);
    for (const descriptor of report.descriptors) expect(identify(descriptor)).toBe(source.identity);
  });

  it('each kind of object arrives as what it is, with its access mode', async () => {
    const listener = storm.listenInheritable(100);
    const [readEnd = -1, writeEnd = -1] = storm.makeInheritable('pipe', 110);
    const [socket = -1, peer = -1] = storm.makeInheritable('socketpair', 120);
    const [memfd = -1] = storm.makeInheritable('memfd', 130);
    const directory = storm.openInheritable(scratch, 140);
    const device = storm.openInheritable('/dev/null', 150, 'both');
    const fds = [listener.fd, readEnd, writeEnd, socket, peer, memfd, directory, device];
    const identities = Object.fromEntries(fds.map((fd) => [fd, track(fd).identity]));
    const { descriptors } = await launch({ pass: fds });
    const held = descriptors.filter(({ fd }) => fd > 2);
    expect(Object.fromEntries(held.map((each) => [each.fd, identify(each)]))).toEqual(identities);
    expect(held.map(({ fd, type, access }) => [fd, type, access])).toEqual([
      [listener.fd, 'socket', 'both'],
      [readEnd, 'pipe', 'read'],
      [writeEnd, 'pipe', 'write'],
      [socket, 'socket', 'both'],
      [peer, 'socket', 'both'],
      [memfd, 'file', 'both'],
      [directory, 'directory', 'read'],
      [device, 'char-device', 'both'],
    ]);
  });

  it('253, 254 and 300 descriptors at once', async () => {
    const sources = Array.from({ length: 300 }, (_, index) => makeSource(`many-${String(index)}`));
    for (const count of [253, 254, 300]) {
      const pass = sources.slice(0, count).map(({ fd }, index) => ({ fd, as: 3 + 2 * index }));
      const expected = Object.fromEntries(
        sources.slice(0, count).map(({ identity }, index) => [3 + 2 * index, identity]),
      );
      expect(await passed({ pass })).toEqual(expected);
    }
  });

  it('takes its copies at the call: what the parent does to a source afterwards changes nothing', async () => {
    const [a, b] = [makeSource('copied'), makeSource('replaced')];
    const child = spawn(witness, [], { pass: [{ fd: a.fd, as: 5 }] });
    storm.dup2(b.fd, a.fd);
    const report = await readWitness(child);
    expect(report.descriptors.slice(3).map(identify)).toEqual([a.identity]);
  });
});

describe('expect', () => {
  it('what is as expected is passed: kind, access, path, dev, ino, address', async () => {
    const file = makeSource('expected');
    const { dev, ino } = fstatSync(file.fd, { bigint: true });
    const listener = storm.listenInheritable(100);
    track(listener.fd);
    const address = `127.0.0.1:${String(listener.port)}`;
    const held = await passed({
      pass: [
        {
          fd: file.fd,
          as: 5,
          expect: { kind: 'file', access: 'both', path: path.join(scratch, 'expected'), dev, ino },
        },
        { fd: listener.fd, as: 6, expect: { kind: 'listener', access: 'both', address } },
      ],
    });
    expect(held[5]).toBe(file.identity);
    expect(Object.keys(held)).toEqual(['5', '6']);
  });

  it('another object that came to the same number is refused, by its inode', () => {
    const [file, other] = [makeSource('mine'), makeSource('other')];
    const { ino } = fstatSync(file.fd, { bigint: true });
    storm.dup2(other.fd, file.fd);
    const error = thrown(() =>
      spawn(witness, [], {
        pass: [{ fd: file.fd, as: 5, expect: { kind: 'file', access: 'both', ino } }],
      }),
    );
    expect(error.code).toBe('ERR_SALLYPORT_UNEXPECTED_OBJECT');
    expect(error.message).toContain(path.join(scratch, 'other'));
  });
});

describe('the limit on open descriptors', () => {
  it('the highest allowed number is reached, the next one is refused with both numbers', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture }) => {
      storm.setSoftLimit('nofile', 512);
      const source = storm.openInheritable('/etc/hosts', 30);
      await sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' }).exited;
      const outcomes: Array<number | null | Record<string, unknown>> = [];
      const before = processes.listDescriptors().length;
      for (const as of [511, 512, 100_000]) {
        try {
          const child = sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', String(as)], {
            pass: [{ fd: source, as }],
            stdio: 'null',
          });
          outcomes.push((await child.exited).code);
        } catch (error) {
          const { message, code, stage } = error as Error & Record<string, unknown>;
          outcomes.push({ message, code, stage });
        }
      }
      // A source at the highest number, with every temporary below it.
      storm.dup2(source, 511);
      const high = sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', '3', '511'], {
        pass: [511, { fd: 511, as: 3 }],
        stdio: 'null',
      });
      outcomes.push((await high.exited).code);
      storm.closeFd(511);
      await processes.waitFor(
        'the descriptors',
        () => processes.listDescriptors().length === before,
      );
      return outcomes;
    }, null);
    const [highest, above, far, high] = seen;
    expect(highest).toBe(0);
    expect(high).toBe(0);
    for (const [refused, number] of [
      [above, 512],
      [far, 100_000],
    ] as const) {
      expect(refused).toMatchObject({ code: 'ERR_SALLYPORT_INVALID_DESCRIPTOR' });
      const { message } = refused as { message: string };
      expect(message).toContain(String(number));
      expect(message).toContain('512');
    }
  });

  it('lowered below open descriptors: they are passed, and the others still do not arrive', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture }) => {
      const sources = [300, 301, 302].map((number) => storm.openInheritable('/etc/hosts', number));
      storm.setSoftLimit('nofile', 256);
      const launch = (numbers: number[]) =>
        sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', ...numbers.map(String)], {
          pass: numbers.map((as, index) => ({ fd: sources[index] ?? -1, as })),
          stdio: 'null',
        });
      const below = (await launch([254, 100, 3]).exited).code;
      // Now the numbers after the last target cannot all be closed: better nothing than a leak.
      try {
        return { below, highest: (await launch([255, 100, 3]).exited).code };
      } catch (error) {
        const { code, stage, message } = error as Error & Record<string, unknown>;
        return { below, highest: { code, stage, message } };
      }
    }, null);
    expect(seen.below).toBe(0);
    if (seen.highest === 0) return;
    expect(seen.highest).toMatchObject({ code: 'EBADF', stage: 'descriptor' });
    expect((seen.highest as { message: string }).message).toContain('256');
  });
});
