// Puts our way of starting programs below node:child_process, and takes it away again.
import { refused } from '../errors.js';
import { native } from '../native.js';
import { makeHandleSpawn } from './handle.js';
import { rememberStart } from './leaks.js';
import { findInternals, type NodeInternals } from './node-internals.js';
import { takeSettings, type InstallOptions, type Settings } from './settings.js';
import { makeSyncSpawn } from './sync.js';

/** What stands in the place of Node's functions. */
interface Replacements {
  readonly handleSpawn: ReturnType<typeof makeHandleSpawn>;
  readonly syncSpawn: ReturnType<typeof makeSyncSpawn>;
}

let internals: NodeInternals | undefined;
let installed: Replacements | undefined;
/** What `sallyport/child_process` uses, whatever is installed. */
let own: Replacements | undefined;

/**
 * From now on every child that this environment (the main thread, or one Worker) starts by
 * `node:child_process` receives exactly the descriptors of its `stdio`. Whoever has imported its
 * functions already is served as well. Called again it replaces the options.
 *
 * @throws {SallyportTypeError} for wrong options
 * @throws {SallyportError} `ERR_SALLYPORT_CANNOT_INSTALL` in a Node that is built otherwise, and
 *   `ERR_SALLYPORT_UNSUPPORTED_PLATFORM`; nothing is changed then
 */
export function install(options?: InstallOptions): void {
  const settings = takeSettings(options);
  // Without the addon there is nothing to put in place.
  native();
  const found = (internals ??= findInternals());
  requireUnchanged(found, installed);
  if (settings.report !== undefined) rememberStart();
  installed = makeReplacements(found, settings);
  place(found, installed);
}

/** Puts Node's own functions back. Children that run go on as they are. Without effect otherwise. */
export function uninstall(): void {
  if (internals === undefined || installed === undefined) return;
  requireUnchanged(internals, installed);
  installed = undefined;
  restore(internals);
}

export function isInstalled(): boolean {
  return installed !== undefined;
}

/**
 * Calls a function of node:child_process that starts a child before it returns, with our way below it
 * for as long as that takes.
 */
export function withOwn<T>(call: () => T): T {
  if (installed !== undefined) return call();
  native();
  const found = (internals ??= findInternals());
  own ??= makeReplacements(found, takeSettings(undefined));
  // Not always Node's: a getter of the call's options may make such a call itself, and somebody else
  // may have put something there since.
  const before = [found.handle, found.sync].map(({ owner, descriptor }) => ({
    owner,
    descriptor: Object.getOwnPropertyDescriptor(owner, 'spawn') ?? descriptor,
  }));
  place(found, own);
  try {
    return call();
  } finally {
    for (const { owner, descriptor } of before) Object.defineProperty(owner, 'spawn', descriptor);
  }
}

function makeReplacements(found: NodeInternals, settings: Settings): Replacements {
  return {
    handleSpawn: makeHandleSpawn(found, settings),
    syncSpawn: makeSyncSpawn(found, settings),
  };
}

function place({ handle, sync }: NodeInternals, { handleSpawn, syncSpawn }: Replacements): void {
  Object.defineProperty(handle.owner, 'spawn', { ...handle.descriptor, value: handleSpawn });
  Object.defineProperty(sync.owner, 'spawn', { ...sync.descriptor, value: syncSpawn });
}

function restore({ handle, sync }: NodeInternals): void {
  Object.defineProperty(handle.owner, 'spawn', handle.descriptor);
  Object.defineProperty(sync.owner, 'spawn', sync.descriptor);
}

/** What somebody put over ours, or over Node's, would be lost. */
function requireUnchanged({ handle, sync }: NodeInternals, ours: Replacements | undefined): void {
  const isSame =
    currentOf(handle.owner) === (ours?.handleSpawn ?? handle.original) &&
    currentOf(sync.owner) === (ours?.syncSpawn ?? sync.original);
  if (isSame) return;
  throw refused(
    'ERR_SALLYPORT_CANNOT_INSTALL',
    'somebody else has replaced what lies below child_process; nothing was changed',
    { stage: 'platform' },
  );
}

function currentOf(owner: object): unknown {
  return (owner as { spawn?: unknown }).spawn;
}
