// What a report says of the look at a child: at its exec, after it, or none.
import { listAbsent } from '../environment/absent.js';
import { evidenceOf, type SeenDescriptor } from '../launch/evidence.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { Findings, Inheritance, Outcome } from './report.js';

const STATEMENTS: Readonly<Record<Inheritance['verified'], string>> = {
  'at-exec':
    'held immediately before its exec and compared with the plan; says nothing of what it opens itself afterwards',
  'after-exec':
    'a later look, when the program ran already: no proof of what it was given at its exec',
  'not-verified': 'nobody looked',
};

export function describeInheritance(found: Findings, outcome: Outcome): Inheritance {
  const { plan, error } = found;
  const evidence = plan === null ? null : evidenceOf(plan);
  const refused = error?.code === 'ERR_SALLYPORT_NOT_AS_PLANNED';
  const wasRead = evidence !== null && evidence.unread === null;
  const verified = wasRead ? evidence.when : refused ? 'at-exec' : 'not-verified';
  const planned = new Set(plan?.descriptors.map(({ target }) => target));
  const isUnexpected = ({ target, closeOnExec }: SeenDescriptor): boolean =>
    !planned.has(target) && !closeOnExec;
  return {
    verified,
    descriptors: plan?.descriptors ?? [],
    seen: wasRead ? evidence.descriptors : null,
    unexpected: wasRead ? evidence.descriptors.filter(isUnexpected) : [],
    differences: evidence?.differences ?? error?.differences ?? [],
    statement: STATEMENTS[verified],
    environmentNames: Object.keys(plan?.environment ?? {}).sort(),
    absentNames: plan === null ? [] : listAbsent(plan.environment, outcome),
  };
}

/** For `notTested`. */
export function listUnverified(plan: LaunchPlan | null): string[] {
  const evidence = plan === null ? null : evidenceOf(plan);
  if (evidence === null) {
    return ['inheritance: what the program held at its exec was not looked at'];
  }
  if (evidence.unread !== null) {
    return [`inheritance: '${evidence.unread}' could not be read any more`];
  }
  const lines =
    evidence.when === 'at-exec'
      ? ['inheritance: limits, priorities, capabilities and namespaces were not compared']
      : ['inheritance: it was looked at after its exec, which proves nothing of before'];
  return plan?.pinned === null || plan === null
    ? [
        ...lines,
        'program: between the look and the exec its file may have been exchanged (it is not pinned)',
      ]
    : [...lines, libraries(plan.pinned.loader)];
}

function libraries(loader: string | null): string {
  return loader === null
    ? 'program: pinned and static; files that it opens itself'
    : `program: its loader '${loader}' and the shared libraries that it loads were not hashed`;
}
