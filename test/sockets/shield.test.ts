// shieldParent: what a child under the same uid can do to its parent, before and after.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

/** Each attack prints what it got; run by the child, against its parent. */
const ATTACKS = `
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
parent, file, listener = os.getppid(), int(sys.argv[1]), int(sys.argv[2])
def attempt(attack):
    try:
        return attack()
    except OSError as error:
        return os.strerror(error.errno)
def environment():
    names = open('/proc/%d/environ' % parent, 'rb').read().split(b'\\0')
    return [n.decode() for n in names if n.startswith(b'SECRET_OF_PARENT=')][0]
def reopen():
    return open('/proc/%d/fd/%d' % (parent, file)).read()
def take():
    pidfd = libc.syscall(434, parent, 0)
    fd = libc.syscall(438, pidfd, listener, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), '')
    return 'port %d' % socket.socket(fileno=fd).getsockname()[1]
print(json.dumps([attempt(environment), attempt(reopen), attempt(take)]))
`;

needs('another uid').describe('three attacks of a child on its parent, both of uid 65534', () => {
  it('succeed without a shield and fail with it', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, require, scratch }, attacks) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const file = `${scratch}/private`;
        fs.writeFileSync(file, 'private text', { mode: 0o600 });
        const fd = fs.openSync(file, 'r');
        fs.unlinkSync(file);
        const { fd: listener, port } = storm.listenInheritable();
        storm.setCloexec(listener, true);
        // Of no use: /proc has the variables with which the process began.
        delete process.env['SECRET_OF_PARENT'];
        const attack = async () => {
          const child = sallyport.spawn('python3', ['-c', attacks, String(fd), String(listener)], {
            stdio: ['null', 'pipe', 'inherit'],
            noNewPrivileges: false,
          });
          if (child.stdout === null) throw new Error('no pipe');
          return JSON.parse(String(await processes.readAll(child.stdout))) as string[];
        };
        const before = await attack();
        sallyport.shieldParent();
        const after = await attack();
        const own = sallyport.auditSelf({ origins: false });
        const child = sallyport.spawn('sleep', ['60'], { stdio: 'null' });
        const { verdict } = await processes.waitFor('the program', () => {
          const audit = sallyport.auditProcess(child.pid, { against: child.plan });
          return audit.command === 'sleep' && audit;
        });
        child.kill('SIGKILL');
        return {
          uid: process.getuid?.(),
          child: verdict,
          port,
          before,
          after,
          own: { unreadable: own.unreadable, count: own.descriptors.length },
        };
      },
      ATTACKS,
      { unprivileged: true, env: { SECRET_OF_PARENT: 'made up' } },
    );
    expect(seen.uid).not.toBe(0);
    expect(seen.before).toEqual([
      'SECRET_OF_PARENT=made up',
      'private text',
      `port ${String(seen.port)}`,
    ]);
    expect(seen.after).toEqual([
      'Permission denied',
      'Permission denied',
      'Operation not permitted',
    ]);
    // Looking at ourselves still works, and at children.
    expect(seen.child).toBe('clean');
    expect(seen.own.unreadable).toBeUndefined();
    expect(seen.own.count).toBeGreaterThan(5);
  });
});

describe('after shieldParent', () => {
  it('children are started and waited for as before', async () => {
    const code = await inNode(async ({ sallyport }) => {
      sallyport.shieldParent();
      return (await sallyport.spawn('sh', ['-c', 'exit 7']).exited).code;
    }, null);
    expect(code).toBe(7);
  });
});
