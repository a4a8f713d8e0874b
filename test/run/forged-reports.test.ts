// What an init says is believed: nobody else may say it.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { run } from '../../src/index.js';
import { inNode } from '../support/node-script.js';
import { listMarked } from '../support/processes.js';

/**
 * Leaves a daemon behind, takes the socket of its init by pidfd_getfd(2), says in its name that the
 * program has ended well and nothing is left, and kills it. Exits with 3 where the socket is kept.
 */
const FORGER = `
import ctypes, errno, os, socket, stat, struct, sys, time
call = ctypes.CDLL(None, use_errno=True).syscall
init = os.getppid()
pidfd = call(434, init, 0)
for number in range(64):
    control = call(438, pidfd, number, 0)
    if control >= 0 and stat.S_ISSOCK(os.fstat(control).st_mode):
        break
    if control < 0 and ctypes.get_errno() != errno.EBADF:
        print(os.strerror(ctypes.get_errno()))
        sys.exit(3)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        time.sleep(20)
    os._exit(0)
os.wait()
time.sleep(0.6)
end = socket.socket(fileno=control)
for kind, code in ((2, 1), (4, 0)):
    end.send(struct.pack('<Iiii9Q', kind, os.getpid(), code, 0, *[0] * 9))
os.kill(init, 9)
os._exit(0)
`;

describe('a program that speaks in the name of its init', () => {
  it('does not get its socket, having no more than its user', async () => {
    const { code, text, kind } = await inNode(
      async ({ sallyport }, forger) => {
        const { outcome, output } = await sallyport.run('python3', ['-c', forger], {
          deadline: 10_000,
        });
        return { kind: outcome.kind, code: outcome.code, text: output.stdout.text };
      },
      FORGER,
      { unprivileged: true },
    );
    expect({ kind, code, text }).toEqual({
      kind: 'exited',
      code: 3,
      text: 'Operation not permitted\n',
    });
  });

  it.runIf(process.getuid?.() === 0)(
    'as root is not believed once the init is killed',
    async () => {
      const mark = randomUUID();
      const { outcome, cleanup, complete } = await run('python3', ['-c', FORGER, mark], {
        deadline: 10_000,
      });
      expect(listMarked(mark)).toEqual([]);
      expect(cleanup.guarantee).toContain('was stopped or killed');
      expect(cleanup.signalled).toMatchObject([{ signal: 'SIGKILL', at: 'kill' }]);
      // How the program itself ended nobody else can say.
      expect([outcome.kind, complete]).toEqual(['lost', false]);
    },
  );
});
