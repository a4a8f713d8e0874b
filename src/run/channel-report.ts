// What is reported of one channel of output.
import { withoutPrototype } from '../own-properties.js';
import { HASH_OF_NOTHING } from './hash.js';
import type { Kept } from './keeper.js';
import type { ChannelReport } from './report.js';

/** How reading ended, before it is known whether all was kept. */
export type ReadingEnd = 'eof' | 'held' | 'cut';

export interface ChannelFacts {
  readonly observed: boolean;
  readonly bytesSeen: number;
  readonly kept: Kept;
  readonly sha256: string;
  readonly end: ReadingEnd;
  readonly heldBy: ChannelReport['heldBy'];
  /** Where else it went; null: nowhere. */
  readonly sink: { readonly error: Error | null } | null;
}

export function reportChannel(facts: ChannelFacts): ChannelReport {
  const { data, omitted } = facts.kept;
  const error = facts.sink?.error ?? null;
  const report = {
    observed: facts.observed,
    omitted,
    bytesSeen: facts.bytesSeen,
    bytesKept: data.length,
    sha256: facts.sha256,
    end: facts.end === 'eof' && omitted !== null ? ('truncated' as const) : facts.end,
    heldBy: facts.heldBy,
    delivered: facts.sink !== null && error === null,
    deliveryError: error?.message ?? null,
  };
  return withContent(report, data, omitted?.at ?? data.length);
}

/** Of a channel that was never opened. */
export function unseenChannel(): ChannelReport {
  return reportChannel({
    observed: false,
    bytesSeen: 0,
    kept: { data: Buffer.alloc(0), omitted: null },
    sha256: HASH_OF_NOTHING,
    end: 'eof',
    heldBy: [],
    sink: null,
  });
}

/** Not enumerable: a record of the report, or a log of it, holds nothing of the output. */
function withContent(
  report: Omit<ChannelReport, 'data' | 'text'>,
  data: Buffer,
  gap: number,
): ChannelReport {
  let text: string | undefined;
  return Object.defineProperties(report, {
    data: withoutPrototype({ value: data, enumerable: false }),
    text: withoutPrototype({
      // Each part by itself: a character cut in two at the gap must not join the other half's bytes.
      get: () => (text ??= data.toString('utf8', 0, gap) + data.toString('utf8', gap)),
      enumerable: false,
    }),
  }) as ChannelReport;
}
