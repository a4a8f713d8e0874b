// What the caller wants of the output: how much is kept, which part, and where else it goes.
import { Writable } from 'node:stream';

import { invalid } from '../errors.js';
import { takeOwn, typeName } from '../own-properties.js';
import type { Keep } from './keeper.js';
import { toPath } from './path-option.js';
import type { LineListener } from './sink.js';

/** What is kept of one channel. */
export interface KeepOptions {
  /** Bytes that are kept in memory, exactly. Default 16 MiB. */
  maxBytes?: number | undefined;
  /** Beyond: the run is ended (the default), or goes on and the rest is counted only. */
  onExceed?: 'end' | 'truncate-and-continue' | undefined;
  /** Which part is kept. Default `head`. */
  keep?: Keep | undefined;
}

/** What is wanted of one channel. */
export interface ChannelOptions extends KeepOptions {
  /**
   * Where all of it goes as well: a file by its path (created or emptied), a stream (which is not
   * ended), or a function for each line.
   */
  to?: string | URL | Writable | LineListener | undefined;
  /** What the program itself writes to. Default `pipe`. */
  via?: OutputVia | undefined;
}

/** Takes out of a stream of bytes what nobody may see, also where that comes in several pieces. */
export interface OutputMask {
  /** What may be handed on by now. Valid as long as `chunk` is. */
  push(chunk: Uint8Array): Uint8Array;
  /** The end of the stream: the rest. */
  flush(): Uint8Array;
  /** Nothing more has come for a while: what may be shown of what is held back, a prompt say. */
  idle?(): Uint8Array;
}

/**
 * `memfd`: a file without a name in memory, which takes everything at once. `file`: this one, created
 * or emptied; the program has it itself.
 */
export type OutputVia = 'pipe' | 'memfd' | { readonly file: string | URL };

/** For both channels, and for each where it differs. */
export interface OutputOptions extends KeepOptions {
  /** Where stdout differs. */
  stdout?: ChannelOptions | undefined;
  /** Where stderr differs; not with `merge`. */
  stderr?: ChannelOptions | undefined;
  /** stderr goes into the pipe of stdout, in true order; the report has all of it under stdout. */
  merge?: boolean | undefined;
  /**
   * Called once for each channel. What the mask gives is what is kept, counted, hashed and handed on:
   * see `CredentialBroker.mask`.
   */
  mask?: (() => OutputMask) | undefined;
}

export interface ChannelWish {
  readonly maxBytes: number;
  readonly onExceed: 'end' | 'truncate-and-continue';
  readonly keep: Keep;
  readonly to: string | Writable | LineListener | undefined;
  readonly mask: (() => OutputMask) | undefined;
  readonly via: 'pipe' | 'memfd' | { readonly file: string };
}

export interface OutputWish {
  readonly stdout: ChannelWish;
  readonly stderr: ChannelWish;
  readonly merge: boolean;
}

const DEFAULTS: ChannelWish = {
  maxBytes: 16 << 20,
  onExceed: 'end',
  keep: 'head',
  to: undefined,
  mask: undefined,
  via: 'pipe',
};

/** What a Buffer may have in all versions of Node that we run on. */
const MOST = 2 ** 31 - 1;

const KEEP_NAMES = ['maxBytes', 'onExceed', 'keep'] as const;
const CHANNEL_NAMES = [...KEEP_NAMES, 'to', 'via'] as const;
const OUTPUT_NAMES = [...KEEP_NAMES, 'stdout', 'stderr', 'merge', 'mask'] as const;

/**
 * @param most bytes of each channel that are kept where `value` does not say
 * @throws {SallyportTypeError}
 */
export function takeOutput(value: unknown, most = DEFAULTS.maxBytes): OutputWish {
  const own = takeOwn(
    value,
    'output',
    OUTPUT_NAMES,
    new Map([['to', 'write it for one channel: output: { stdout: { to } }']]),
  );
  if (own.mask !== undefined && typeof own.mask !== 'function') {
    throw wrong('output.mask', `a function, not ${typeName(own.mask)}`);
  }
  const mask = own.mask as OutputOptions['mask'];
  const maxBytes = Math.min(most, DEFAULTS.maxBytes);
  const both = takeKept(own, 'output', { ...DEFAULTS, maxBytes, mask });
  const merge = own.merge ?? false;
  if (typeof merge !== 'boolean') throw wrong('output.merge', 'true or false');
  if (merge && own.stderr !== undefined) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'output.stderr',
      'with merge: true there is only stdout; write its options there',
    );
  }
  return {
    stdout: takeChannel(own.stdout, 'output.stdout', both),
    stderr: takeChannel(own.stderr, 'output.stderr', both),
    merge,
  };
}

function takeChannel(value: unknown, option: string, defaults: ChannelWish): ChannelWish {
  const own = takeOwn(value, option, CHANNEL_NAMES);
  const to = takeTarget(own.to, `${option}.to`);
  const kept = takeKept(own, option, defaults);
  const via = takeVia(own.via, `${option}.via`);
  if (via !== 'pipe' && to !== undefined) {
    throw wrong(`${option}.to`, 'left out: with via the program writes there itself');
  }
  if (via !== 'pipe' && kept.mask !== undefined) {
    throw wrong(`${option}.via`, "'pipe' with output.mask: a file has what was written");
  }
  if (via === 'memfd' && kept.onExceed !== 'end') {
    throw wrong(`${option}.onExceed`, "'end' with a memfd, which holds all that is written");
  }
  return { ...kept, to, via };
}

function takeTarget(value: unknown, option: string): ChannelWish['to'] {
  if (value === undefined || value instanceof Writable) return value;
  if (typeof value === 'function') return value as LineListener;
  const path = toPath(value);
  if (path !== undefined) return path;
  const instead = 'a path, a file: URL, a writable stream or a function';
  const advice =
    value instanceof WritableStream ? '; write Writable.fromWeb(it), of node:stream' : '';
  throw wrong(option, `${instead}, not ${typeName(value)}${advice}`);
}

function takeVia(value: unknown, option: string): ChannelWish['via'] {
  if (value === undefined) return 'pipe';
  if (value === 'pipe' || value === 'memfd') return value;
  if (typeof value === 'object') {
    const file = toPath(takeOwn(value, option, ['file']).file);
    if (file !== undefined) return { file };
  }
  throw wrong(option, "'pipe', 'memfd' or { file }");
}

function takeKept(
  own: { readonly [name in (typeof KEEP_NAMES)[number]]?: unknown },
  option: string,
  defaults: ChannelWish,
): ChannelWish {
  const { maxBytes = defaults.maxBytes, onExceed = defaults.onExceed, keep = defaults.keep } = own;
  if (!isWhole(maxBytes, MOST)) throw wrong(`${option}.maxBytes`, `bytes from 0 to ${MOST}`);
  if (onExceed !== 'end' && onExceed !== 'truncate-and-continue') {
    throw wrong(`${option}.onExceed`, "'end' or 'truncate-and-continue'");
  }
  if (keep !== 'head' && keep !== 'tail' && keep !== 'head-and-tail') {
    throw wrong(`${option}.keep`, "'head', 'tail' or 'head-and-tail'");
  }
  return { maxBytes, onExceed, keep, to: undefined, mask: defaults.mask, via: 'pipe' };
}

function isWhole(value: unknown, highest: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= highest;
}

function wrong(option: string, instead: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, `must be ${instead}`);
}

/** With the mask of each channel in the place of what makes it. @throws {SallyportTypeError} */
export function makeMasks(output: OutputWish): OutputWish {
  const make = (wish: ChannelWish): ChannelWish => {
    if (wish.mask === undefined) return wish;
    const mask = wish.mask() as Partial<OutputMask> | null | undefined;
    if (typeof mask?.push !== 'function' || typeof mask.flush !== 'function') {
      throw wrong('output.mask', 'a function that gives an object with push and flush');
    }
    return { ...wish, mask: () => mask as OutputMask };
  };
  return { ...output, stdout: make(output.stdout), stderr: make(output.stderr) };
}
