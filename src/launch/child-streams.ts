// Types of the streams of a child, by what `stdio` says of each channel.
import type { Readable, Writable } from 'node:stream';

import type { SpawnOptions } from '../plan/options.js';
import type { Child } from './child.js';

/** What is left out, null or undefined has its default. */
type OrDefault<Entry, Default> = Entry extends null | undefined ? Default : Entry;

type EntryOf<Stdio, Target extends '0' | '1' | '2', Default> = Stdio extends readonly unknown[]
  ? Target extends keyof Stdio
    ? OrDefault<Stdio[Target], Default>
    : Default
  : OrDefault<Stdio, Default>;

type StreamOf<Entry, Stream> = Entry extends 'pipe' ? Stream : null;

/**
 * A `Child` whose streams are known from what was written as `stdio`: a stream where it says `'pipe'`,
 * and null elsewhere. Where the compiler does not see what was written, each may be null.
 *
 * @typeParam Stdio what `stdio` says
 */
export type ChildWith<Stdio extends SpawnOptions['stdio']> = Child & {
  readonly stdin: StreamOf<EntryOf<Stdio, '0', 'null'>, Writable>;
  readonly stdout: StreamOf<EntryOf<Stdio, '1', 'pipe'>, Readable>;
  readonly stderr: StreamOf<EntryOf<Stdio, '2', 'pipe'>, Readable>;
};
