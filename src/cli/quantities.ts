// Times, sizes and limits as they are written on a command line.
import { LIMITS } from '../plan/attributes.js';
import type { SpawnOptions } from '../plan/options.js';
import { UsageError } from './failure.js';

const MILLISECONDS: Record<string, number> = {
  ms: 1,
  '': 1_000,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** What setTimeout can wait for, some 24 days. */
const LONGEST = 0x7fffffff;

/** `5`, `5s`, `1.5m`, `250ms`: without a unit it is seconds, as timeout(1) has it. @returns ms */
export function parseTime(text: string, option: string, lowest: 0 | 1): number {
  const [, number = '', unit = ''] = /^(\d{1,10}(?:\.\d{1,6})?)(ms|s|m|h|)$/.exec(text) ?? [];
  const time = Math.round(Number(number) * (MILLISECONDS[unit] ?? NaN));
  if (number !== '' && time >= lowest && time <= LONGEST) return time;
  throw new UsageError(
    `${option}: not a time: write seconds, or a number with ms, s, m or h, as in ${option} 1.5m${lowest === 1 ? '; not 0' : ''}`,
  );
}

const BYTES: Record<string, number> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** `4096`, `64K`, `1M`, `2GiB`, in powers of 1024. */
export function parseSize(text: string, option: string): number {
  const [, number = '', unit = ''] = /^(\d{1,15})([KMGT]?)(?:i?B)?$/.exec(text) ?? [];
  const size = Number(number) * (BYTES[unit] ?? NaN);
  if (number !== '' && Number.isSafeInteger(size)) return size;
  throw new UsageError(
    `${option}: not a size: write bytes, or a number with K, M, G or T (powers of 1024), as in ${option} 1M`,
  );
}

type Limits = NonNullable<SpawnOptions['limits']>;

/** `nofile=1024`, `nofile=1024:4096`, `core=unlimited`: in the units of getrlimit(2). */
export function parseLimits(written: readonly string[] = []): Limits | undefined {
  if (written.length === 0) return undefined;
  const limits = Object.create(null) as Record<string, { soft: LimitValue; hard: LimitValue }>;
  for (const text of written) {
    const match = /^([a-z]+)=(\d{1,15}|unlimited)(?::(\d{1,15}|unlimited))?$/.exec(text);
    if (match === null) {
      throw new UsageError(
        '--limit: no limit with a value: write NAME=SOFT or NAME=SOFT:HARD with whole numbers or unlimited, as in --limit nofile=1024:4096',
      );
    }
    const [, name = '', soft = '', hard = soft] = match;
    if (!Object.hasOwn(LIMITS, name)) {
      throw new UsageError(
        `--limit ${name}: no such limit: write one of ${Object.keys(LIMITS).join(', ')}`,
      );
    }
    limits[name] = { soft: toLimit(soft), hard: toLimit(hard) };
  }
  return limits;
}

type LimitValue = number | 'unlimited';

function toLimit(text: string): LimitValue {
  return text === 'unlimited' ? text : Number(text);
}

/** A name, or a uid. */
export function parseUser(text: string | undefined): string | number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : text;
}

/** `17 s`, `4 min 5 s`, `2 h 3 min`. @param time ms */
export function phraseTime(time: number): string {
  const seconds = time / 1_000;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `812 B`, `3.4 MiB`. */
export function phraseSize(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const power = Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1_024 ** power).toFixed(1)} ${['', 'KiB', 'MiB', 'GiB', 'TiB'][power] ?? ''}`;
}
