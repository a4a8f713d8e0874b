// A run that is given credentials: its environment, its output's mask, its record, and their end.
import { closeSync } from 'node:fs';

import { isOurs } from '../copies.js';
import { invalid } from '../errors.js';
import { takeOwn, withoutPrototype } from '../own-properties.js';
import { resolveEnvironment } from '../plan/environment.js';
import { RUN_OPTION_NAMES, takeRunOptions, type RunOptions } from '../run/options.js';
import { appendRecord, openRecord } from '../run/record.js';
import type { RunReport } from '../run/report.js';
import type { RunUnderWay } from '../run/handle.js';
import { settled, startRun, type Run } from '../run/run.js';
import { addTo } from './apply.js';
import { CredentialBroker, type DeliveredCredentials } from './broker.js';
import type { CredentialReport } from './report.js';

/** The report of the run, and what it was given. */
export interface CredentialedReport extends RunReport {
  /** The report of the broker. */
  readonly credentials: CredentialReport;
}

/** As `Run`, with more in its report. */
export interface CredentialedRun extends Promise<CredentialedReport> {
  /** Ends the run, also before it has begun. */
  abort(): void;
  /** Takes a process out of the run on purpose: it is not ended with it. */
  release(pid: number): void;
  /** Promise of the pid, or of null. */
  readonly started: Promise<number | null>;
  /** For `await using`: ends the run where it is not over, and waits until it is. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * As `run`. Credentials are minted first: where they cannot be had nothing is started. The broker is
 * closed at the end, whatever that is.
 *
 * @throws as `run` and `CredentialBroker.open`, as a rejection
 */
export function runWithCredentials(
  broker: CredentialBroker,
  file: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): CredentialedRun {
  return startWithCredentials(broker, file, args, options);
}

export interface CredentialedStart {
  /** Called with what is under way, as soon as the program runs. */
  readonly look?: (running: RunUnderWay) => void;
  /** Called when all is minted: the last word on the options. */
  readonly amend?: (options: RunOptions) => RunOptions;
  /** False: what the program prints is handed on as it is. */
  readonly masks?: boolean;
}

/** @internal For the command line. */
export function startWithCredentials(
  broker: CredentialBroker,
  file: string,
  args: readonly string[],
  options: RunOptions,
  { look = () => undefined, amend = (same) => same, masks = true }: CredentialedStart = {},
): CredentialedRun {
  const handle = new Handle(look, amend, masks);
  const report = supervise(broker, file, args, options, handle).finally(() => {
    handle.finish();
  });
  return Object.assign(report, {
    started: handle.started,
    abort: handle.abort,
    release: (pid: number) => handle.running?.release(pid),
    [Symbol.asyncDispose]: () => {
      handle.abort();
      return settled(report);
    },
  });
}

/** What the caller can reach, before the run has begun as well. */
class Handle {
  readonly look: (running: RunUnderWay) => void;
  readonly amend: (options: RunOptions) => RunOptions;
  readonly masks: boolean;
  running: Run | undefined;
  readonly aborted = new AbortController();
  readonly started: Promise<number | null>;
  #tell!: (pid: number | null) => void;
  readonly #over = new AbortController();

  constructor(
    look: (running: RunUnderWay) => void,
    amend: (options: RunOptions) => RunOptions,
    masks: boolean,
  ) {
    this.look = look;
    this.amend = amend;
    this.masks = masks;
    this.started = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  readonly abort = (): void => {
    this.aborted.abort();
  };

  get isAborted(): boolean {
    return this.aborted.signal.aborted;
  }

  follow(signal: AbortSignal | undefined): void {
    if (signal?.aborted === true) this.abort();
    else signal?.addEventListener('abort', this.abort, { once: true, signal: this.#over.signal });
  }

  begin(running: Run): Run {
    this.running = running;
    void running.started.then(this.#tell);
    return running;
  }

  finish(): void {
    this.#tell(null);
    this.#over.abort();
  }
}

async function supervise(
  broker: CredentialBroker,
  file: string,
  args: readonly string[] | undefined,
  options: RunOptions,
  handle: Handle,
): Promise<CredentialedReport> {
  if (!isOurs(broker, CredentialBroker, 'broker')) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'broker', 'must be of createCredentialBroker');
  }
  // Before anything is minted: a mistake costs nothing.
  const { record, deadline, signal } = takeRunOptions(options);
  handle.follow(signal);
  // By us, since the record of the run has to have what we add to it.
  const taken = takeOwn(options, 'options', RUN_OPTION_NAMES) as RunOptions;
  const { record: _ours, ...others } = taken;
  const own = withoutPrototype(others);
  let fd = record === undefined ? undefined : openRecord(record, file);
  try {
    const report = await runOnce(broker, file, args, own, deadline, handle);
    const complete = { ...report, credentials: await broker.close() };
    if (fd !== undefined && record !== undefined) {
      const open = fd;
      fd = undefined;
      await appendRecord(open, broker.redactAll(complete), record);
    }
    return complete;
  } finally {
    await broker.close();
    if (fd !== undefined) closeSync(fd);
  }
}

async function runOnce(
  broker: CredentialBroker,
  file: string,
  args: readonly string[] | undefined,
  options: RunOptions,
  deadline: number | undefined,
  handle: Handle,
): Promise<RunReport> {
  const { signal } = handle.aborted;
  const start = (own: RunOptions): Run =>
    handle.begin(startRun(file, args, { ...handle.amend(own), signal }, handle.look));
  // Nothing is minted for a run that does not begin.
  if (handle.isAborted) return await start(options);
  const closeEarly = (): void => {
    void broker.close();
  };
  signal.addEventListener('abort', closeEarly, { once: true });
  let delivered: DeliveredCredentials;
  try {
    delivered = await broker.open(deadline === undefined ? {} : { deadline });
  } catch (error) {
    // Not started, for the reason that the report then gives.
    if (handle.isAborted) return await start(options);
    throw error;
  } finally {
    signal.removeEventListener('abort', closeEarly);
  }
  const output = withoutPrototype(options.output ?? {});
  const running = start({
    ...options,
    env: addTo(resolveEnvironment(options.env), delivered),
    // A mask of the caller's own takes its place; `undefined` is none.
    ...(handle.masks ? { output: { ...output, mask: output.mask ?? (() => broker.mask()) } } : {}),
  });
  void running.started.then((pid) => {
    if (pid !== null) broker.admit(pid);
  });
  return running;
}
