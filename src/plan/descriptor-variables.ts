// Variables that name descriptors: a warning for each descriptor that the child does not have.
import type { Variables } from './variables.js';

interface Naming {
  /** The numbers that a value names; none where it names none, or cannot be read. */
  readonly numbers: (value: string) => readonly number[];
  /** What the numbers are, in the plural. */
  readonly what: string;
}

const jobserver: Naming = {
  // Both ends of a pipe. `fifo:PATH` names no descriptor.
  numbers: (value) => {
    const [, read, write] = /--jobserver-(?:auth|fds)=(\d{1,9}),(\d{1,9})/.exec(value) ?? [];
    return read === undefined ? [] : [Number(read), Number(write)];
  },
  what: "make's jobserver",
};

const one = (what: string): Naming => ({
  numbers: (value) => (/^\d{1,9}$/.test(value) ? [Number(value)] : []),
  what,
});

const NAMING: Readonly<Record<string, Naming>> = {
  MAKEFLAGS: jobserver,
  MFLAGS: jobserver,
  CARGO_MAKEFLAGS: jobserver,
  LISTEN_FDS: {
    // From 3 on, sd_listen_fds(3). More than some thousands is no count.
    numbers: (value) =>
      /^[1-9]\d{0,3}$/.test(value)
        ? Array.from({ length: Number(value) }, (_, index) => index + 3)
        : [],
    what: 'sockets that were handed over',
  },
  NODE_CHANNEL_FD: one("Node's IPC channel"),
  WAYLAND_SOCKET: one('a display connection'),
};

/** @param targets the numbers of the child's table */
export function warnOfMissingDescriptors(
  variables: Variables,
  targets: readonly number[],
): readonly string[] {
  return Object.entries(NAMING).flatMap(([name, { numbers, what }]) => {
    if (!Object.hasOwn(variables, name)) return [];
    const missing = numbers(variables[name] ?? '').filter((number) => !targets.includes(number));
    if (missing.length === 0) return [];
    const several = missing.length > 1;
    return [
      `env.${name} names ${several ? 'descriptors' : 'descriptor'} ${phrase(missing)} (${what}), which the program does not have: put ${several ? 'them' : 'it'} into the pass list, or leave ${name} out`,
    ];
  });
}

function phrase(numbers: readonly number[]): string {
  const [first, second] = numbers;
  if (numbers.length > 2) return `${first ?? ''} to ${numbers.at(-1) ?? ''}`;
  return second === undefined ? String(first) : `${first ?? ''} and ${second}`;
}
