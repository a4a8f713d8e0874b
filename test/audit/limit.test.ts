// A look at the limit of open descriptors: what cannot be seen is not as if it were not there.
import { expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

it('throws where the processes cannot be listed, and never says that a taken port is free', async () => {
  const seen = await inNode(async ({ sallyport, storm, require }) => {
    const fs = require('node:fs') as typeof import('node:fs');
    const net = require('node:net') as typeof import('node:net');
    const events = require('node:events') as typeof import('node:events');
    const server = net.createServer().listen(0);
    await events.once(server, 'listening');
    const { port } = server.address() as import('node:net').AddressInfo;
    const looks: ReadonlyArray<() => unknown> = [
      () => sallyport.explainPort(port),
      () => sallyport.listListeners(),
      () => sallyport.findHolders({ port }),
      () => sallyport.auditAll(),
      () => sallyport.auditTree(process.pid),
    ];
    const tellHow = (look: () => unknown): unknown => {
      try {
        look();
        return 'returned';
      } catch (error) {
        const { code, stage, message } = error as { code: string; stage: string; message: string };
        return [code, stage, message.includes('descriptors are open (soft RLIMIT_NOFILE)')];
      }
    };
    const before = looks.map(tellHow);
    storm.setSoftLimit('nofile', 60);
    const fillers: number[] = [];
    const fill = (): void => {
      try {
        for (;;) fillers.push(fs.openSync('/dev/null', 'r'));
      } catch {
        // That was the last one.
      }
    };
    fill();
    const during = looks.map(tellHow);
    // One is enough to open /proc, and not to list it.
    fs.closeSync(fillers.pop() ?? -1);
    const withOne = looks.map(tellHow);
    for (const filler of fillers) fs.closeSync(filler);
    server.close();
    return { before, during, withOne, after: looks.map(tellHow) };
  }, null);
  const returned = Array.from({ length: 5 }, () => 'returned');
  const threw = Array.from({ length: 5 }, () => ['EMFILE', 'audit', true]);
  expect(seen).toEqual({ before: returned, during: threw, withOne: threw, after: returned });
});

it('ends no watch as if the process had ended', async () => {
  const seen = await inNode(async ({ sallyport, storm, require }) => {
    const fs = require('node:fs') as typeof import('node:fs');
    const { spawn } = require('node:child_process') as typeof import('node:child_process');
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    const watch = sallyport.watchProcess(child.pid ?? 0, { interval: 5 });
    const first = watch.next();
    storm.setSoftLimit('nofile', 60);
    const fillers: number[] = [];
    try {
      for (;;) fillers.push(fs.openSync('/dev/null', 'r'));
    } catch {
      // That was the last one.
    }
    try {
      return await first;
    } catch (error) {
      const { code, stage } = error as { code: string; stage: string };
      return { code, stage };
    } finally {
      for (const filler of fillers) fs.closeSync(filler);
      child.kill();
    }
  }, null);
  expect(seen).toEqual({ code: 'EMFILE', stage: 'audit' });
});
