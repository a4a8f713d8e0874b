// 500 failures of each stage leave no descriptor, no zombie, no thread.
import { describe, expect, it } from 'vitest';

import { inNode, type ScriptOptions } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const stages = [
  'plan: a TypeError',
  'lookup: missing',
  'lookup: not executable',
  'cwd: missing',
  'cwd: not a directory',
  'descriptor: not open',
  'descriptor: above the limit',
  'descriptor: unexpected',
  'descriptor: EMFILE',
  'exec: missing interpreter',
  'exec: no #!',
  'exec: too big',
] as const;

const unprivilegedStages = ['cwd: not permitted', 'process: EAGAIN'] as const;

type Stage = (typeof stages)[number] | (typeof unprivilegedStages)[number] | 'exec: busy';

const fail = (stage: Stage, times: number, options: ScriptOptions = {}) =>
  inNode(
    async ({ sallyport, storm, processes, fixture, scratch, require }, { stage, times }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const source = storm.openInheritable('/etc/hosts', 30);
      // Pipes and copies at once: whatever a failure could leave behind.
      const all: import('../../src/index.js').SpawnOptions = {
        stdio: 'pipe',
        pass: [{ fd: source, as: 5 }],
        env: { A: '1' },
      };
      const writeProgram = (text: string) => {
        fs.writeFileSync(`${scratch}/program`, text, { mode: 0o755 });
        return `${scratch}/program`;
      };
      /** Opens all that may be opened, but for five. */
      const fill = () => {
        const opened: number[] = [];
        try {
          for (;;) opened.push(storm.openInheritable('/etc/hosts'));
        } catch {
          for (const fd of opened.slice(-5)) storm.closeFd(fd);
        }
      };
      type Call = [file: string, args: string[], options: typeof all];
      const prepare: Record<Stage, () => Call> = {
        'plan: a TypeError': () => ['true', [], { ...all, env: { 'A=B': 'x' } }],
        'lookup: missing': () => ['no-such-program', [], all],
        'lookup: not executable': () => ['/etc/hosts', [], all],
        'cwd: missing': () => ['true', [], { ...all, cwd: '/no/such/directory' }],
        'cwd: not a directory': () => ['true', [], { ...all, cwd: '/etc/hosts' }],
        'cwd: not permitted': () => {
          fs.mkdirSync(`${scratch}/locked`, { mode: 0 });
          return ['true', [], { ...all, cwd: `${scratch}/locked` }];
        },
        'descriptor: not open': () => ['true', [], { ...all, pass: [source, { fd: 4000, as: 4 }] }],
        'descriptor: above the limit': () => [
          'true',
          [],
          { ...all, pass: [source, { fd: source, as: 1_000_000 }] },
        ],
        'descriptor: unexpected': () => [
          'true',
          [],
          {
            ...all,
            pass: [source, { fd: source, as: 4, expect: { kind: 'pipe', access: 'read' } }],
          },
        ],
        'descriptor: EMFILE': () => {
          storm.setSoftLimit('nofile', 64);
          fill();
          return ['true', [], all];
        },
        'exec: missing interpreter': () => [writeProgram('#!/no/such/interpreter\n'), [], all],
        'exec: no #!': () => [writeProgram('echo\n'), [], all],
        'exec: too big': () => ['true', ['x'.repeat(200_000)], all],
        'exec: busy': () => {
          const program = writeProgram('#!/bin/sh\n');
          fs.openSync(program, 'r+');
          return [program, [], all];
        },
        'process: EAGAIN': () => {
          storm.setSoftLimit('nproc', 1);
          return ['true', [], all];
        },
      };

      // One that succeeds, so that reaper and all else is there before the count.
      const first = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      await first.exited;
      const call = prepare[stage]();
      const attempt = () => {
        try {
          sallyport.spawn(...call);
          return 'started';
        } catch (error) {
          return (error as { code: string }).code;
        }
      };
      const look = () => ({
        descriptors: [...new Set(processes.countDescriptors())],
        threads: processes.countThreads(),
        children: storm.hasChildren(),
        zombies: processes.listZombies().length,
      });
      const codes = new Set([attempt()]);
      const before = look();
      for (let count = 1; count < times; count++) codes.add(attempt());
      const after = look();
      // The control: the same look sees one more.
      storm.openInheritable('/dev/null');
      return { before, after, codes: [...codes], control: look().descriptors };
    },
    { stage, times },
    options,
  );

function expectNothingLeft(seen: Awaited<ReturnType<typeof fail>>): void {
  expect(seen.codes).toHaveLength(1);
  expect(seen.codes[0]).toMatch(/^E/);
  expect(seen.after).toEqual(seen.before);
  expect(seen.before).toMatchObject({ children: false, zombies: 0 });
  // The lanes' tables are their own: what the main thread opens does not show there.
  const [own, ...lanes] = seen.before.descriptors;
  expect(seen.control).toEqual([own! + 1, ...lanes]);
}

describe('500 failures of', () => {
  it.each(stages)('%s', async (stage) => {
    expectNothingLeft(await fail(stage, 500));
  });

  for (const stage of unprivilegedStages) {
    needs('another uid').it(stage, async () => {
      expectNothingLeft(await fail(stage, 500, { unprivileged: true }));
    });
  }
});

it('20 failures of exec: busy, each after its retries', async () => {
  const seen = await fail('exec: busy', 20);
  expectNothingLeft(seen);
  expect(seen.codes).toEqual(['ETXTBSY']);
});
