// What happened to a run that did not simply end, in one sentence.
import type { ChannelReport, RunReport } from '../index.js';
import { phraseCount } from '../phrase-count.js';
import { clean } from './table.js';
import { phraseTime } from './quantities.js';

/** '' where nothing was cut, held or killed. */
export function summarize(report: RunReport, wishes: SummaryWishes): string {
  const parts = [phraseEnding(report, wishes), ...phraseChannels(report), phraseCleanup(report)];
  return parts.filter((part) => part !== '').join('; ');
}

/** As they were written, in milliseconds and bytes. */
export interface SummaryWishes {
  readonly deadline: number | undefined;
  readonly stall: number | undefined;
  readonly maxOutput: number | undefined;
}

function phraseEnding({ outcome }: RunReport, wishes: SummaryWishes): string {
  switch (outcome.kind) {
    case 'deadline':
      return `ended at its deadline of ${phraseTime(wishes.deadline ?? 0)}`;
    case 'stalled':
      return `ended for standing still: no output for ${phraseTime(outcome.stall?.lastOutputMs ?? 0)}${phraseStall(outcome)}`;
    case 'output-limit':
      return `ended for more output than ${phraseCount(wishes.maxOutput ?? 0, 'byte')}`;
    case 'lost':
      return 'how it ended is not known';
    default:
      return '';
  }
}

function phraseStall({ stall }: RunReport['outcome']): string {
  const processes = stall?.processes ?? [];
  if (processes.length === 0) return '';
  const each = processes.slice(0, 4).map(({ pid, executable, state, wchan }) => {
    const where = wchan === '' ? '' : ` in ${wchan}`;
    return `${phraseProcess(pid, executable)} was in state ${state}${where}`;
  });
  const more = processes.length > 4 ? `, and ${processes.length - 4} more` : '';
  return ` (${each.join(', ')}${more})`;
}

function phraseChannels({ output }: RunReport): string[] {
  return [phraseChannel('stdout', output.stdout), phraseChannel('stderr', output.stderr)];
}

function phraseChannel(name: string, { end, heldBy, deliveryError }: ChannelReport): string {
  // Whoever read it had enough: that is no news to them.
  if (deliveryError?.includes('EPIPE') === true) return '';
  if (deliveryError !== null) return `${name} was not passed on: ${deliveryError}`;
  if (end === 'cut') return `${name} was cut`;
  if (end !== 'held') return '';
  const holders = heldBy.map(({ pid, executable }) => phraseProcess(pid, executable));
  return `${name} was held by ${holders.length === 0 ? 'somebody who may not be looked at' : [...new Set(holders)].join(', ')}`;
}

function phraseCleanup({ cleanup }: RunReport): string {
  const sent = cleanup.signalled
    .filter(({ processes }) => processes !== 0)
    .map(
      ({ signal, processes }) =>
        `${signal} to ${processes === null ? 'its processes' : phraseCount(processes, 'process', 'processes')}`,
    );
  const left = cleanup.survivors.map(({ pid, executable }) => phraseProcess(pid, executable));
  const survivors = left.length === 0 ? '' : `, and still there: ${left.join(', ')}`;
  return sent.length === 0 ? survivors.slice(2) : `${sent.join(', ')}${survivors}`;
}

/** Without its directory, and with nothing that acts on a terminal. */
function phraseProcess(pid: number, executable: string | null): string {
  return `${clean(executable?.split('/').at(-1) ?? 'a process')} (${pid})`;
}
