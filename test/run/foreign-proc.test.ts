// Where /proc does not show our own processes nothing is run that it would be needed to end.
import { expect } from 'vitest';

import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const inside = ['unshare', '--pid', '--fork', '--kill-child'];

const cases: ReadonlyArray<readonly [where: string, wrap: string[], why: string | null]> = [
  ['of another PID namespace', inside, 'that of another PID namespace'],
  [
    'that is not mounted',
    ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc; exec "$0" "$@"'],
    'not mounted',
  ],
  // The control.
  ['of our own PID namespace', [...inside, '--mount-proc'], null],
];
for (const [where, wrap, why] of cases) {
  needs('root', 'unshare').it(`with a /proc ${where}`, async () => {
    const seen = await inNode(
      async ({ sallyport }) => {
        const told: unknown[] = [];
        for (const containment of ['init', 'group'] as const) {
          const options = { containment, grace: 50 };
          const script = 'trap "" TERM; sleep 60';
          for (const call of ['run', 'runSync'] as const) {
            try {
              const given = { ...options, deadline: 300 };
              const args = ['-c', script];
              const { cleanup } =
                call === 'run'
                  ? await sallyport.run('sh', args, given)
                  : sallyport.runSync('sh', args, given);
              const { signalled, survivors } = cleanup;
              told.push([signalled.map(({ signal }) => signal), survivors]);
            } catch (error) {
              const { code, message } = error as NodeJS.ErrnoException;
              told.push(`${String(code)} ${message}`);
            }
          }
        }
        return told;
      },
      null,
      { wrap },
    );
    const ended = [['SIGTERM', 'SIGKILL'], []];
    const refused: unknown = expect.stringMatching(`^ERR_SALLYPORT_NO_CONTAINMENT .*${why ?? ''}`);
    expect(seen).toEqual(Array.from({ length: 4 }, () => (why === null ? ended : refused)));
  });
}
