// A child holds 0, 1, 2 and its pass list, whatever the parent has open.
import { describe, expect, it } from 'vitest';

import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';

describe('a parent with things to leak', () => {
  it('started with 30 open above a gap: 0, 1, 2 and nothing else', async () => {
    const seen = await inNode(
      async ({ sallyport, processes, require }) => {
        const { spawn } = require('node:child_process') as typeof import('node:child_process');
        const plain = spawn('sleep', ['9'], { stdio: 'ignore' });
        const control = processes.listDescriptors(plain.pid);
        plain.kill('SIGKILL');
        const child = sallyport.spawn('sleep', ['9']);
        const descriptors = processes.listDescriptors(child.pid);
        child.kill('SIGKILL');
        await child.exited;
        return { control, descriptors };
      },
      null,
      { wrap: [fixture('closed_stdio'), '--open', '30=/etc/hosts', '--'] },
    );
    expect(seen.control).toContain(30);
    expect(seen.descriptors).toEqual([0, 1, 2]);
  });

  it('with one of each kind open without close-on-exec', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture }) => {
      // Above 99: nothing that was not meant, since Node keeps even 0, 1 and 2.
      const countExtra = (): number =>
        storm.plainSpawn(fixture('exact_fds'), ['0', '1', '2']) % 100;
      const hasNone = storm.plainSpawn(fixture('exact_fds'), ['0', '1', '2']) > 99;
      const before = hasNone ? 0 : countExtra();
      const opened = [
        storm.openInheritable('/etc/hosts', 30),
        storm.openInheritable('/etc', 50),
        storm.openInheritable('/dev/null', 70, 'both'),
        storm.openInheritable('/etc/hosts', 75, 'none'),
        storm.listenInheritable(90).fd,
        ...storm.makeInheritable('pipe', 200),
        ...storm.makeInheritable('socketpair', 300),
        ...storm.makeInheritable('udp', 400),
        ...storm.makeInheritable('memfd', 500),
        ...storm.makeInheritable('eventfd', 600),
        ...storm.makeInheritable('epoll', 700),
      ].length;
      const control = countExtra() - before;
      const child = sallyport.spawn(fixture('exact_fds'), ['0', '1', '2']);
      const holding = sallyport.spawn('sleep', ['9'], { stdio: 'null' });
      const descriptors = processes.listDescriptors(holding.pid);
      holding.kill('SIGKILL');
      await holding.exited;
      return { opened, control, code: (await child.exited).code, descriptors };
    }, null);
    expect(seen.control).toBe(seen.opened);
    expect(seen.code).toBe(0);
    expect(seen.descriptors).toEqual([0, 1, 2]);
  });

  it('with 5 000 descriptors open', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      storm.setSoftLimit('nofile', 8000);
      // Every third is inheritable, and gaps stay between them.
      const fds = Array.from({ length: 5000 }, () => fs.openSync('/etc/hosts', 'r'));
      fds.forEach((fd, index) => {
        if (index % 3 === 0) storm.setCloexec(fd, false);
        if (index % 7 === 6) fs.closeSync(fd);
      });
      for (let more = 0; more < 800; more++) storm.openInheritable('/etc/hosts');
      const open = processes.listDescriptors().length;
      const control = storm.plainSpawn(fixture('exact_fds'), ['0', '1', '2']);
      const child = sallyport.spawn('sleep', ['9']);
      const descriptors = processes.listDescriptors(child.pid);
      child.kill('SIGKILL');
      const passing = sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', '40', '7000'], {
        pass: [
          { fd: fds[0] ?? -1, as: 7000 },
          { fd: fds[1] ?? -1, as: 40 },
        ],
      });
      await child.exited;
      return { open, control, descriptors, code: (await passing.exited).code };
    }, null);
    expect(seen.open).toBeGreaterThan(5000);
    expect(seen.control).toBe(99);
    expect(seen.descriptors).toEqual([0, 1, 2]);
    expect(seen.code).toBe(0);
  });

  it('while other launches and failed launches come in between, nothing accumulates', async () => {
    const codes = await inNode(async ({ sallyport, storm, fixture }) => {
      storm.openInheritable('/etc/hosts', 30);
      const children = [];
      for (let round = 0; round < 50; round++) {
        children.push(sallyport.spawn(fixture('exact_fds'), ['0', '1', '2']));
        try {
          sallyport.spawn('/no/such/program');
        } catch {
          // What counts is that the next child sees nothing of it.
        }
        children.push(sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', '30'], { pass: [30] }));
      }
      const statuses = await Promise.all(children.map((child) => child.exited));
      return [...new Set(statuses.map((status) => status.code))];
    }, null);
    expect(codes).toEqual([0]);
  });
});
