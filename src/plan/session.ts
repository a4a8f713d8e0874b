// The child's session and process group.
import { invalid } from '../errors.js';

export type Session = 'new' | 'group' | 'inherit';

export function resolveSession(session: unknown): Session {
  if (session === undefined) return 'new';
  if (session === 'new' || session === 'group' || session === 'inherit') return session;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'session', "must be 'new', 'group' or 'inherit'");
}
