// A launch plan as text for people.
import type { DescriptorPlan, EnvironmentGrant, PlanDescription } from '../index.js';
import { phraseObject } from '../objects/object.js';

const SESSIONS: Record<PlanDescription['session'], string> = {
  new: 'new: no controlling terminal',
  group: 'group: a process group of its own in the session of the caller',
  inherit: 'inherit: the session and process group of the caller',
};

export function formatPlan(plan: PlanDescription): string {
  const { count, bytes } = plan.arguments;
  const keyboard =
    plan.foreground === null ? '' : `, in the foreground of the terminal on ${plan.foreground}`;
  return [
    line('program', plan.executable),
    line('arguments', `${count} of ${bytes.join(', ')} bytes (with the program's name)`),
    line('directory', plan.cwd),
    line('environment', plan.environment.names.join(' ')),
    ...plan.environment.grants.map((grant, index) =>
      line(index === 0 ? 'granted' : '', describeGrant(grant)),
    ),
    ...plan.environment.caches.map(({ name, path, reason }) =>
      line('cache', `${name}, to read, at ${path}: ${reason}`),
    ),
    ...(plan.environment.absent.length === 0
      ? []
      : [line('not set here', plan.environment.absent.join(' '))]),
    ...plan.descriptors.map((descriptor, index) =>
      line(index === 0 ? 'descriptors' : '', describeDescriptor(descriptor)),
    ),
    line('session', SESSIONS[plan.session] + keyboard),
    line(
      'privileges',
      plan.noNewPrivileges
        ? 'no new ones: setuid programs give it nothing'
        : 'setuid programs may grant it new ones',
    ),
    line('route', `${plan.route.kind}: ${plan.route.reasons.join('; ')}`),
    line('digest', plan.digest),
    ...plan.warnings.map((warning) => line('warning', warning)),
    'Nothing was started. Values of arguments and variables are never shown.\n',
  ].join('\n');
}

export function describeGrant({ name, origin, reason, flag }: EnvironmentGrant): string {
  const more = flag === undefined ? '' : ` (${flag.kind}: ${flag.why})`;
  return `${name} ${origin}: ${reason}${more}`;
}

function line(label: string, text: string): string {
  return `${label.padEnd(12)} ${text}`;
}

function describeDescriptor({ target, channel, source, object }: DescriptorPlan): string {
  const from = source === null || source === target ? '' : `from ${source}: `;
  return `${String(target).padStart(3)}  ${from}${object === null ? channel : phraseObject(object)}`;
}
