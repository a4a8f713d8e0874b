// The gate of the arguments: fixed ones, and the places that each launch fills by a rule.
import { posix } from 'node:path';

import { phraseCount } from '../../phrase-count.js';
import { Comparison, type Case, type Gate } from '../gate.js';
import type { Operand, Profile } from '../profile.js';
import { isWrapped } from './executable.js';

const LONGEST = 4_096;

export function reviewArguments({ plan, approved }: Case): Gate {
  const comparison = new Comparison();
  const wanted = approved.arguments;
  const [name = '', ...given] = plan.argv;
  if (isWrapped(plan.executable, plan.argv, approved.executable.path)) {
    comparison.unknown('arguments', `${wanted.length}`, 'those of a program before it as well');
  } else {
    if (!namesOf(approved).includes(name)) {
      comparison.wider('argv0', approved.argv0 ?? approved.executable.path, sizeOf(name));
    }
    for (let index = 0; index < Math.max(wanted.length, given.length); index++) {
      compareArgument(`arguments.${index}`, wanted[index], given[index], comparison);
    }
  }
  const slots = wanted.filter((each) => typeof each !== 'string').length;
  const list =
    slots === 0 ? `${wanted.length} fixed` : `${wanted.length}, ${slots} of them by a rule`;
  return comparison.gate('arguments', list, `${given.length}`, {
    accept: 'every argument is one that was approved, or keeps the rule of its place',
    hold: 'it is not known that the arguments are those that were approved',
    reject: 'the arguments are not those that were approved',
  });
}

function namesOf({ argv0, executable }: Profile): string[] {
  return argv0 === undefined ? [executable.path, executable.path.split('/').pop() ?? ''] : [argv0];
}

function compareArgument(
  path: string,
  wanted: string | Operand | undefined,
  given: string | undefined,
  comparison: Comparison,
): void {
  if (wanted === undefined) {
    comparison.wider(path, 'nothing', sizeOf(given ?? ''));
  } else if (given === undefined) {
    // Fewer arguments may make a program do more: what it does without them nobody approved.
    comparison.wider(
      path,
      typeof wanted === 'string' ? 'a fixed argument' : wanted.operand,
      'nothing',
    );
  } else if (typeof wanted === 'string') {
    if (given !== wanted) comparison.wider(path, 'a fixed argument', `another, ${sizeOf(given)}`);
  } else {
    const fault = breaks(wanted, given);
    if (fault !== null) comparison.wider(path, `${wanted.operand}: ${wanted.rule.kind}`, fault);
  }
}

/** Null where the rule is kept. */
function breaks(
  { rule, maxBytes = LONGEST, mayBeOption = false }: Operand,
  given: string,
): string | null {
  if (Buffer.byteLength(given) > maxBytes) return `${sizeOf(given)}, more than ${maxBytes}`;
  if (!mayBeOption && given.startsWith('-')) return "begins with '-'";
  switch (rule.kind) {
    case 'text':
      return null;
    case 'integer': {
      // One way to write each: with a leading 0 some programs read it as octal, and it is another.
      const number = /^(?:0|-?[1-9]\d{0,14})$/.test(given) ? Number(given) : NaN;
      if (Number.isNaN(number)) return 'no whole number';
      const { min = -Infinity, max = Infinity } = rule;
      return number >= min && number <= max ? null : 'outside of its range';
    }
    case 'absolute-path':
      if (!given.startsWith('/')) return 'no absolute path';
      if (posix.normalize(given) !== given) return "a path with '..', '.' or '//'";
      return isWithin(given, rule.within ?? '/') ? null : `not within ${rule.within ?? '/'}`;
    case 'one-of':
      return rule.values.includes(given) ? null : 'none of its values';
  }
}

/** By the names alone: a symlink may lead elsewhere. */
export function isWithin(path: string, directory: string): boolean {
  const base = directory === '/' ? '' : directory.replace(/\/+$/, '');
  return path === directory || path.startsWith(`${base}/`);
}

function sizeOf(value: string): string {
  return phraseCount(Buffer.byteLength(value), 'byte');
}
