// The pool: workers are reviewed, used again and replaced, and one that differs never runs.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { runExample } from './support.js';

describe('examples/worker-pool', () => {
  it('does its jobs by two workers, replaces one, and refuses what was not approved', async () => {
    const { code, stdout, stderr } = await runExample('worker-pool/main.mjs');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const workers = [...stdout.matchAll(/^worker (\d+): looked at at-exec, holds 0 1 2$/gm)];
    expect(workers).toHaveLength(2);
    expect(stdout).toMatch(/^stressed: desserts, by \d+$/m);
    expect(stdout).toMatch(/^crash: worker \d+ ended with 70$/m);
    expect(stdout).toContain('2 workers ended with 0 0\n');
    const by = [...stdout.matchAll(/, by (\d+)$/gm)].map(([, pid]) => pid);
    expect(by).toHaveLength(5);
    // Used again: no worker for each job.
    expect(new Set(by).size).toBeLessThan(5);
    expect(stdout).toMatch(
      /a variable more: reject: environment\.NODE_OPTIONS\na descriptor more: reject: descriptors\.\d+\nanother directory: reject: cwd\nsetuid programs: reject: launch\.noNewPrivileges\n$/,
    );
  });

  it('a worker that was refused has run nothing, and none that was ended is left', () => {
    const folder = makeScratch();
    const mark = path.join(folder, 'has-run');
    const worker = `require('node:fs').appendFileSync('${mark}', 'x');
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        if (line.includes('end')) process.exit(9);
        process.stdout.write('"done"\\n');
      });`;
    const script = path.join(folder, 'script.mjs');
    writeFileSync(
      script,
      `import { existsSync } from 'node:fs';
       import { Pool } from '${root}/examples/worker-pool/pool.mjs';
       import { strictProfile } from '${root}/dist/review.mjs';
       import processes from '${root}/test/support/processes.cjs';

       const args = ['-e', ${JSON.stringify(worker)}];
       const file = process.execPath;
       const launch = { file, args, options: { env: {}, cwd: '/', stdio: 'pipe' } };
       const stdin = { channel: 'pipe', reason: 'jobs' };
       const profile = (environment) =>
         strictProfile({ executable: file, arguments: args, environment, cwd: '/', stdin });

       const told = (error) => error.message.replace(/\\d+/, 'N');
       const seen = {};
       const refused = new Pool(profile({ A: '1' }), launch);
       seen.refused = await refused.add().then(() => 'started', told);
       seen.hasRun = existsSync('${mark}');
       const pool = new Pool(profile({}), launch);
       await pool.add();
       seen.answers = [
         await pool.do({ word: 'x' }),
         await pool.do({ word: 'end' }).catch(told),
         await pool.do({ word: 'y' }),
       ];
       seen.ended = await pool.close();
       seen.left = processes.listChildren().length;
       console.log(JSON.stringify({ ...seen, ended: seen.ended.map(({ code }) => code) }));`,
    );
    const { stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      refused: 'hold: environment.A',
      hasRun: false,
      answers: ['done', 'worker N ended with 9', 'done'],
      ended: [0],
      left: 0,
    });
    // The one that broke, and its replacement.
    expect(readFileSync(mark, 'utf8')).toBe('xx');
  });
});
