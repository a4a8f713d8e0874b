// Deno and Node withhold what they were not told to allow: refused at the first use, by name.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { onEachRuntime } from '../support/runtimes.js';
import { packageDirectory, prepareConsumer } from './consumer.js';

const CHILD = ['--allow-child-process'];

const consumer = prepareConsumer();
const PROGRAM = `
  const sallyport = require('sallyport');
  const codeOf = (call) => {
    try { call(); return 'works'; } catch ({ code, stage, message }) { return [code, stage, message]; }
  };
  console.log(JSON.stringify([
    () => sallyport.spawn('true', [], { stdio: 'null' }),
    () => sallyport.createEnvironment(),
    () => sallyport.auditSelf(),
    () => sallyport.runSync('true'),
  ].map(codeOf)));`;
writeFileSync(path.join(consumer.directory, 'permissions.cjs'), PROGRAM);

onEachRuntime(
  (runtime) => {
    const [file, ...args] = runtime.command;
    const allowing = (...flags: string[]): typeof runtime => ({
      ...runtime,
      command: [file, ...args.filter((flag) => flag !== '--allow-all'), '--no-prompt', ...flags],
    });
    const every = ['ffi', 'read', 'write', 'run', 'env', 'sys', 'net'].map((it) => `--allow-${it}`);

    it.each([
      ['to read', ['--allow-read'], '--allow-ffi, --allow-write, --allow-run, --allow-env'],
      ['what a launch needs', ['--allow-read', '--allow-ffi', '--allow-env'], '--allow-write'],
      ['each by its name, and so not /proc', every, '--allow-all'],
    ])('allowed %s', async (_, flags, missing) => {
      const { code, stdout } = await consumer.run(allowing(...flags), ['permissions.cjs']);
      expect(code).toBe(0);
      const refusals = JSON.parse(stdout) as unknown[];
      expect(refusals).toHaveLength(4);
      for (const refusal of refusals) {
        expect(refusal).toEqual([
          'ERR_SALLYPORT_UNSUPPORTED_PLATFORM',
          'platform',
          expect.stringMatching(new RegExp(`Deno withholds ${missing}.*start it with --allow-all`)),
        ]);
      }
    });

    it('allowed all', async () => {
      const { stdout } = await consumer.run(runtime, ['permissions.cjs']);
      expect(JSON.parse(stdout)).toEqual(['works', 'works', 'works', 'works']);
    });
  },
  ['Deno'],
);

onEachRuntime(
  (runtime) => {
    const [file, ...args] = runtime.command;
    const major = Number(/\d+/.exec(runtime.name)?.[0]);
    const model = major < 24 ? '--experimental-permission' : '--permission';
    const net = major < 25 ? [] : ['--allow-net'];
    const ask = async (...flags: string[]): Promise<unknown[]> => {
      const command = [file, ...args, '--no-warnings', ...flags] as const;
      const { stdout } = await consumer.run({ ...runtime, command }, ['permissions.cjs']);
      return JSON.parse(stdout) as unknown[];
    };
    const refusal = (text: string): unknown => [
      'ERR_SALLYPORT_UNSUPPORTED_PLATFORM',
      'platform',
      expect.stringContaining(text),
    ];

    it.each([
      ['its own files', ['--allow-fs-read=DIRECTORY'], ['--allow-fs-read=*', ...CHILD, ...net]],
      ['to read', ['--allow-fs-read=*', '--allow-addons'], [...CHILD, ...net]],
    ])("Node's permission model, allowed %s", async (_, flags, missing) => {
      const given = flags.map((flag) => flag.replace('DIRECTORY', `${consumer.directory}/*`));
      given.push(`--allow-fs-read=${packageDirectory}/*`);
      const [spawned, , audited] = await ask(model, ...given);
      const text = `Node's permission model withholds ${missing.join(', ')}: start it with all of this`;
      expect([spawned, audited]).toEqual([refusal(text), refusal(text)]);
    });

    it('told to load no addon', async () => {
      const all = [model, '--allow-fs-read=*', ...CHILD, ...net];
      for (const flags of [['--no-addons'], all]) {
        const [spawned] = await ask(...flags);
        expect(spawned).toEqual(refusal('start it without --no-addons'));
        expect(JSON.stringify(spawned)).not.toContain('rebuild');
      }
    });

    it("Node's permission model, allowed what is needed", async () => {
      const flags = ['--allow-fs-read=*', '--allow-addons', ...CHILD, ...net];
      expect(await ask(model, ...flags)).toEqual(['works', 'works', 'works', 'works']);
    });
  },
  ['Node'],
);
