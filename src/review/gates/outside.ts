// The gates that no plan can answer: the rights of the user, and whether the result is whole.
import { planDigest } from '../../plan/describe.js';
import { Comparison, notAssessed, type Case, type Gate } from '../gate.js';

export function reviewRights(): Gate {
  return notAssessed(
    'os-rights',
    'nothing: no profile can approve it',
    "all that this user may open, reach and do by the system's own rules",
    'what the program may open by its rights on this system is neither authorized here nor shown to be blocked',
  );
}

const LIMITS = ['deadline', 'stall', 'outputBytes'] as const;

export function reviewCompletion({ plan, approved, evidence }: Case): Gate {
  const { report, limits } = evidence;
  const comparison = new Comparison();
  if (limits !== undefined) {
    for (const name of LIMITS) {
      const [most, asked] = [approved.limits?.[name], limits[name]];
      if (most !== undefined && (asked === undefined || asked > most)) {
        comparison.wider(`limits.${name}`, `at most ${most}`, String(asked ?? 'none'));
      }
    }
  }
  const wanted = LIMITS.flatMap((name) => {
    const most = approved.limits?.[name];
    return most === undefined ? [] : [`${name} ${most}`];
  });
  const ceiling = wanted.length === 0 ? 'no limits are stated' : `at most ${wanted.join(', ')}`;
  if (report !== undefined && !report.complete) {
    const { stdout, stderr } = report.output;
    comparison.unknown(
      'report.complete',
      'true',
      `${report.outcome.kind}; stdout ${stdout.end}, stderr ${stderr.end}`,
    );
  }
  const digest = report?.admission?.planDigest ?? '';
  if (digest !== '' && digest !== planDigest(plan)) {
    comparison.unknown('report.admission.planDigest', 'of this plan', 'of another plan');
  }
  if (report === undefined && comparison.differences.length === 0) {
    return notAssessed(
      'completion',
      ceiling,
      'not run yet',
      'whether the result will be whole can be said only after the run, by its report: a ceiling, an end, and what was read to its end',
    );
  }
  return comparison.gate(
    'completion',
    ceiling,
    report === undefined ? 'not run yet' : report.outcome.kind,
    {
      accept:
        'the run came to its own end and all of its output was read; what it says stays untrusted',
      hold: 'the result is incomplete, and stays so: it may not be taken for the whole',
      reject: 'the run may take or write more than was approved',
    },
  );
}
