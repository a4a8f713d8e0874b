// What we open is close-on-exec from the call that opens it: a flag that is set later comes too late for
// a child that somebody else starts in between.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const OPENING =
  'open,openat,openat2,creat,pipe,pipe2,socket,socketpair,accept,accept4,dup,dup2,dup3,fcntl,eventfd,' +
  'eventfd2,epoll_create,epoll_create1,memfd_create,timerfd_create,signalfd,signalfd4,inotify_init1,' +
  'recvmsg';

/** `THREAD call(…) = result` of each call, put together where strace cut it in two. */
function* readCalls(text: string): Generator<{ thread: string; call: string; result: number }> {
  const begun = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(rest);
    if (unfinished !== null) {
      begun.set(thread, unfinished[1] ?? '');
      continue;
    }
    const call = rest.replace(/^<\.\.\. \w+ resumed>/, begun.get(thread) ?? '');
    const result = /\)\s+= (-?\d+)/.exec(call)?.[1];
    if (result !== undefined) yield { thread, call, result: Number(result) };
  }
}

/** What a process opened after it had opened `mark`, on all of its threads: all, and inheritable. */
function readOpened(text: string, mark: string): { all: string[]; inheritable: string[] } {
  const threads = new Set<string>();
  const all: string[] = [];
  let isBegun = false;
  for (const { thread, call, result } of readCalls(text)) {
    if (threads.size === 0) threads.add(thread);
    if (!threads.has(thread)) continue;
    if (call.includes(mark)) isBegun = true;
    if (/^clone3?\(/.test(call)) {
      if (call.includes('CLONE_THREAD')) threads.add(String(result));
      continue;
    }
    if (!isBegun || result < 0 || /^(execve|v?fork)\(/.test(call)) continue;
    if (call.startsWith('fcntl') && !call.includes('F_DUPFD')) continue;
    if (call.startsWith('recvmsg') && !call.includes('SCM_RIGHTS')) continue;
    // What stands on 0, 1 and 2 of a lane, in its own table.
    if (/^openat\(AT_FDCWD, "\/dev\/null", O_RDWR\s?\)\s+= [012]$/.test(call)) continue;
    all.push(call);
  }
  return { all, inheritable: all.filter((call) => !call.includes('CLOEXEC')) };
}

needs('strace').it('everything we open is close-on-exec from the beginning', async () => {
  const trace = path.join(makeScratch(), 'trace');
  const flags = ['-f', '-qq', '-s', '200', '-e', 'signal=none', '-o', trace];
  await inNode(
    async ({ sallyport, storm, scratch, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      fs.closeSync(fs.openSync(`${scratch}/mark`, 'w'));
      const source = fs.openSync('/etc/hosts', 'r');
      const options = { stdio: 'pipe', pass: [{ fd: source, as: 5 }] } as const;
      const children = [
        sallyport.spawn('true', [], options),
        sallyport.spawn('true', [], { ...options, noNewPrivileges: false }),
        await sallyport.launch('true', [], options),
        await sallyport.launch('true', [], { ...options, umask: 0o22, verify: 'at-exec' }),
      ];
      const pinned = await sallyport.pinExecutable('/bin/true');
      children.push(await sallyport.launch('/bin/true', [], { ...options, pinned }));
      for (const child of children) await child.exited;
      const to = `${scratch}/out`;
      await sallyport.run('cat', [], { input: 'x', output: { stdout: { to } } });
      await sallyport.run('true', [], { output: { stdout: { via: 'memfd' } }, record: to });
      sallyport.runSync('cat', [], { input: 'x', containment: 'group' });
      await sallyport.runPipeline([['echo', ['x']], ['cat']]);
      sallyport.auditAll();
      sallyport.listListeners();
      sallyport.explainPort(1);
      sallyport.sealDescriptors({ kinds: 'all' });
      await sallyport.reportGaps();
      fs.mkdirSync(`${scratch}/workspace`);
      await sallyport.prepareWorkspace(`${scratch}/workspace`).remove();
      // The control: two that are not.
      storm.openInheritable('/etc/hosts', 300);
    },
    null,
    { wrap: ['strace', ...flags, '-e', `trace=${OPENING},clone,clone3,execve`] },
  );
  const { all, inheritable } = readOpened(readFileSync(trace, 'utf8'), '/mark"');
  expect(all.length).toBeGreaterThan(200);
  expect(inheritable.map((call) => call.replace(/\d+/g, 'N'))).toEqual([
    expect.stringMatching(/^openat\(AT_FDCWD, "\/etc\/hosts", O_RDONLY\|O_NONBLOCK\) = N$/),
    expect.stringMatching(/^fcntl\(N, F_DUPFD, N\)\s+= N$/),
  ]);
});
