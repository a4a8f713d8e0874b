// Processes that /proc tells of in part only: what of it is known, and never clean.
import { chmodSync, copyFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';

import { fixture, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

needs('setuid programs', 'another uid').it(
  'a setuid program is unknown to the user who started it, whatever it has open',
  async () => {
    const program = path.join(makeScratch(), 'setuid');
    copyFileSync(fixture('witness'), program);
    chmodSync(program, 0o4755);
    chmodSync(path.dirname(program), 0o755);
    const seen = await inNode(
      async ({ sallyport, require }, file) => {
        const { spawn } = require('node:child_process') as typeof import('node:child_process');
        const events = require('node:events') as typeof import('node:events');
        const child = spawn(file, ['--hold'], { stdio: ['ignore', 'pipe', 'ignore'] });
        const [report] = (await events.once(child.stdout, 'data')) as [Buffer];
        const { uid } = JSON.parse(report.toString()) as { uid: number[] };
        const against = { descriptors: [0, 1, 2] };
        const audit = sallyport.auditProcess(child.pid ?? 0, { against });
        // Ours by its real uid: it may be ended.
        child.kill('SIGKILL');
        return { uid, verdict: audit.verdict, unreadable: audit.unreadable };
      },
      program,
      { unprivileged: true },
    );
    expect(seen.uid).toEqual([65534, 0, 0]);
    expect(seen).toMatchObject({ verdict: 'unknown', unreadable: expect.stringMatching('EACCES') });
  },
);

needs('another uid').it(
  'the init of a run is not read by its user, and what is below it is',
  async () => {
    const seen = await inNode(
      async ({ sallyport }) => {
        const running = sallyport.run('sleep', ['60']);
        await running.started;
        const [, init, program] = sallyport.auditTree(process.pid);
        const against = { descriptors: [0, 1, 2] };
        const { verdict } = sallyport.auditProcess(program?.pid ?? 0, { against });
        running.abort();
        await running;
        return { init, program, verdict };
      },
      null,
      { unprivileged: true },
    );
    expect(seen.init).toMatchObject({
      commandLine: expect.arrayContaining(['sallyport-launcher']),
    });
    expect(seen.init?.unreadable).toContain('EACCES');
    expect(seen.init?.unreadable).toContain('the init of a run');
    expect(seen.program).toMatchObject({ command: 'sleep' });
    expect(seen.verdict).toBe('clean');
  },
);

// As before kernel 5.14, where fdinfo was for root alone.
needs('root', 'unshare').it('descriptors whose flags cannot be read are never clean', async () => {
  const seen = await inNode(
    async ({ sallyport, processes, require, scratch }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      fs.chmodSync(scratch, 0o777);
      const plain = require('node:child_process') as typeof import('node:child_process');
      const ids = { uid: 65534, gid: 65534 };
      const child = plain.spawn('sleep', ['60'], { stdio: 'ignore', ...ids });
      const pid = child.pid ?? 0;
      await processes.waitFor('the program', () => sallyport.auditProcess(pid).command === 'sleep');
      const folder = `/proc/${pid}/fdinfo`;
      plain.execFileSync('mount', ['-t', 'tmpfs', 'none', folder]);
      for (const fd of [0, 1, 2]) fs.writeFileSync(`${folder}/${fd}`, '', { mode: 0 });
      process.setgid?.(ids.gid);
      process.setuid?.(ids.uid);
      const audit = (descriptors: number[]) =>
        sallyport.auditProcess(pid, { against: { descriptors } });
      const { verdict, unreadable, descriptors } = audit([0, 1, 2]);
      const fewer = audit([0, 1]);
      child.kill('SIGKILL');
      const flags = descriptors.map(({ fd, access, closeOnExec }) => [fd, access, closeOnExec]);
      return { verdict, unreadable, flags, fewer: fewer.verdict };
    },
    null,
    { wrap: ['unshare', '--mount'] },
  );
  expect(seen).toEqual({
    verdict: 'unknown',
    unreadable: expect.stringContaining('close-on-exec of its descriptors cannot be read: EACCES'),
    flags: [
      [0, 'read', null],
      [1, 'both', null],
      [2, 'both', null],
    ],
    // What can be read is enough for that.
    fewer: 'leaks',
  });
});
