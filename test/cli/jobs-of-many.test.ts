// `sallyport run` where it is not alone: in pipelines and scripts, and with no shell around it.
import { describe, expect, it } from 'vitest';

import { hasEnded, readStat, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { cli, KEYS, KeyboardTerminal, listGroup } from './terminal.js';

const SHELLS = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  sh: ['sh', '-i'],
} as const;

const STOPPED = /Stopped|Suspended/;

for (const [name, command] of Object.entries(SHELLS)) {
  const open = () => KeyboardTerminal.shell(command);
  const group = name === 'bash' ? needs('bash') : { it, describe };

  group.describe(`in a pipeline of ${name}`, () => {
    it('a neighbour keeps the keyboard (as `… | less` needs it)', async () => {
      await using tty = await open();
      tty.type(
        `$S run sh -c 'echo from the chi""ld; exec sleep 60' | sh -c 'read x; echo $x; stty -echo </dev/tty; read y </dev/tty; stty echo </dev/tty; echo key $y; read z'`,
      );
      await tty.expect('from the child');
      tty.type('word');
      await tty.expect(/\nkey word/);
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
    });

    it('the child gets the keyboard when it asks', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo na""me? >/dev/tty; read x </dev/tty; echo hello $x' | cat`);
      await tty.expect('name?');
      tty.type('world');
      await tty.expect('hello world');
      await tty.expect('<0>$ ');
    });

    it('^C ends all of it', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo rea""dy; exec sleep 60' | cat`);
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
    });

    it('^Z stops all of it, fg continues all of it', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo rea""dy; exec sleep 60' | cat`);
      await tty.expect('ready');
      for (const _ of [1, 2, 3]) {
        tty.send(KEYS.stop);
        await tty.expect(STOPPED);
        await tty.expect('$ ');
        expect(tty.foreground()).toBe(tty.pid);
        tty.type('fg');
        await waitFor('the job to be in the foreground', () => tty.foreground() !== tty.pid);
      }
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
    });

    it('^Z while the child has the keyboard that it asked for', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo child $$; read x </dev/tty; echo got $x' | cat`);
      const child = Number((await tty.expect(/child (\d+)/))[1]);
      const isAtKeyboard = () => tty.foreground() === child && readStat(child)?.state === 'S';
      await waitFor('the child to be at the keyboard', isAtKeyboard);
      for (const _ of [1, 2]) {
        tty.send(KEYS.stop);
        await tty.expect(STOPPED);
        await tty.expect('$ ');
        expect(tty.foreground()).toBe(tty.pid);
        tty.type('fg');
        await waitFor('the child to be at the keyboard', isAtKeyboard);
      }
      tty.type('word');
      await tty.expect('got word');
      await tty.expect('<0>$ ');
    });

    it('at the end of a pipeline, as a pager', async () => {
      await using tty = await open();
      tty.type(`echo fr""om | $S run sh -c 'read x; echo $x; read y </dev/tty; echo key $y'`);
      await tty.expect('from');
      tty.type('word');
      await tty.expect('key word');
      await tty.expect('<0>$ ');
    });

    it('in $(…): the child may ask, and ^C ends the line', async () => {
      await using tty = await open();
      tty.type(
        `x=$($S run sh -c 'echo na""me? >/dev/tty; read x </dev/tty; echo hello $x'); echo "($x)"`,
      );
      await tty.expect('name?');
      tty.type('world');
      await tty.expect('(hello world)');
      await tty.expect('$ ');
      tty.type(`x=$($S run sh -c 'echo rea""dy >/dev/tty; exec sleep 60'); echo aft""er`);
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('$ ');
      tty.type('echo he""re');
      expect((await tty.expect(/[^]*?here/))[0]).not.toContain('after');
    });
  });

  group.describe(`in a script of ${name}`, () => {
    const script = (text: string): string => `${command[0]} -c '${text}'`;

    it('^C ends the script too', async () => {
      await using tty = await open();
      tty.type(script('$S run sh -c "echo rea\\"\\"dy; exec sleep 60"; echo ne""xt'));
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      expect((await tty.expect(/[^]*?<130>\$ /))[0]).not.toContain('next');
    });

    it('^Z stops the script too, fg continues it', async () => {
      await using tty = await open();
      tty.type(script('$S run sh -c "echo rea\\"\\"dy; read x; echo got \\$x"; echo ne""xt'));
      await tty.expect('ready');
      tty.send(KEYS.stop);
      await tty.expect(STOPPED);
      await tty.expect('$ ');
      tty.type('fg');
      await waitFor('the job to be in the foreground', () => tty.foreground() !== tty.pid);
      tty.type('word');
      await tty.expect('got word');
      await tty.expect('next');
      await tty.expect('<0>$ ');
    });

    it('in the background of a script it leaves the keyboard to the script', async () => {
      await using tty = await open();
      tty.type(
        script(
          '$S run sh -c "echo rea\\"\\"dy; exec sleep 60" & read x; echo got $x; kill $!; wait',
        ),
      );
      await tty.expect('ready');
      tty.type('word');
      await tty.expect('got word');
      await tty.expect('$ ');
    });
  });
}

// dash does not notice when a stopped process goes on (WCONTINUED), and calls the job stopped.
needs('bash').describe('in a pipeline of bash whose parts both want the keyboard', () => {
  it('the child gets the keyboard when it asks, and the neighbour after it', async () => {
    await using tty = await KeyboardTerminal.shell(SHELLS.bash);
    tty.type(
      `$S run sh -c 'echo na""me? >/dev/tty; read x </dev/tty; echo hello $x' | sh -c 'read x; echo $x; read y </dev/tty; echo key $y'`,
    );
    await tty.expect('name?');
    tty.type('world');
    await tty.expect('hello world');
    tty.type('key1');
    await tty.expect('key key1');
    await tty.expect('<0>$ ');
  });

  it('a neighbour that the kernel stopped goes on when the child has ended', async () => {
    await using tty = await KeyboardTerminal.shell(SHELLS.bash);
    // The neighbour begins to read when the child has the keyboard already.
    tty.type(
      `$S run sh -c 'read x </dev/tty; echo $$; read y </dev/tty' | sh -c 'read x; echo chi""ld $x; read y </dev/tty; echo key $y'`,
    );
    await waitFor('the neighbour to be there', () => tty.foreground() !== tty.pid);
    tty.type('');
    const child = Number((await tty.expect(/child (\d+)/))[1]);
    expect(tty.foreground()).toBe(child);
    const job = readStat(readStat(child)!.ppid)!.pgid;
    await waitFor('the neighbour to be stopped', () =>
      listGroup(job).some(({ state }) => state === 'T'),
    );
    tty.type('');
    await waitFor("the keyboard to be the job's", () => tty.foreground() === job);
    tty.type('key1');
    await tty.expect('key key1');
    await tty.expect('<0>$ ');
  });
});

describe('with no shell around it', () => {
  const open = (...args: string[]) =>
    KeyboardTerminal.open([process.execPath, cli, 'run', ...args]);

  it('^C: it ends with 130', async () => {
    await using tty = await open('sh', '-c', 'echo ready; exec sleep 60');
    await tty.expect('ready');
    tty.send(KEYS.interrupt);
    expect(await tty.ended).toEqual({ exited: 130 });
  });

  it('^Z does not stop what nobody could continue', async () => {
    await using tty = await open('sh', '-c', 'echo ready; read x; echo got $x');
    await tty.expect('ready');
    tty.send(KEYS.stop);
    tty.type('word');
    await tty.expect('got word');
    expect(await tty.ended).toEqual({ exited: 0 });
  });

  it('the terminal is hung up: the child is told', async () => {
    await using tty = await open('sh', '-c', 'echo ready $$; exec sleep 60');
    const child = Number((await tty.expect(/ready (\d+)/))[1]);
    tty.hangUp();
    expect(await tty.ended).toEqual({ exited: 129 });
    expect(hasEnded(child)).toBe(true);
  });
});
