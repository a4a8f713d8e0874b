// A program at a terminal that starts children: whose the keyboard is, and what ^C leaves of them.
import { describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { hasEnded, waitFor } from '../support/processes.js';
import { KEYS, KeyboardTerminal } from '../cli/terminal.js';

/** A program of Node at a terminal of its own, with no shell around it. */
const openHost = (script: string): Promise<KeyboardTerminal> =>
  KeyboardTerminal.open([
    process.execPath,
    '-e',
    `const sallyport = require(${JSON.stringify(root)}); (async () => { ${script} })();`,
  ]);

describe('the terminal of the parent', () => {
  it('can be opened by no child, unless its session says that it may', async () => {
    await using host = await openHost(`
      const args = ['-c', ': </dev/tty'];
      const seen = {};
      for (const session of [undefined, 'new', 'group', 'inherit']) {
        const options = { stdio: 'null', session };
        const codeOf = async (child) => (await (await child).exited).code;
        seen[session ?? 'default'] = [
          await codeOf(sallyport.spawn('sh', args, options)),
          await codeOf(sallyport.launch('sh', args, options)),
          (await sallyport.run('sh', args, { session })).outcome.code,
        ].map((code) => code === 0);
      }
      console.log('seen ' + JSON.stringify(seen) + '.');`);
    const [, seen = ''] = await host.expect(/seen (.*)\./);
    const none = [false, false, false];
    const all = [true, true, true];
    expect(JSON.parse(seen)).toEqual({ default: none, new: none, group: all, inherit: all });
  });
});

describe('a parent that handles no signal', () => {
  it.each<[string, (host: KeyboardTerminal) => void, number]>([
    ['^C', (host) => host.send(KEYS.interrupt), 2],
    ['^\\', (host) => host.send(KEYS.quit), 3],
    ['the end of its terminal', (host) => host.hangUp(), 1],
  ])('is ended by %s, and with it whoever dies with it', async (_, act, signal) => {
    await using host = await openHost(`
      const plain = require('node:child_process');
      const sleep = ['sleep', ['60']];
      const options = { stdio: 'null', dieWithParent: true };
      const first = sallyport.spawn(...sleep, options);
      const second = await sallyport.launch(...sleep, options);
      const third = await sallyport.run('sh', ['-c', 'setsid sleep 60 & wait']).started;
      const control = plain.spawn(...sleep, { stdio: 'ignore', detached: true });
      console.log('pids ' + [first.pid, second.pid, third, control.pid].join(' ') + '.');`);
    const [, text = ''] = await host.expect(/pids (.*)\./);
    const [control = 0, ...children] = text.split(' ').map(Number).reverse();
    try {
      expect(children.map(hasEnded)).toEqual([false, false, false]);
      act(host);
      expect((await host.ended).signaled).toBe(signal);
      await waitFor('the end of the children', () => children.every(hasEnded));
      // A session of its own is what keeps the keyboard's signals from it.
      expect(hasEnded(control)).toBe(false);
    } finally {
      process.kill(control, 'SIGKILL');
    }
  });
});
