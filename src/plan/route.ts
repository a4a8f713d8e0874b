// Chooses how a child is started, before anything is: by the calling thread or by a spawner lane.
import { systemError } from '../errors.js';
import { adviseLimit } from '../limits.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';

/** How the child is started, and why so. */
export interface Route {
  /**
   * `lane`: by a thread with a descriptor table of its own, so that the child never had ours, not even
   * before its exec. `thread`: by a thread that shares our table, where the system refuses it one of
   * its own. `direct`: by the calling thread. After its exec the child has the same table by all three.
   */
  readonly kind: 'lane' | 'thread' | 'direct';
  /** Whether the child is the launcher first, which takes steps that posix_spawn has no words for. */
  readonly launcher: boolean;
  /** Whether the launcher stays, as the init of a run. */
  readonly init: boolean;
  /** Why so, for people. */
  readonly reasons: readonly string[];
}

const DIRECT = route('direct', [
  'noNewPrivileges: false, so that no thread of its own is needed',
  'the calling thread gives the pid soonest',
]);

const NO_PRIVATE_TABLE =
  'the system refuses a private descriptor table (close_range and unshare): everything else is closed between clone and exec';

/** Who starts the child: `run` has an init between. */
export type Call = 'spawn' | 'launch' | 'run';

/** Lanes once known: asking starts the first one. */
const laneRoutes = new Map<boolean, Route>();

/** @throws {SallyportError} where no lane can be started */
export function chooseRoute(
  call: Call,
  noNewPrivileges: boolean,
  launcherFor: readonly string[],
  file: string,
): Route {
  // The parent-death signal comes when the thread ends that started the child: lanes do not end.
  const needsLane = launcherFor.includes('dieWithParent');
  if (call === 'spawn' && !noNewPrivileges && !needsLane && native().canSpawnDirect()) {
    return throughLauncher(DIRECT, launcherFor);
  }
  let chosen = laneRoutes.get(noNewPrivileges);
  if (chosen === undefined) {
    chosen = laneRoute(noNewPrivileges, file);
    laneRoutes.set(noNewPrivileges, chosen);
  }
  return throughLauncher(chosen, launcherFor, call === 'run');
}

function throughLauncher(chosen: Route, launcherFor: readonly string[], init = false): Route {
  if (launcherFor.length === 0 && !init) return chosen;
  return Object.freeze({
    kind: chosen.kind,
    launcher: true,
    init,
    reasons: Object.freeze([
      ...chosen.reasons,
      ...(init ? ['the launcher stays as init of the run, so that nothing of it gets away'] : []),
      ...(launcherFor.length > 0 ? [`through the launcher, for ${launcherFor.join(', ')}`] : []),
    ]),
  });
}

function laneRoute(noNewPrivileges: boolean, file: string): Route {
  const isPrivate = native().hasPrivateLanes(noNewPrivileges);
  if (isFailure(isPrivate)) {
    throw systemError(isPrivate.errno, 'start a spawner lane', adviseLimit(isPrivate.errno), {
      syscall: `spawn ${file}`,
      path: file,
      stage: isPrivate.stage === 'descriptor' ? 'descriptor' : 'process',
      stageSource: 'reported',
      ...(isPrivate.path === '' ? {} : { stagePath: isPrivate.path }),
    });
  }
  const reasons = [
    noNewPrivileges
      ? 'no_new_privs is set on the spawner, so that children have it and this process does not'
      : 'noNewPrivileges: false, by lanes without no_new_privs',
  ];
  return isPrivate ? route('lane', reasons) : route('thread', [...reasons, NO_PRIVATE_TABLE]);
}

function route(kind: Route['kind'], reasons: readonly string[]): Route {
  return Object.freeze({ kind, launcher: false, init: false, reasons: Object.freeze(reasons) });
}
