// `sallyport run` with supervision on a terminal: the status line, the keyboard, job control, deadlines.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { hasEnded, readStat, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { KEYS, KeyboardTerminal } from './terminal.js';

const open = () => KeyboardTerminal.shell(['bash', '--norc', '--noprofile', '-i']);
const group = needs('bash');

group.describe('--status', () => {
  it('says how the run is doing, makes way for output, and is gone at the end', async () => {
    await using tty = await open();
    tty.type(
      `$S run --quiet --status sh -c 'echo be""gun; read x; echo an""swer $x; read x; exit 5'`,
    );
    await tty.expect('begun\r\n');
    await tty.expect(/sallyport: [\d.]+ s, 6 B, last output [\d.]+ s ago, 1 process\b/);
    tty.send('42\r');
    await tty.expect('answer 42\r\n');
    // The line was blanked out before.
    await tty.expect(/sallyport: [\d.]+ s, 16 B/);
    tty.send('\r');
    await tty.expect('<5>$ ');
    tty.type('echo en""d');
    await tty.expect('end');
  });

  it('leaves nothing of itself on the screen', async () => {
    const fifo = path.join(makeScratch(), 'fifo');
    execFileSync('mkfifo', [fifo]);
    await using tty = await open();
    tty.type(`$S run --quiet --status sh -c 'echo be""gun; read x <${fifo}; echo la""st'`);
    await tty.expect(/begun\r\n\rsallyport: [\d.]+ s, 6 B/);
    writeFileSync(fifo, 'go\n');
    // Blanked out, and the prompt in the first column of the next line.
    await tty.expect(/\r +\rlast\r\n<0>\$ /);
  });

  it('waits while the program has written half a line', async () => {
    await using tty = await open();
    tty.type(`$S run --quiet --status sh -c 'printf na""me:; read x; echo; read x'`);
    await tty.expect('name:');
    tty.send('\r');
    const [between] = await tty.expect(/[^]*?sallyport: /);
    // Nothing of it came before the line was ended.
    expect(between).toMatch(/\n[^\n]*sallyport: $/);
    tty.send(KEYS.interrupt);
    await tty.expect('<130>$ ');
  });

  it('fits the window, whatever becomes of that', async () => {
    await using tty = await open();
    tty.resize(24, 30);
    tty.type(`clear; $S run --quiet --status sh -c 'read x'`);
    await tty.expect(/\rsallyport: [\d.]+ s, 0 B, la/);
    const [wide] = await (tty.resize(24, 80), tty.expect(/\rsallyport: [^\r]*process\b/));
    expect(wide.length).toBeLessThan(80);
    tty.send('\r');
    await tty.expect('<0>$ ');
  });

  it('is not there without a terminal on stderr', async () => {
    await using tty = await open();
    tty.type(`$S run --quiet --status sh -c 'echo be""gun; read x; echo do""ne' 2>/dev/null`);
    await tty.expect('begun');
    tty.send('\r');
    await tty.expect('done');
    await tty.expect('<0>$ ');
    expect(tty.unread).not.toContain('last output');
  });
});

for (const option of ['--deadline 1m', '--stall 1m', '--status']) {
  group.describe(`job control with ${option}`, () => {
    it('^C ends the program: 130, and the prompt is back', async () => {
      await using tty = await open();
      tty.type(`$S run --quiet ${option} sh -c 'echo rea""dy $$; exec sleep 60'`);
      const child = Number((await tty.expect(/ready (\d+)/))[1]);
      expect(tty.foreground()).toBe(child);
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
      expect(hasEnded(child)).toBe(true);
      expect(tty.foreground()).toBe(tty.pid);
    });

    it('^Z stops the job, fg continues it at the keyboard', async () => {
      await using tty = await open();
      tty.type(`$S run --quiet ${option} sh -c 'echo rea""dy $$; read x; echo go""t $x; exit 6'`);
      const child = Number((await tty.expect(/ready (\d+)/))[1]);
      tty.send(KEYS.stop);
      await tty.expect(/Stopped|Suspended/);
      await tty.expect('<148>$ ');
      expect(readStat(child)?.state).toBe('T');
      tty.type('fg');
      await waitFor('the keyboard', () => tty.foreground() === child);
      tty.send('42\r');
      await tty.expect('got 42');
      await tty.expect('<6>$ ');
    });
  });
}

group.describe('ends on a terminal', () => {
  it('the deadline: the keyboard and its modes are back', async () => {
    await using tty = await open();
    tty.type(
      `$S run --deadline 0.5 --grace 0.1 sh -c 'stty -echo; trap "" TERM; while :; do read x; done'`,
    );
    await tty.expect('ended at its deadline of 0.5 s');
    await tty.expect('<125>$ ');
    expect(tty.foreground()).toBe(tty.pid);
    tty.type('echo still the""re');
    // It echoes again: the typed line is seen as well as what it prints.
    await tty.expect('still the""re');
    await tty.expect('still there');
  });

  it('output goes on while the terminal is held up (^S), and so does the deadline', async () => {
    await using tty = await open();
    tty.type(`$S run --stall 1m --deadline 1 sh -c 'echo rea""dy; exec yes'`);
    await tty.expect('ready');
    tty.send('\x13');
    // Nothing more is to be seen until it is let go; the run has ended by then.
    const [pid] = [tty.foreground()];
    await waitFor('the end of the program', () => hasEnded(pid), 10_000);
    tty.send('\x11');
    await tty.expect('ended at its deadline');
    await tty.expect('<125>$ ');
  });

  it('a stop is no stall', async () => {
    await using tty = await open();
    tty.type(`$S run --quiet --stall 0.4 sh -c 'echo rea""dy; read x; echo go""t'`);
    await tty.expect('ready');
    tty.send(KEYS.stop);
    await tty.expect('<148>$ ');
    tty.type('sleep 1; fg');
    await waitFor('the keyboard', () => tty.foreground() !== tty.pid);
    tty.send('\r');
    await tty.expect('got');
    await tty.expect('<0>$ ');
  });
});
