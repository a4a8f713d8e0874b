// Starts the probe as a run would be started, with what it is to try, and reads how that ended.
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

import { SallyportError } from '../errors.js';
import { isFailure } from '../native-binding.js';
import { native, probePath } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import { launch } from '../launch/launch.js';
import type { Child } from '../launch/child.js';
import type { Ids } from './gap.js';
import type { PassEntry, PlanOptions, SpawnOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';

/** Letters of native/probe/probe.c. */
const TRY = {
  read: 'r',
  write: 'w',
  link: 'l',
  connect: 'u',
  agent: 'a',
  tcp: 't',
  memory: 'm',
  descriptor: 'd',
  ownDescriptors: 'f',
  ids: 'i',
  hold: 'h',
} as const;

export interface Attempt {
  readonly what: keyof typeof TRY;
  readonly operand: string;
}

export interface Answer {
  /** Positive; 0: it succeeded. */
  readonly errno: number;
  readonly value: string;
}

/** Milliseconds. Attempts on the network have seconds each, and there are few. */
const DEADLINE = 60_000;

/** What a run is started with, as far as it decides what the run can reach. */
export type Conditions = Omit<
  PlanOptions,
  'stdio' | 'foreground' | 'terminal' | 'argv0' | 'pass'
> & {
  readonly pass: readonly PassEntry[];
};

/** The conditions of a plan. Of its descriptors those that are still what the plan says. */
export function conditionsOf(plan: LaunchPlan): Conditions {
  const { terminal: _terminal, ...attributes } = plan.attributes;
  const { environment: env, cwd, session, noNewPrivileges, descriptors } = plan;
  const pass = descriptors.flatMap(({ target, source, object }): PassEntry[] => {
    if (target < 3 || source === null || object === null) return [];
    return isStill(source, object) ? [{ fd: source, as: target }] : [];
  });
  return { ...attributes, env, cwd, session, noNewPrivileges, pass };
}

function isStill(fd: number, object: { dev: number; inode: string }): boolean {
  const now = native().describeDescriptor(fd);
  return !isFailure(now) && now.dev === object.dev && now.inode === object.inode;
}

/**
 * One line of answer for each attempt.
 *
 * @throws {SallyportError} what a launch under these conditions is refused with
 */
export async function probe(
  conditions: Conditions,
  attempts: readonly Attempt[],
): Promise<{ answers: readonly Answer[]; program: number }> {
  const { child, program, closed } = await start(conditions, attempts, 'null');
  const answers = (await readLines(child, attempts.length)).map(parseAnswer);
  if (answers.length !== attempts.length) throw endedEarly(await describeEnd(child));
  await closed;
  return { answers, program };
}

/** A probe that says who it is and then does nothing until it is let go: another run of the same plan. */
export class Sibling {
  readonly #child: Child;
  readonly #closed: Promise<unknown>;
  readonly ids: Ids;

  private constructor({ child, closed }: Started, ids: Ids) {
    this.#child = child;
    this.#closed = closed;
    this.ids = ids;
  }

  /** @throws {SallyportError} what a launch under these conditions is refused with */
  static async start(conditions: Conditions): Promise<Sibling> {
    const attempts: readonly Attempt[] = [
      { what: 'ids', operand: '' },
      { what: 'hold', operand: '' },
    ];
    const started = await start(conditions, attempts, 'pipe');
    const { child } = started;
    const [line] = await readLines(child, attempts.length);
    const [uid, gid] = parseAnswer(line ?? '')
      .value.split(',')
      .map(Number);
    if (uid === undefined || gid === undefined) throw endedEarly(await describeEnd(child));
    return new Sibling(started, { uid, gid });
  }

  get pid(): number {
    return this.#child.pid;
  }

  async end(): Promise<void> {
    this.#child.stdin?.on('error', () => undefined).end();
    await this.#closed;
  }
}

/** So many, or fewer where its output ends before. */
async function readLines(child: Child, count: number): Promise<string[]> {
  let text = '';
  return await new Promise((resolve) => {
    const finish = (): void => {
      const lines = text.split('\n').slice(0, -1);
      if (lines.length >= count) resolve(lines);
    };
    child.stdout?.on('data', (piece: Buffer) => {
      text += piece.toString();
      finish();
    });
    child.stdout?.once('end', () => {
      resolve(text.split('\n').slice(0, -1));
    });
  });
}

async function describeEnd(child: Child): Promise<string> {
  const { code, signal } = await child.exited;
  return signal ?? `exit code ${code}`;
}

interface Started {
  readonly child: Child;
  /** The number under which the probe has itself. */
  readonly program: number;
  /** It has ended, and nothing of it is open here. */
  readonly closed: Promise<unknown>;
}

async function start(
  { pass, ...others }: Conditions,
  attempts: readonly Attempt[],
  stdin: 'null' | 'pipe',
): Promise<Started> {
  const listeners = (withoutPrototype(others).listeners ?? []).map((_, index) => index + 3);
  const program = openProgram([...pass.map(({ fd, as }) => as ?? fd), ...listeners]);
  try {
    const options: SpawnOptions = {
      ...others,
      stdio: [stdin, 'pipe', 'null'],
      pass: [...pass, program],
      argv0: 'sallyport-probe',
      timeout: DEADLINE,
      killSignal: 'SIGKILL',
    };
    const args = attempts.map(({ what, operand }) => `${TRY[what]}:${operand}`);
    // By descriptor: the user of the run need not be able to reach where this package is installed.
    const child = await launch(`/proc/self/fd/${program}`, args, options);
    return { child, program, closed: once(child, 'close') };
  } finally {
    closeSync(program);
  }
}

/** @param taken numbers that it may not have, since it goes along under its own */
function openProgram(taken: readonly number[]): number {
  const superfluous: number[] = [];
  try {
    for (;;) {
      const fd = openSync(probePath(), 'r');
      if (fd > 2 && !taken.includes(fd)) return fd;
      superfluous.push(fd);
    }
  } finally {
    superfluous.forEach((fd) => {
      closeSync(fd);
    });
  }
}

function parseAnswer(line: string): Answer {
  const blank = line.indexOf(' ');
  return { errno: Number(line.slice(0, blank)), value: line.slice(blank + 1) };
}

function endedEarly(how: string): Error {
  return new SallyportError(
    `report gaps: the probe was ended by ${how} before it had tried everything: are the limits of the run too low?`,
    { code: 'EIO', errno: -5, syscall: 'report gaps', stage: 'process', stageSource: 'inferred' },
  );
}
