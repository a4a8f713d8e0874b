// Several runs side by side, each reading what the one before it writes, by pipes of the kernel.
import { closeOpened } from '../descriptor-io.js';
import { invalid, systemError } from '../errors.js';
import { adviseLimit } from '../limits.js';
import { findClosed } from '../launch/held.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { itemsOf, typeName, withoutPrototype } from '../own-properties.js';
import type { RunOptions } from './options.js';
import { startRun, type Run } from './run.js';
import type { RunReport } from './report.js';

/** A program, its arguments, and what is special to it. */
export type PipelineStage = readonly [
  file: string,
  args?: readonly string[],
  options?: Omit<RunOptions, 'stdio' | 'input'>,
];

/** What several programs came to that were joined by pipes. */
export interface PipelineReport {
  /** In the order of the stages. */
  readonly stages: readonly RunReport[];
  /** The last stage that did not exit with 0, as the shell's `pipefail` has it; null: none. */
  readonly failed: number | null;
  /** Of the last stage: what the pipeline gives. */
  readonly output: RunReport['output'];
  /** Whether every stage's report is. */
  readonly complete: boolean;
}

/**
 * Runs all stages at once, each reading what the one before it writes, pipe(7). Our process does not touch what goes from one to the next.
 *
 * @param options for every stage where it does not say otherwise; `input` is for the first
 * @throws {SallyportTypeError | SallyportError} a mistake of the caller, as a rejection, once the stages
 *   that had begun have been ended
 */
export async function runPipeline(
  stages: readonly PipelineStage[],
  options: Omit<RunOptions, 'stdio'> = {},
): Promise<PipelineReport> {
  const runs = startStages(takeStages(stages), options);
  // A mistake in one: the others are ended, and waited for.
  for (const stage of runs) {
    stage.catch(() => {
      for (const other of runs) other.abort();
    });
  }
  const settled = await Promise.allSettled(runs);
  const reports = settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
  const failed = reports.findLastIndex(
    ({ outcome }) => outcome.kind !== 'exited' || outcome.code !== 0,
  );
  return {
    stages: reports,
    failed: failed === -1 ? null : failed,
    output: (reports.at(-1) as RunReport).output,
    complete: reports.every(({ complete }) => complete),
  };
}

function startStages(stages: readonly PipelineStage[], shared: RunOptions): Run[] {
  const { input, ...common } = withoutPrototype(shared);
  const closed = stages.map(([file, , own]) =>
    findClosed(file, withoutPrototype({ ...common, ...own })),
  );
  // All of them before the first stage is started: what is refused here leaves nothing behind.
  const pipes = openPipes(stages.length - 1, stages[0]?.[0] ?? '');
  try {
    return stages.map(([file, args, own], index) =>
      startRun(
        file,
        args,
        {
          ...common,
          ...own,
          ...(index === 0 && input !== undefined ? { input } : {}),
          stdio: [pipes[index - 1]?.[0], pipes[index]?.[1], undefined],
        },
        () => undefined,
        closed[index],
      ),
    );
  } finally {
    // Taken by now. Kept open here, an end would never be seen by the other side.
    closeOpened(...pipes.flat());
  }
}

type Pipe = readonly [readEnd: number, writeEnd: number];

function openPipes(count: number, file: string): Pipe[] {
  const pipes: Pipe[] = [];
  for (let index = 0; index < count; index += 1) {
    const pipe = native().openPipe();
    if (isFailure(pipe)) {
      closeOpened(...pipes.flat());
      throw systemError(pipe.errno, 'pipe2', adviseLimit(pipe.errno), {
        syscall: `spawn ${file}`,
        path: file,
        stage: 'descriptor',
        stageSource: 'reported',
      });
    }
    pipes.push(pipe);
  }
  return pipes;
}

function takeStages(stages: unknown): readonly PipelineStage[] {
  if (!Array.isArray(stages) || stages.length === 0) {
    throw wrong('stages', 'an array of [file, args, options]');
  }
  return itemsOf(stages).map((stage, index) => {
    if (Array.isArray(stage) && stage.length > 0 && stage.length <= 3) {
      return stage as unknown as PipelineStage;
    }
    throw wrong(`stages[${index}]`, `[file, args, options], not ${typeName(stage)}`);
  });
}

function wrong(option: string, instead: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, `must be ${instead}`);
}
