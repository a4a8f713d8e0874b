// The output of a run, line by line, as it comes.
import { splitArguments } from '../launch/spawn.js';
import { withoutPrototype } from '../own-properties.js';
import type { RunOptions } from './options.js';
import type { OutputOptions } from './output-options.js';
import { run, settled } from './run.js';
import { toError, type RunReport } from './report.js';

/** Lines of a program's stdout as they come, with the report at their end. */
export interface Lines extends AsyncIterable<string> {
  /** Once the run is over; the iteration ends then, too. */
  readonly report: Promise<RunReport>;
  /** For `await using`: ends the run where it is not over, and waits until it is. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** So many lines may wait for whoever reads them; then the child waits. */
const MOST_WAITING = 256;

/**
 * Runs a program and gives the lines of its stdout, without their newlines; with `merge`, those of
 * stderr as well. Whoever reads slowly holds the program up. Leaving the loop early ends the run.
 * Nothing of stdout is kept, unless `output` says so.
 *
 * @throws {SallyportError} from the loop, where the program could not be started. How it ended is in
 *   the report, and for the loop no error.
 */
export function runLines(file: string, options: RunOptions): Lines;
export function runLines(file: string, args?: readonly string[], options?: RunOptions): Lines;
export function runLines(
  file: string,
  argsOrOptions?: readonly string[] | RunOptions,
  options?: RunOptions,
): Lines {
  const [args, given] = splitArguments(argsOrOptions, options);
  const queue = new LineQueue();
  const running = run(file, args as readonly string[], withLines(given, queue.push));
  // Whoever iterates gets the rejection from the loop.
  running.catch(() => undefined).finally(queue.end);
  const end = (): void => {
    running.abort();
    queue.discard();
  };
  return {
    report: running,
    [Symbol.asyncDispose]: () => {
      end();
      return settled(running);
    },
    async *[Symbol.asyncIterator]() {
      try {
        yield* queue.lines();
        const { outcome } = await running;
        if (outcome.error !== undefined) throw toError(outcome.error);
      } finally {
        end();
      }
    },
  };
}

function withLines(given: unknown, to: (line: string) => Promise<void> | undefined): RunOptions {
  const options = withoutPrototype({ ...(given as RunOptions | undefined) });
  const output = withoutPrototype<OutputOptions>({ ...options.output });
  const stdout = withoutPrototype({ ...output.stdout });
  const keepsNothing = output.maxBytes === undefined && stdout.maxBytes === undefined;
  const kept = keepsNothing ? ({ maxBytes: 0, onExceed: 'truncate-and-continue' } as const) : {};
  output.stdout = { ...kept, ...stdout, to: to };
  return { ...options, output };
}

class LineQueue {
  #lines: string[] = [];
  #ended = false;
  #discarded = false;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  readonly push = (line: string): Promise<void> | undefined => {
    if (this.#discarded) return undefined;
    this.#lines.push(line);
    this.#wakeReader?.();
    if (this.#lines.length < MOST_WAITING) return undefined;
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
    });
  };

  readonly end = (): void => {
    this.#ended = true;
    this.#wakeReader?.();
  };

  /** Nobody reads any more. */
  discard(): void {
    this.#discarded = true;
    this.#lines = [];
    this.#wakeWriter?.();
  }

  async *lines(): AsyncGenerator<string, void> {
    for (;;) {
      const batch = this.#lines;
      this.#lines = [];
      this.#wakeWriter?.();
      yield* batch;
      if (this.#lines.length > 0) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
  }
}
