// The gates of the descriptors: 0, 1 and 2; what goes beyond them; how all of it is known.
import { phraseObject } from '../../objects/object.js';
import { planDigest } from '../../plan/describe.js';
import type { DescriptorPlan } from '../../plan/descriptors.js';
import { Comparison, type Case, type Gate } from '../gate.js';
import type { ApprovedChannel } from '../profile.js';
import { compareObject, phraseApproved } from './objects.js';

/** Milliseconds. What was held for longer before the launch is somebody's memory, not evidence. */
const OLDEST = 60_000;

const STANDARD = ['stdin', 'stdout', 'stderr'] as const;

export function reviewChannels({ plan, approved }: Case): Gate {
  const comparison = new Comparison();
  const asked = STANDARD.map((_name, target) => find(plan.descriptors, target));
  const { channels } = approved;
  if (channels === undefined) {
    comparison.unknown('channels', 'not stated', asked.map(phrasePlanned).join(', '));
  } else {
    STANDARD.forEach((name, target) => {
      compareChannel(`channels.${name}`, channels[name], asked[target], comparison);
    });
  }
  return comparison.gate(
    'standard-channels',
    channels === undefined
      ? 'not stated'
      : STANDARD.map((name) => phraseChannel(channels[name])).join(', '),
    asked.map(phrasePlanned).join(', '),
    {
      accept:
        'the three standard channels are those that were approved; captured output stays untrusted',
      hold: 'it is not known that the standard channels are those that were approved',
      reject: 'a standard channel refers to something that was not approved',
    },
  );
}

function compareChannel(
  path: string,
  approved: ApprovedChannel,
  asked: DescriptorPlan | undefined,
  comparison: Comparison,
): void {
  const wanted = phraseChannel(approved);
  if (asked === undefined) {
    comparison.unknown(path, wanted, 'not known');
  } else if (asked.object !== null) {
    // By whichever word an object of ours comes: what counts is which.
    if (approved.object === undefined) comparison.wider(path, wanted, phrasePlanned(asked));
    else compareObject(path, approved.object, asked.object, comparison);
  } else if (asked.channel !== approved.channel) {
    const isLess =
      asked.channel === 'null' || (asked.channel === 'stdout' && approved.channel === 'pipe');
    comparison[isLess ? 'narrower' : 'wider'](path, wanted, asked.channel);
  }
}

export function reviewExtra({ plan, approved }: Case): Gate {
  const comparison = new Comparison();
  const asked = plan.descriptors.filter(({ target }) => target > 2);
  const list = approved.descriptors;
  if (list === undefined) {
    comparison.unknown('descriptors', 'not stated', asked.map(phrasePlanned).join(', ') || 'none');
  } else {
    for (const descriptor of asked) {
      const path = `descriptors.${descriptor.target}`;
      const match = list.find(({ target }) => target === descriptor.target);
      if (match === undefined || descriptor.object === null) {
        comparison.wider(path, 'nothing', phrasePlanned(descriptor));
      } else {
        compareObject(path, match.object, descriptor.object, comparison);
      }
    }
    for (const { target, object, optional } of list) {
      if (optional === true || asked.some((each) => each.target === target)) continue;
      comparison.narrower(`descriptors.${target}`, phraseApproved(object), 'nothing');
    }
  }
  const phrase = (list ?? []).map(({ target, object }) => `${target} ${phraseApproved(object)}`);
  return comparison.gate(
    'extra-descriptors',
    list === undefined ? 'not stated' : phrase.join(', ') || 'none',
    asked.map((each) => `${each.target} ${phrasePlanned(each)}`).join(', ') || 'none',
    {
      accept: 'beyond the standard channels it is given exactly what was approved',
      hold: 'it is not known that the further descriptors are those that were approved',
      reject: 'a descriptor is passed whose object or operation nobody has approved',
    },
  );
}

export function reviewEvidence({ plan, approved, evidence, now }: Case): Gate {
  const comparison = new Comparison();
  const path = 'evidence.descriptors';
  const { descriptors } = evidence;
  const wanted =
    approved.launch.verify === 'at-exec'
      ? 'copies held by the plan, compared at the exec'
      : 'copies held by the plan';
  const age = now - Date.parse(descriptors?.takenAt ?? '');
  if (descriptors === undefined) {
    comparison.unknown(path, wanted, 'none');
  } else if (descriptors.kind === 'snapshot') {
    comparison.unknown(path, wanted, `an earlier look, of ${descriptors.takenAt}`);
  } else if (descriptors.planDigest !== planDigest(plan)) {
    comparison.unknown(path, wanted, 'copies of another plan');
  } else if (!(age >= -OLDEST && age <= OLDEST)) {
    comparison.unknown(path, wanted, `copies of ${descriptors.takenAt}`);
  } else if (approved.launch.verify === 'at-exec' && plan.verify !== 'at-exec') {
    comparison.unknown('verify', 'at-exec', plan.verify ?? 'nobody looks');
  }
  const asked =
    descriptors === undefined
      ? 'none'
      : descriptors.kind === 'held'
        ? 'copies held by the plan'
        : `an earlier look, of ${descriptors.takenAt}`;
  return comparison.gate('descriptor-evidence', wanted, asked, {
    accept: 'the descriptors are known by copies that are the ones passed',
    hold: 'this is no inventory and no proof of what a later process is given: a number may be closed and used again',
    reject: '',
  });
}

function find(descriptors: readonly DescriptorPlan[], target: number): DescriptorPlan | undefined {
  return descriptors.find((each) => each.target === target);
}

function phrasePlanned(descriptor: DescriptorPlan | undefined): string {
  if (descriptor === undefined) return 'not known';
  return descriptor.object === null ? descriptor.channel : phraseObject(descriptor.object);
}

function phraseChannel({ channel, object }: ApprovedChannel): string {
  return object === undefined ? channel : phraseApproved(object);
}
