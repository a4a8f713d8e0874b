// Which JavaScript runtime this is, and what it does otherwise than Node: the one place that asks.
import { readFileSync } from 'node:fs';

import { unsupportedPlatform } from './errors.js';

export type RuntimeName = 'Node' | 'Bun' | 'Deno';

/** Bun and Deno say that they are a Node as well, in `process.versions.node`. */
export const RUNTIME: RuntimeName =
  process.versions['bun'] !== undefined
    ? 'Bun'
    : process.versions['deno'] !== undefined
      ? 'Deno'
      : 'Node';

/** `Bun 1.4.5`. */
export function describeRuntime(): string {
  return `${RUNTIME} ${process.versions[RUNTIME.toLowerCase()] ?? ''}`;
}

/**
 * Whether `new net.Socket({ fd })` does for a pipe. Bun 1.4 says that it is open, reads nothing and never
 * closes. Deno 2.9 leaves it open where its Worker is terminated.
 */
export const SOCKETS_TAKE_PIPES = RUNTIME === 'Node' || (RUNTIME === 'Deno' && isMainThread());

function isMainThread(): boolean {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- late: in Node it is not needed
  return (require('node:worker_threads') as typeof import('node:worker_threads')).isMainThread;
}

/** Of Deno, https://docs.deno.com/runtime/fundamentals/security/ */
const PERMISSIONS = ['ffi', 'read', 'write', 'run', 'env', 'sys', 'net'] as const;

interface DenoPermissions {
  querySync(permission: { name: string }): { state: string };
}

let hasPermissions = RUNTIME !== 'Deno';

/**
 * Before anything that Deno's permissions withhold. All of them: most of /proc is to be had with
 * `--allow-all` only, and a look that finds nothing there would be taken for a clean one.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_UNSUPPORTED_PLATFORM`
 */
export function requirePermissions(): void {
  if (hasPermissions) return;
  const { Deno } = globalThis as { Deno?: { permissions: DenoPermissions } };
  const missing: string[] = PERMISSIONS.filter(
    (name) => Deno?.permissions.querySync({ name }).state !== 'granted',
  );
  if (missing.length === 0) {
    try {
      readFileSync('/proc/stat');
    } catch {
      missing.push('all');
    }
  }
  if (missing.length > 0) {
    throw unsupportedPlatform(
      `Deno withholds ${missing.map((name) => `--allow-${name}`).join(', ')}; start it with --allow-all: native code and the programs that it starts are outside of Deno's permissions anyway`,
    );
  }
  hasPermissions = true;
}

/** Of Node, https://nodejs.org/api/permissions.html: scope → flag. An addon that is withheld is refused by Node. */
const NODE_PERMISSIONS = {
  'fs.read': '--allow-fs-read=*',
  child: '--allow-child-process',
  // From Node 25: before it there is nothing to allow.
  net: '--allow-net',
} as const;

/**
 * What Node was told to keep the program from is not done by native code in its place; and a look into a
 * part of /proc only would be taken for a clean one.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_UNSUPPORTED_PLATFORM`
 */
export function requireNodePermissions(): void {
  const { permission } = process as {
    permission?: { has(scope: string, of?: string): boolean };
  };
  if (RUNTIME !== 'Node' || permission === undefined) return;
  const missing = Object.entries(NODE_PERMISSIONS)
    .filter(([, flag]) => process.allowedNodeEnvironmentFlags.has(flag.replace('=*', '')))
    // Without a path, Node 20 says yes where some file may be read.
    .filter(([scope]) => !permission.has(scope, scope === 'fs.read' ? '/proc' : undefined))
    .map(([, flag]) => flag);
  if (missing.length === 0) return;
  throw unsupportedPlatform(
    `Node's permission model withholds ${missing.join(', ')}: start it with all of this, ` +
      'native code and the programs that it starts are outside of that model anyway',
  );
}
