// A look at the limit of open descriptors: what cannot be seen is not as if it were not there.
import { expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

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
