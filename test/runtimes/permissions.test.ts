// Deno withholds what it was not told to allow: refused at the first use, by name.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { onEachRuntime } from '../support/runtimes.js';
import { prepareConsumer } from './consumer.js';

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
