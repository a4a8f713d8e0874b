// What a run has of its own: the directories of its workspace, and variables.
import { invalid } from '../errors.js';
import { resolveCwd } from './directory.js';

/** Relative to the workspace, in the order in which they are made; mode 0700. */
export const WORKSPACE_DIRECTORIES = ['.home', '.home/.cache', '.tmp'] as const;

/**
 * With `true`, SDKs of AWS do not ask the metadata service for the role of this host. A hint: whoever
 * does not heed it is stopped by the network alone.
 */
export const METADATA_HINT = 'AWS_EC2_METADATA_DISABLED';

/** A run that has one of these was given credentials of AWS, and may mean the metadata service. */
export const AWS_CREDENTIAL_NAMES = [
  'AWS_ACCESS_KEY_ID',
  'AWS_PROFILE',
  'AWS_DEFAULT_PROFILE',
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
] as const;

/** @returns absolute path */
export function takeWorkspace(workspace: unknown): string {
  if (typeof workspace !== 'string' && !(workspace instanceof URL)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'workspace',
      'must be the path of a directory, or a file: URL',
    );
  }
  return resolveCwd(workspace, 'workspace', 'workspace');
}

/** What STS takes in a session name too; and as a tag it has 256 characters at most. */
export function takeRunId(runId: unknown): string {
  if (typeof runId === 'string' && /^[\w+=,.@-]{1,256}$/.test(runId)) return runId;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'runId',
    'must be 1 to 256 letters, digits and +=,.@_-',
  );
}

/**
 * HOME is moved because of credentials in files; git's own configuration is switched off, so that no
 * credential helper of the host serves tokens into the run.
 */
export function workspaceVariables(workspace: string): Readonly<Record<string, string>> {
  const base = workspace === '/' ? '' : workspace;
  return {
    HOME: `${base}/.home`,
    TMPDIR: `${base}/.tmp`,
    XDG_CACHE_HOME: `${base}/.home/.cache`,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
  };
}
