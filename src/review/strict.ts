// The strictest profile there is, from the few words that it leaves open.
import { parseProfile } from './parse.js';
import type { ApprovedChannel, ApprovedDescriptor, Profile } from './profile.js';

/** What the strict profile is made of. */
export interface StrictWish {
  /** Absolute path of a native program: no script, no shell. */
  executable: string;
  /** 64 hexadecimal digits: then a sealed copy runs that has it. */
  sha256?: string | undefined;
  /** A fixed sequence. Default none. */
  arguments?: readonly string[] | undefined;
  /** All of it. Default none at all. */
  environment?: Readonly<Record<string, string>> | undefined;
  /** Absolute path. */
  cwd: string;
  /** Default `null`. An object of this process is a visible choice of its own. */
  stdin?: ApprovedChannel | undefined;
  /** Default none. */
  descriptors?: readonly ApprovedDescriptor[] | undefined;
  /** Limits of the run. */
  limits?: Profile['limits'] | undefined;
}

/**
 * A native program by its absolute path, fixed arguments, a complete environment, null, pipe and pipe
 * for channels, nothing beyond them, a session of its own, no new privileges, compared at its exec.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_INVALID_PROFILE`
 */
export function strictProfile(wish: StrictWish): Profile {
  const { executable, sha256, environment = {}, cwd, stdin, descriptors = [], limits } = wish;
  return parseProfile(
    {
      profile: 1,
      executable: {
        path: executable,
        kind: 'native',
        ...(sha256 === undefined ? {} : { sha256 }),
      },
      arguments: [...(wish.arguments ?? [])],
      environment: { fixed: { ...environment }, passed: [], granted: [] },
      cwd: { path: cwd },
      channels: {
        stdin: stdin ?? { channel: 'null' },
        stdout: { channel: 'pipe' },
        stderr: { channel: 'pipe' },
      },
      descriptors: [...descriptors],
      launch: {
        platform: 'linux',
        api: 1,
        session: 'new',
        noNewPrivileges: true,
        verify: 'at-exec',
      },
      credentials: [],
      ...(limits === undefined ? {} : { limits }),
    },
    'strict profile',
  );
}
