// 500 failures of each stage leave no descriptor, no zombie, no thread.
import { describe, expect, it } from 'vitest';

import { inNode, type ScriptOptions } from '../support/node-script.js';
import { needs } from '../support/tools.js';

/** How to fail, as source for the script: gives [file, args, options], and may prepare. */
const stages: Record<string, string> = {
  'plan: a TypeError': `() => ['true', [], { ...all, env: { 'A=B': 'x' } }]`,
  'lookup: missing': `() => ['no-such-program', [], all]`,
  'lookup: not executable': `() => ['/etc/hosts', [], all]`,
  'cwd: missing': `() => ['true', [], { ...all, cwd: '/no/such/directory' }]`,
  'cwd: not a directory': `() => ['true', [], { ...all, cwd: '/etc/hosts' }]`,
  'descriptor: not open': `() => ['true', [], { ...all, pass: [source, { fd: 4000, as: 4 }] }]`,
  'descriptor: above the limit': `() => ['true', [], { ...all, pass: [{ fd: source, as: 1000000 }] }]`,
  'descriptor: unexpected': `() => ['true', [], { ...all, pass: [source, { fd: source, as: 4, expect: { kind: 'pipe', access: 'read' } }] }]`,
  'exec: missing interpreter': `() => {
    fs.writeFileSync(scratch + '/script', '#!/no/such/interpreter\\n', { mode: 0o755 });
    return [scratch + '/script', [], all];
  }`,
  'exec: no #!': `() => {
    fs.writeFileSync(scratch + '/script', 'echo\\n', { mode: 0o755 });
    return [scratch + '/script', [], all];
  }`,
  'exec: too big': `() => ['true', ['x'.repeat(200000)], all]`,
  'descriptor: EMFILE': `() => {
    storm.setSoftLimit('nofile', 64);
    for (const fd of fill().slice(-5)) storm.closeFd(fd);
    return ['true', [], all];
  }`,
};

const unprivilegedStages: Record<string, string> = {
  'process: EAGAIN': `() => {
    storm.setSoftLimit('nproc', 1);
    return ['true', [], all];
  }`,
  'cwd: not permitted': `() => {
    fs.mkdirSync(scratch + '/locked');
    fs.chmodSync(scratch + '/locked', 0);
    return ['true', [], { ...all, cwd: scratch + '/locked' }];
  }`,
};

const fail = (prepare: string, times: number, options: ScriptOptions = {}) =>
  inNode(
    async ({ sallyport, storm, processes, fixture, scratch, require }, { prepare, times }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const source = storm.openInheritable('/etc/hosts', 30);
      // Pipes, copies and null all at once: whatever a failure could leave behind.
      const all = { stdio: ['pipe', 'pipe', 'pipe'], pass: [{ fd: source, as: 5 }], env: { A: '1' } };
      const fill = () => {
        const opened: number[] = [];
        try {
          for (;;) opened.push(storm.openInheritable('/etc/hosts'));
        } catch {
          return opened;
        }
      };
      // One that succeeds, so that reaper and all else is there before the count.
      const first = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      await first.exited;

      const names = ['fs', 'storm', 'scratch', 'all', 'source', 'fill'];
      const make = new Function(...names, `return (${prepare})()`) as (...values: unknown[]) => unknown[];
      const args = make(fs, storm, scratch, all, source, fill) as Parameters<typeof sallyport.spawn>;
      const attempt = () => {
        try {
          sallyport.spawn(...args);
          return 'started';
        } catch (error) {
          return String((error as { code: string }).code);
        }
      };
      const codes = new Set([attempt()]);
      const look = () => ({
        descriptors: [...new Set(processes.countDescriptors())],
        threads: processes.countThreads(),
        children: storm.hasChildren(),
        zombies: processes.listZombies().length,
      });
      const before = look();
      for (let count = 1; count < times; count++) codes.add(attempt());
      const after = look();
      // The control: the same look sees one more.
      storm.openInheritable('/dev/null');
      return { before, after, codes: [...codes], control: look().descriptors };
    },
    { prepare, times },
    options,
  );

function expectNothingLeft(seen: Awaited<ReturnType<typeof fail>>): void {
  expect(seen.codes).toHaveLength(1);
  expect(seen.codes[0]).toMatch(/^E/);
  expect(seen.after).toEqual(seen.before);
  expect(seen.before.children).toBe(false);
  expect(seen.before.zombies).toBe(0);
  expect(seen.control).toEqual(seen.before.descriptors.map((count) => count + 1));
}

describe('500 failures of', () => {
  it.each(Object.entries(stages))('%s', async (_, prepare) => {
    expectNothingLeft(await fail(prepare, 500));
  });

  for (const [name, prepare] of Object.entries(unprivilegedStages)) {
    needs('another uid').it(name, async () => {
      expectNothingLeft(await fail(prepare, 500, { unprivileged: true }));
    });
  }
});

it('20 failures of exec: busy, each after its retries', async () => {
  const prepare = `() => {
    fs.copyFileSync('/bin/true', scratch + '/busy');
    fs.chmodSync(scratch + '/busy', 0o755);
    fs.openSync(scratch + '/busy', 'r+');
    return [scratch + '/busy', [], all];
  }`;
  const seen = await fail(prepare, 20);
  expectNothingLeft(seen);
  expect(seen.codes).toEqual(['ETXTBSY']);
});
