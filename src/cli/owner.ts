// `--user` → who owns what is made for the run before it starts.
import type { SallyportError } from '../errors.js';
import { lookUpUser, type UserIds } from '../launch/accounts.js';
import { UsageError } from './failure.js';
import type { RunFlags } from './run-options.js';
import { clean } from './table.js';

/**
 * By the databases that the launch will ask: who is not in them could not run anyway.
 *
 * @returns undefined: we, or nothing is made
 * @throws {UsageError | SallyportError}
 */
export async function findOwner(flags: RunFlags): Promise<UserIds | undefined> {
  const { user, workspace, credentials } = flags;
  if (user === undefined || (workspace === undefined && credentials === undefined)) {
    return undefined;
  }
  try {
    return await lookUpUser(user);
  } catch (error) {
    const { code, stage } = error as SallyportError;
    if (code !== 'ENOENT' || stage !== 'user') throw error;
    throw new UsageError(
      `--user ${clean(user)}: not in the user databases of this system ('getent passwd' asks them): give the name or number of one who is`,
    );
  }
}
