// Finds the addon and loads it, at its first use: the only file that does.
import { chmodSync, closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { REBUILD, systemError, unsupportedPlatform, type SallyportError } from './errors.js';
import type { NativeBinding } from './native-binding.js';
import { requireNodePermissions, requirePermissions } from './runtime.js';

interface AddonFinder {
  (directory: string): NativeBinding;
  /** Path of the addon's file. */
  resolve(directory: string): string;
}

let loaded: NativeBinding | undefined;
let launcher: string | undefined;

/** Path of the launcher, which is built and shipped beside the addon. */
export function launcherPath(): string {
  native();
  return launcher as string;
}

/** Path of the probe, likewise: a program that tries what its arguments say. */
export function probePath(): string {
  return join(dirname(launcherPath()), 'sallyport-probe');
}

/**
 * The addon, loaded at the first use, so that importing the package works on every platform.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_UNSUPPORTED_PLATFORM` anywhere but on Linux, where no
 *   binary was built, and in a Deno that withholds permissions.
 */
export function native(): NativeBinding {
  loaded ??= load();
  return loaded;
}

/** Above the code of a bundle is the package that was bundled, or none. */
function isOurPackage(root: string): boolean {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return (manifest as { name?: unknown }).name === 'sallyport';
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EACCES') return false;
    throw unsupportedPlatform(
      `its package in '${root}' may not be read by this user: open it, or install it elsewhere`,
      cause,
    );
  }
}

function load(): NativeBinding {
  if (process.platform !== 'linux') {
    throw unsupportedPlatform(`it runs on Linux only, and this is ${process.platform}`);
  }
  requirePermissions();
  requireNodePermissions();
  // A bundler that writes ES modules leaves the name without a value.
  if (typeof __dirname === 'undefined') throw bundled('its code is in a bundle');
  const root = join(__dirname, '..');
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- resolves to a path at run time
    const find = require('node-gyp-build') as AddonFinder;
    launcher = join(dirname(find.resolve(root)), 'sallyport-launcher');
    const binding = find(root);
    for (const program of [launcher, join(dirname(launcher), 'sallyport-probe')]) {
      allowExecution(program);
    }
    return binding;
  } catch (cause) {
    requireFreeDescriptor();
    if (!isOurPackage(root)) {
      throw bundled(`its code is in '${__dirname}'`, cause);
    }
    if ((cause as NodeJS.ErrnoException).code === 'ERR_DLOPEN_DISABLED') {
      throw unsupportedPlatform(
        'Node was told to load no addon: start it without --no-addons, and beside --permission with --allow-addons',
        cause,
      );
    }
    const why = cause instanceof Error ? cause.message.split('\n')[0] : 'unknown';
    // What glibc says of a mount with noexec.
    if (why?.includes('failed to map segment') === true) {
      throw unsupportedPlatform(
        `its addon could not be loaded (${why}): install it on a mount without noexec`,
        cause,
      );
    }
    throw unsupportedPlatform(
      `its addon could not be loaded (${why}); if it was never built, install python3, make and g++, and ${REBUILD}`,
      cause,
    );
  }
}

function bundled(where: string, cause?: unknown): SallyportError {
  return unsupportedPlatform(
    `${where}, without its package: leave sallyport out of the bundle (an external module), ` +
      'and install it where the bundle runs',
    cause,
  );
}

/**
 * A package that was copied or packed without modes works all the same, where its files are ours. Where
 * they are not, the launch that needs the program says that it may not be executed.
 */
function allowExecution(program: string): void {
  try {
    const { mode } = statSync(program);
    // For those who may read it.
    if ((mode & 0o111) === 0) chmodSync(program, mode | ((mode & 0o444) >> 2));
  } catch {
    // As above.
  }
}

/** Without one nothing can be loaded, however well it was built. */
function requireFreeDescriptor(): void {
  try {
    closeSync(openSync('/dev/null', 'r'));
  } catch (cause) {
    const { code, errno } = cause as NodeJS.ErrnoException;
    if (errno === undefined || (code !== 'EMFILE' && code !== 'ENFILE')) return;
    throw systemError(-errno, 'load the addon', 'close some descriptors or raise the limit', {
      syscall: 'open',
      stage: 'descriptor',
      stageSource: 'reported',
      cause,
    });
  }
}
