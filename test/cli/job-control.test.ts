// `sallyport run` on a terminal, with a real shell around it and somebody at the keyboard.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { hasEnded, readStat, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { KEYS, KeyboardTerminal } from './terminal.js';

const SHELLS = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  sh: ['sh', '-i'],
} as const;

/** What a shell says of a job that the keyboard stopped: `[1]+  Stopped  …`. */
const STOPPED = /Stopped|Suspended/;

/** A program that waits, and says when it does. For what a shell cannot: it runs traps late. */
const node = (script: string): string =>
  `${process.execPath} -e '${script}; console.log("rea" + "dy", process.pid); setInterval(() => {}, 1e6)'`;

const scratch = makeScratch();

for (const [name, command] of Object.entries(SHELLS)) {
  const open = () => KeyboardTerminal.shell(command);
  const group = name === 'bash' ? needs('bash') : { it, describe };

  group.describe(`in ${name}`, () => {
    it('the child has a process group of its own, in the session and with the keyboard', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo chi""ld $$; exec sleep 60'`);
      const child = Number((await tty.expect(/child (\d+)/))[1]);
      const stat = readStat(child)!;
      const command = readStat(stat.ppid)!;
      expect([stat.pgid, stat.sid]).toEqual([child, tty.pid]);
      expect(command.pgid).not.toBe(child);
      expect(tty.foreground()).toBe(child);
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
      expect(tty.foreground()).toBe(tty.pid);
    });

    it('^C ends the child: 130, and the prompt is back', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo rea""dy; exec sleep 60'`);
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
      tty.type('echo still the""re');
      await tty.expect('still there');
    });

    it('^C that the child handles is its own affair', async () => {
      await using tty = await open();
      tty.type(
        `$S run sh -c 'trap "echo cau""ght; exit 3" INT; echo rea""dy; while :; do read x; done'`,
      );
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('caught');
      await tty.expect('<3>$ ');
    });

    it('^\\ ends the child: 131', async () => {
      await using tty = await open();
      tty.type('ulimit -c 0');
      await tty.expect('<0>$ ');
      tty.type(`$S run sh -c 'echo rea""dy; exec sleep 60'`);
      await tty.expect('ready');
      tty.send(KEYS.quit);
      await tty.expect('<131>$ ');
    });

    it('^Z stops the job; fg continues it at the keyboard', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo rea""dy; read x; echo got $x'`);
      await tty.expect('ready');
      tty.send(KEYS.stop);
      await tty.expect(STOPPED);
      await tty.expect('$ ');
      expect(tty.foreground()).toBe(tty.pid);
      tty.type('fg');
      await tty.expect('run'); // the shell repeats the job's text
      await waitFor('the child to have the keyboard again', () => tty.foreground() !== tty.pid);
      tty.type('a-line');
      await tty.expect('got a-line');
      await tty.expect('<0>$ ');
    });

    it('again and again', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo rea""dy; while read x; do echo got $x; done'`);
      await tty.expect('ready');
      for (const word of ['one', 'two', 'three']) {
        tty.send(KEYS.stop);
        await tty.expect(STOPPED);
        await tty.expect('$ ');
        tty.type('fg');
        await tty.expect('run');
        tty.type(word);
        await tty.expect(`got ${word}`);
      }
      tty.send(KEYS.end);
      await tty.expect('<0>$ ');
    });

    it('^Z, then bg: it goes on in the background, and the shell keeps the keyboard', async () => {
      await using tty = await open();
      tty.type(`$S run ${node('process.on("SIGCONT", () => console.log("con" + "tinued"))')}`);
      const child = Number((await tty.expect(/ready (\d+)/))[1]);
      tty.send(KEYS.stop);
      await tty.expect(STOPPED);
      await tty.expect('$ ');
      tty.type('bg');
      await tty.expect('continued');
      expect(tty.foreground()).toBe(tty.pid);
      tty.type('echo still the""re');
      await tty.expect('still there');
      expect(tty.foreground()).toBe(tty.pid);
      tty.type('fg');
      await waitFor('the job to be in the foreground', () => tty.foreground() !== tty.pid);
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
      expect(hasEnded(child)).toBe(true);
    });

    it('a program that stops by itself (SIGSTOP) is seen by the shell, and continued by fg', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'echo rea""dy; kill -STOP $$; echo on aga""in'`);
      await tty.expect('ready');
      await tty.expect(STOPPED);
      await tty.expect('$ ');
      tty.type('fg');
      await tty.expect('on again');
      await tty.expect('<0>$ ');
    });

    it('a prompt that opens /dev/tty works, also where 0 is elsewhere', async () => {
      await using tty = await open();
      for (const redirection of ['', '</dev/null']) {
        tty.type(
          `$S run sh -c 'printf "na""me? "; read x </dev/tty; echo hello $x' ${redirection}`,
        );
        await tty.expect('name? ');
        tty.type('world');
        await tty.expect('hello world');
        await tty.expect('<0>$ ');
        expect(tty.foreground()).toBe(tty.pid);
      }
    });

    it('what a killed child did to the modes is undone; what one did that ended stays', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'stty -echo; echo rea""dy; exec sleep 60'`);
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
      tty.type('stty -a | grep -o -e "[-]*echo "');
      await tty.expect(/\necho /);
      await tty.expect('<0>$ ');
      // A shell with line editing sets its own modes for its prompt, so this asks from within one line.
      tty.type(`$S run stty -echo; stty -a | grep -o -e "[-]*echo "; stty echo`);
      await tty.expect(/\n-echo /);
    });

    it('modes are swapped at a stop and at the continuation', async () => {
      await using tty = await open();
      tty.type(
        `$S run sh -c 'stty -echo; kill -STOP $$; stty -a | grep -o -e "[-]*echo "; stty echo'`,
      );
      await tty.expect(STOPPED);
      await tty.expect('$ ');
      tty.type('stty -a | grep -o -e "[-]*echo "');
      await tty.expect(/\necho /);
      await tty.expect('$ ');
      tty.type('fg');
      await tty.expect(/\n-echo /);
      await tty.expect('<0>$ ');
    });

    it('started in the background, a reader is stopped and gets the keyboard by fg', async () => {
      await using tty = await open();
      tty.type(`$S run sh -c 'read x; echo got $x' &`);
      await tty.expect('$ ');
      // The shell tells at its next prompt.
      let told = false;
      while (!told) {
        tty.type('jobs; echo do""ne');
        told = STOPPED.test((await tty.expect(/[^]*?done/))[0]);
        await tty.expect('$ ');
      }
      expect(tty.foreground()).toBe(tty.pid);
      tty.type('fg');
      await tty.expect('run');
      tty.type('word');
      await tty.expect('got word');
      await tty.expect('<0>$ ');
    });

    it('in the background it leaves keyboard and modes alone, also at its end', async () => {
      await using tty = await open();
      const fifo = path.join(scratch, `${name}.fifo`);
      execFileSync('mkfifo', [fifo]);
      tty.type(`$S run sh -c 'echo rea""dy $PPID; read x <${fifo}' &`);
      const command = Number((await tty.expect(/ready (\d+)/))[1]);
      tty.type(
        `sh -c 'stty -echo; echo edi""ting; read x; stty -a | grep -o -e "[-]*echo "; stty echo'`,
      );
      await tty.expect('editing');
      const editor = tty.foreground();
      writeFileSync(fifo, '\n');
      await waitFor('the job to end', () => hasEnded(command));
      expect(tty.foreground()).toBe(editor);
      tty.type('');
      await tty.expect(/-echo /);
    });

    it('the size of the window and its change arrive', async () => {
      await using tty = await open();
      tty.type(
        `$S run ${node(`process.stdout.on("resize", () => { console.log("size", process.stdout.columns); process.exit(4); })`)}`,
      );
      await tty.expect('ready');
      tty.resize(30, 100);
      await tty.expect('size 100');
      await tty.expect('<4>$ ');
    });

    it('a failed start leaves the keyboard with the shell', async () => {
      await using tty = await open();
      tty.type(
        'printf "no program" >/tmp/sallyport-$$; chmod +x /tmp/sallyport-$$; $S run /tmp/sallyport-$$; r=$?; rm /tmp/sallyport-$$; (exit $r)',
      );
      await tty.expect('<126>$ ');
      expect(tty.foreground()).toBe(tty.pid);
    });

    it('--session new: no terminal for the child; ^C reaches it through us', async () => {
      await using tty = await open();
      tty.type(
        `$S run --session new sh -c 'true </dev/tty || echo no t""ty; echo rea""dy; exec sleep 60'`,
      );
      await tty.expect('no tty');
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('<130>$ ');
    });

    it('--session inherit: ^C reaches it once', async () => {
      await using tty = await open();
      const count =
        'let n = 0; process.on("SIGINT", () => console.log("n", ++n)).on("SIGQUIT", () => { console.log("all", n); process.exit(); })';
      tty.type(`$S run --session inherit ${node(count)}`);
      await tty.expect('ready');
      tty.send(KEYS.interrupt);
      await tty.expect('n 1');
      tty.send(KEYS.quit);
      await tty.expect('all 1');
      await tty.expect('<0>$ ');
    });
  });
}
