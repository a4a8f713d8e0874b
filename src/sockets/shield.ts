// Shields this process from children that run under its uid.
import { systemError } from '../errors.js';
import { native } from '../native.js';

/**
 * PR_SET_DUMPABLE 0, prctl(2). Without it a child under the same uid reads `/proc/<our pid>/environ`,
 * opens our files anew through `/proc/<our pid>/fd`, and takes our sockets by pidfd_getfd(2). It does
 * not stop root, whoever has CAP_SYS_PTRACE, or signals. It ends what the same rules allow on purpose:
 * debuggers, core dumps, and other processes' audits of this one; a process that is not root's can
 * then not read its own `/proc/self/environ` either. An exec ends it: children do not inherit it.
 *
 * @throws {SallyportError} never seen; where prctl(2) itself is refused
 */
export function shieldParent(): void {
  const errno = native().shieldProcess();
  if (errno === 0) return;
  throw systemError(errno, 'prctl PR_SET_DUMPABLE', '', {
    syscall: 'shield',
    stage: 'process',
    stageSource: 'reported',
  });
}
