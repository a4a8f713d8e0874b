// A program or a directory on a file system that does not answer: nobody waits for it but its lane.
import { describe, expect, it } from 'vitest';

import { fixture, makeScratch } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

/** Starts it where the directory is dead, sees it hang, and takes it back. */
function start(call: 'launch' | 'run' | 'runSync', file: string, isDirectory: boolean) {
  const dead = makeScratch();
  const at = file === 'program' ? `${dead}/${file}` : file;
  const cwd = isDirectory ? dead : '/';
  return inNode(
    async ({ sallyport, storm, processes, fixture: compiled }, { call, at, cwd }) => {
      if (call === 'runSync') {
        const { outcome } = sallyport.runSync(at, [], { cwd, deadline: 200 });
        await processes.waitFor('the end of it', () => !storm.hasChildren());
        return { ending: outcome.kind };
      }
      const controller = new AbortController();
      const { signal } = controller;
      const options = { cwd, signal, stdio: 'null' } as const;
      const ended =
        call === 'run'
          ? sallyport.run(at, [], options).then(({ outcome }) => outcome.kind)
          : sallyport.launch(at, [], options).then(
              () => 'started',
              (error: unknown) => (error as Error).name,
            );
      // That this is reached at all is what matters: the call has come back.
      await processes.waitFor('a child that hangs', () => processes.listChildren().length > 0);
      const other = await sallyport.launch(compiled('exit_fast'), [], { stdio: 'null' });
      const { code } = await other.exited;
      const hangs = storm.hasChildren();
      controller.abort();
      const ending = await ended;
      await processes.waitFor('the end of it', () => !storm.hasChildren());
      return { ending, code, hangs };
    },
    { call, at, cwd },
    { wrap: [fixture('dead_mount'), dead, '--'] },
  );
}

needs('fuse').describe('on a mount that does not answer', () => {
  describe.each([
    ['a program', 'program', false],
    ['a program by a relative path', './program', true],
    ['a directory', 'true', true],
  ])('%s', (_, file, isDirectory) => {
    it('launch comes back, others start, an abort ends it', async () => {
      const seen = await start('launch', file, isDirectory);
      expect(seen).toEqual({ ending: 'AbortError', code: 0, hangs: true });
    });

    it('so it is with run', async () => {
      const seen = await start('run', file, isDirectory);
      expect(seen).toEqual({ ending: 'aborted', code: 0, hangs: true });
    });

    it('the deadline of runSync holds', async () => {
      expect(await start('runSync', file, isDirectory)).toEqual({ ending: 'deadline' });
    });
  });
});
