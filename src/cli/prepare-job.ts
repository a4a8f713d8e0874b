// Chooses the kind of job that a child of `sallyport run` gets.
import type { Session } from '../plan/session.js';
import type { Job } from './job.js';
import { FollowingJob, SeparateJob } from './plain-job.js';
import type { Terminal } from './terminal.js';
import { TerminalJob } from './terminal-job.js';

/** On a terminal a job as a shell has it, elsewhere a session of its own, unless the caller says. */
export function prepareJob(asked: Session | undefined, terminal: Terminal | null): Job {
  const session = asked ?? (terminal === null ? 'new' : 'group');
  if (session === 'inherit') return new FollowingJob(terminal);
  if (session === 'group' && terminal !== null) return new TerminalJob(terminal);
  return new SeparateJob(session);
}
