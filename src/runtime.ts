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

/** Bun 1.4: `new net.Socket({ fd })` of a pipe says that it is open, reads nothing and never closes. */
export const SOCKETS_TAKE_PIPES = RUNTIME !== 'Bun';

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
