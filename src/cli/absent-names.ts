// A program that failed soon after its start: what it may have missed in its environment.
import { complain } from './output.js';

/** What is told of a long list. */
const MOST_NAMED = 6;

/** @param names that programs commonly need, and that it did not have */
export function tellAbsent(file: string, code: number | null, names: readonly string[]): void {
  // What nobody here has it can do without.
  const had = names.filter((name) => process.env[name] !== undefined);
  if (had.length === 0) return;
  const more = had.length > MOST_NAMED ? ` and ${had.length - MOST_NAMED} more` : '';
  const home = had.includes('HOME') ? ', or --workspace for a HOME of its own' : '';
  complain(
    `run: ${file}: ended with ${code ?? 0}, and did not have ${had.slice(0, MOST_NAMED).join(', ')}${more}, which are set here and which programs commonly need: where it does, write --env NAME${home}`,
  );
}
