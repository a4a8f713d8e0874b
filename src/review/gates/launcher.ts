// The gate of the way in which a program is launched: machine, interface, session, privileges, limits.
import { isDeepStrictEqual } from 'node:util';

import { copyOwn } from '../../own-properties.js';
import type { LaunchAttributes } from '../../plan/attributes.js';
import { Comparison, type Case, type Gate } from '../gate.js';
import type { ApprovedAttributes } from '../profile.js';
import { isWrapped } from './executable.js';

/** From the narrowest: a session of its own cannot reach the terminal of the caller. */
const SESSIONS = ['new', 'group', 'inherit'] as const;

export function reviewLauncher({ plan, approved, evidence }: Case): Gate {
  const comparison = new Comparison();
  const { launch } = approved;
  const here = evidence.launcher;
  if (here === undefined) {
    comparison.unknown('launch.platform', launch.platform, 'not known');
  } else {
    if (here.platform !== launch.platform) {
      comparison.unknown('launch.platform', launch.platform, here.platform);
    }
    if (launch.arch !== undefined && here.arch !== launch.arch) {
      comparison.unknown('launch.arch', launch.arch, here.arch);
    }
    if (here.api !== launch.api) {
      comparison.unknown('launch.api', String(launch.api), String(here.api));
    }
  }
  if (isWrapped(plan.executable, plan.argv, approved.executable.path)) {
    comparison.unknown('launch.wrapper', 'none', plan.executable);
  }
  const [wanted, asked] = [SESSIONS.indexOf(launch.session), SESSIONS.indexOf(plan.session)];
  if (asked !== wanted) {
    const how = asked > wanted ? 'wider' : 'narrower';
    comparison[how]('launch.session', launch.session, plan.session);
  }
  if (plan.foreground !== null) {
    comparison.wider('launch.foreground', 'none', `the terminal on ${plan.foreground}`);
  }
  if (launch.noNewPrivileges && !plan.noNewPrivileges) {
    comparison.wider('launch.noNewPrivileges', 'true', 'false');
  }
  compareAttributes(launch.attributes, plan.attributes, here?.limits, comparison);
  const { containment } = evidence;
  if (launch.containment !== undefined) {
    const wanted = launch.containment.join(' or ');
    if (containment === undefined) {
      comparison.unknown('launch.containment', wanted, 'not known');
    } else if (!launch.containment.includes(containment)) {
      comparison.wider('launch.containment', wanted, containment);
    }
  }
  return comparison.gate(
    'launcher',
    `${launch.platform} ${launch.arch ?? 'of any kind'}, plans of version ${launch.api}, session ${launch.session}`,
    `${here === undefined ? 'not known' : `${here.platform} ${here.arch}, plans of version ${here.api}`}, session ${plan.session}`,
    {
      accept: 'it is launched in the way that was reviewed',
      hold: 'it is launched in another way than was reviewed: the review does not transfer',
      reject: 'the way in which it is launched gives it more than was approved',
    },
  );
}

/** Whether `asked` gives a child no more than `approved`: for what has an order. */
const GIVES_NO_MORE: {
  readonly [Name in keyof LaunchAttributes]?: (approved: never, asked: never) => boolean;
} = {
  umask: (approved: number, asked: number) => (approved & ~asked) === 0,
  nice: (approved: number, asked: number) => asked >= approved,
  oomScoreAdjust: (approved: number, asked: number) => asked >= approved,
  cpuAffinity: (approved: readonly number[], asked: readonly number[]) =>
    asked.every((cpu) => approved.includes(cpu)),
};

/** What nobody needs to approve: it takes something away, whatever its value. */
const ONLY_TAKES: ReadonlySet<string> = new Set(['cpuAffinity', 'dieWithParent']);

/** What others may never get: a umask that lets through less than this gives nothing. */
const USUAL_UMASK = 0o22;

function compareAttributes(
  stated: ApprovedAttributes | undefined,
  planned: LaunchAttributes,
  ours: Limits | undefined,
  comparison: Comparison,
): void {
  const approved: ApprovedAttributes = stated ?? (Object.create(null) as ApprovedAttributes);
  const asked = copyOwn(planned);
  const names = new Set([...Object.keys(approved), ...Object.keys(asked)]);
  for (const name of names as Set<keyof LaunchAttributes>) {
    const path = `launch.attributes.${name}`;
    const [wanted, given] = [approved[name], asked[name]];
    if (given === undefined) {
      comparison.wider(path, JSON.stringify(wanted), 'nothing');
    } else if (name === 'limits') {
      compareLimits(
        path,
        (wanted ?? Object.create(null)) as Limits,
        given as Limits,
        ours,
        comparison,
      );
    } else if (wanted === undefined) {
      if (!ONLY_TAKES.has(name) && !isLowered(name, given)) {
        comparison.wider(path, 'nothing', JSON.stringify(given));
      }
    } else if (!isDeepStrictEqual(given, wanted)) {
      const order = GIVES_NO_MORE[name] as ((a: unknown, b: unknown) => boolean) | undefined;
      if (order?.(wanted, given) !== true) {
        comparison.wider(path, JSON.stringify(wanted), JSON.stringify(given));
      }
    }
  }
}

/** Whether it takes something away, of what nobody has stated. */
function isLowered(name: string, given: unknown): boolean {
  if (name === 'umask') return (USUAL_UMASK & ~(given as number)) === 0;
  return (name === 'nice' || name === 'oomScoreAdjust') && (given as number) >= 0;
}

type Limits = Readonly<Record<string, { readonly soft: unknown; readonly hard: unknown }>>;

function compareLimits(
  path: string,
  approved: Limits,
  asked: Limits,
  ours: Limits | undefined,
  comparison: Comparison,
): void {
  for (const [name, wanted] of Object.entries(approved)) {
    const given = asked[name];
    if (given === undefined) comparison.wider(`${path}.${name}`, JSON.stringify(wanted), 'none');
    else if (size(given.hard) > size(wanted.hard) || size(given.soft) > size(wanted.soft)) {
      comparison.wider(`${path}.${name}`, JSON.stringify(wanted), JSON.stringify(given));
    }
  }
  for (const [name, given] of Object.entries(asked)) {
    if (Object.hasOwn(approved, name)) continue;
    const more = JSON.stringify(given);
    const inherited = ours?.[name];
    if (given.soft === 'unlimited') {
      // The absence of a limit is less of one than any that is inherited.
      comparison.wider(`${path}.${name}`, 'nothing', more);
    } else if (inherited === undefined || given.hard === 'unlimited') {
      comparison.unknown(`${path}.${name}`, 'nothing', more);
    } else if (size(given.soft) > size(inherited.soft) || size(given.hard) > size(inherited.hard)) {
      // A number takes something away only where it is no higher than what there is without it.
      comparison.wider(`${path}.${name}`, `nothing: ${JSON.stringify(inherited)}`, more);
    }
  }
}

function size(value: unknown): number {
  return typeof value === 'number' ? value : Infinity;
}
