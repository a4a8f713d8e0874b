// The child's environment is the planned one, byte for byte.
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createEnvironment, spawn, type SpawnOptions } from '../../src/index.js';
import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { readEnvironment } from '../support/processes.js';
import { witness } from '../support/witness.js';

const secret = 'made-up-value-7f3c';

/** The environment of a child that waits, as the kernel keeps it. */
async function environmentOf(options: SpawnOptions): Promise<string[]> {
  const child = spawn(witness, ['--hold'], { stdio: ['null', 'pipe', 'null'], ...options });
  // Only when the child itself runs: posix_spawn returns a moment before the kernel has put the new
  // program's environment where /proc shows it.
  if (child.stdout) await once(child.stdout, 'data');
  const bytes = readEnvironment(child.pid).toString('latin1');
  child.kill('SIGKILL');
  await child.exited;
  expect(bytes === '' || bytes.endsWith('\0')).toBe(true);
  return bytes === '' ? [] : bytes.slice(0, -1).split('\0');
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

let before: NodeJS.ProcessEnv;

beforeEach(() => {
  before = process.env;
  process.env = { ...before, API_TOKEN: secret, LANG: 'C.UTF-8', TZ: 'UTC', TERM: 'dumb' };
  delete process.env['LC_ALL'];
});

afterEach(() => {
  process.env = before;
});

describe('the default environment', () => {
  const expected = ['LANG=C.UTF-8', 'PATH=/usr/local/bin:/usr/bin:/bin', 'TERM=dumb', 'TZ=UTC'];

  it('is PATH and the four the parent has, and nothing else', async () => {
    expect((await environmentOf({})).sort()).toEqual(expected);
    process.env['LC_ALL'] = 'C';
    expect((await environmentOf({})).sort()).toEqual(['LC_ALL=C', ...expected].sort());
    delete process.env['TZ'];
    expect(await environmentOf({})).not.toContain('TZ=UTC');
  });

  it("is taken from the parent at the call, and PATH is not the parent's", async () => {
    process.env['PATH'] = `/made/up:${before['PATH'] ?? ''}`;
    expect((await environmentOf({})).sort()).toEqual(expected);
  });

  it('createEnvironment adds what is named', async () => {
    process.env['CI'] = 'true';
    const env = createEnvironment({
      allow: ['CI', 'NOT_THERE'],
      set: { X: '1', TZ: 'Asia/Tokyo' },
    });
    expect((await environmentOf({ env })).sort()).toEqual([
      'CI=true',
      'LANG=C.UTF-8',
      'PATH=/usr/local/bin:/usr/bin:/bin',
      'TERM=dumb',
      'TZ=Asia/Tokyo',
      'X=1',
    ]);
  });
});

describe('an explicit environment', () => {
  it('is complete: {} is empty', async () => {
    expect(await environmentOf({ env: {} })).toEqual([]);
    expect(await environmentOf({ env: { ONLY: 'this' } })).toEqual(['ONLY=this']);
  });

  it('values arrive byte for byte', async () => {
    const env = {
      EMPTY: '',
      EQUALS: '=a=b=',
      LINES: 'a\nb\r\n',
      UNICODE: 'ünïcode 🚪',
      'odd name': '1',
      'lower-case.dots': '2',
      ÜMLAUT: '3',
    };
    expect((await environmentOf({ env })).sort()).toEqual(
      Object.entries(env)
        .map(([name, value]) => latin1(`${name}=${value}`))
        .sort(),
    );
  });

  it('undefined and null are absent, symbols and inherited names too', async () => {
    const inherited: Record<string, string> = Object.create({ FROM_PROTOTYPE: '1' }) as Record<
      string,
      string
    >;
    inherited['OWN'] = '1';
    Object.defineProperty(inherited, 'HIDDEN', { value: '1', enumerable: false });
    expect(await environmentOf({ env: inherited })).toEqual(['OWN=1']);
    expect(
      await environmentOf({ env: { A: undefined, B: null, C: 'c', [Symbol('s') as never]: 'd' } }),
    ).toEqual(['C=c']);
  });

  it('a null-prototype object and a frozen one are as good', async () => {
    const bare = Object.assign(Object.create(null) as Record<string, string>, { A: '1' });
    expect(await environmentOf({ env: bare })).toEqual(['A=1']);
    expect(await environmentOf({ env: Object.freeze({ A: '1' }) })).toEqual(['A=1']);
  });

  it("'inherit' is the parent's, and the only way to get it", async () => {
    const seen = await environmentOf({ env: 'inherit' });
    expect(seen).toContain(`API_TOKEN=${secret}`);
    expect(seen).toHaveLength(Object.keys(process.env).length);
    for (const options of [{}, { env: {} }, { env: createEnvironment() }]) {
      expect((await environmentOf(options)).join()).not.toContain(secret);
    }
  });
});

it('a polluted Object.prototype adds no variable, no option, no descriptor', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, fixture, scratch, require }) => {
      const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
      storm.openInheritable('/etc/hosts', 30);
      const polluted: Record<string, unknown> = {
        EVIL: 'yes',
        NODE_OPTIONS: '--require /tmp/evil.js',
        cwd: '/tmp',
        argv0: 'evil',
        pass: [1],
        as: 77,
        session: 'inherit',
        stdio: 'inherit',
        env: 'inherit',
        timeout: 1,
        foreground: 1,
        allow: ['API_TOKEN'],
        expect: { kind: 'socket', access: 'both' },
        shell: true,
      };
      const fs = require('node:fs') as typeof import('node:fs');
      const outs: string[] = [];
      const launch = (...rest: unknown[]) => {
        const out = `${scratch}/${String(outs.length)}`;
        outs.push(out);
        return (sallyport.spawn as (...all: unknown[]) => import('../../src/index.js').Child)(
          fixture('witness'),
          ['--out', out, '--hold'],
          ...rest,
        );
      };
      for (const [name, value] of Object.entries(polluted)) {
        Object.defineProperty(Object.prototype, name, {
          value,
          configurable: true,
          enumerable: true,
          writable: true,
        });
      }
      const control = String(
        spawnSync('/usr/bin/env', [], { env: { A: '1' }, shell: false }).stdout,
      );
      const children = [
        launch(),
        launch({}),
        launch({ env: { A: '1' } }),
        launch({ env: sallyport.createEnvironment() }),
        launch({ env: sallyport.createEnvironment({}) }),
        launch({ env: {}, stdio: 'null', pass: [{ fd: 30 }] }),
      ];
      for (const name of Object.keys(polluted)) {
        delete (Object.prototype as Record<string, unknown>)[name];
      }
      await processes.waitFor('the children', () => outs.every((out) => fs.existsSync(out)));
      const looks = children.map((child) => ({
        environment: processes.readEnvironment(child.pid).toString().split('\0'),
        descriptors: processes.listDescriptors(child.pid),
        sid: processes.readStat(child.pid)?.sid === child.pid,
        cwd: child.plan.cwd,
        argv0: child.plan.argv[0],
      }));
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map((child) => child.exited));
      return { control, looks, cwd: process.cwd() };
    },
    null,
    { env: { API_TOKEN: 'made-up' } },
  );
  expect(seen.control).toContain('EVIL=yes');
  for (const look of seen.looks) {
    const text = look.environment.join('\n');
    expect(text).not.toMatch(/EVIL|NODE_OPTIONS|API_TOKEN/);
    expect(look.sid).toBe(true);
    expect(look.cwd).toBe(seen.cwd);
    expect(look.argv0).toBe(fixture('witness'));
  }
  expect(seen.looks.map(({ descriptors }) => descriptors.join())).toEqual([
    ...Array.from({ length: 5 }, () => '0,1,2'),
    '0,1,2,30',
  ]);
});
