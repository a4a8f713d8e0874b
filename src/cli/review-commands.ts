// The commands about what was approved and what was done: review, profile, report.
import type { Command } from 'commander';

import type { ReportFlags } from './report.js';
import type { ReviewFlags } from './review.js';
import type { RunFlags } from './run-options.js';

// Only when a command runs: help needs nothing of the library. By import() it would take longer.
/* eslint-disable @typescript-eslint/no-require-imports */

export function addReviewCommands(program: Command): void {
  addReview(program);
  addProfile(program);
  addReport(program);
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** Those of `run` that say what is asked for. */
function addLaunchOptions(command: Command): Command {
  return command
    .option('--pass <N[=M]>', 'also pass descriptor N, as number M (repeatable)', collect)
    .option('--env <NAME[=VALUE]>', 'also pass variable NAME (repeatable)', collect)
    .option('--cwd <DIR>', 'start in this directory')
    .option('--session <new|group|inherit>', 'session of the program')
    .option('--allow-new-privileges', 'let setuid programs such as sudo work');
}

function addReview(program: Command): void {
  addLaunchOptions(
    program
      .command('review')
      .summary('compare a launch with an approved profile, and start nothing')
      .description(
        'Compares the launch that is asked for with a profile, gate by gate. Without a command the ' +
          'profile says what is asked for.',
      )
      .usage('[options] [--] [command] [args...]')
      .argument('[command]', 'the program, as run has it')
      .argument('[args...]', 'its arguments'),
  )
    .option('--profile <FILE>', 'what was approved')
    .option(
      '--cards',
      'play eight cards on it, each of which changes one condition; without a profile on the ' +
        'example that comes with sallyport',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
A gate accepts, holds (it is not known whether this is what was approved) or
rejects (it is more than was approved). What no review can tell is not assessed.

Exit code: 0 accepted, 1 held, 2 rejected; with --cards 0 where each was decided
as it says, else 1; 125 sallyport failed or was called wrongly.

Examples:
  sallyport review --cards
  sallyport review --profile summary.json < notes.txt`,
    )
    .passThroughOptions()
    .action(async (file: string | undefined, args: string[], flags: ReviewFlags) => {
      const { reviewLaunch } = require('./review.js') as typeof import('./review.js');
      process.exitCode = await reviewLaunch(file, args, flags);
    });
}

function addProfile(program: Command): void {
  const profile = program
    .command('profile')
    .summary('draft and check profiles')
    .description('A profile says what was approved of a launch, and holds no secret.');
  addLaunchOptions(
    profile
      .command('draft')
      .summary('draft a profile of a launch, to be read and edited')
      .description(
        'Prints a profile of the launch that is written. It says what is, not what should be: read ' +
          "it, and replace each 'to be stated'. What is redirected to stdin becomes its input; stdout " +
          'and stderr are pipes.',
      )
      .usage('[options] [--] <command> [args...]')
      .argument('<command>', 'the program, as run has it')
      .argument('[args...]', 'its arguments'),
  )
    .passThroughOptions()
    .action((file: string, args: string[], flags: RunFlags) => {
      const { draft } = require('./review.js') as typeof import('./review.js');
      process.exitCode = draft(file, args, flags);
    });
  profile
    .command('check')
    .summary('check the form of a profile')
    .description('Says what is wrong with a profile, or what it is of.')
    .argument('<file>', 'the profile')
    .action((file: string) => {
      const { check } = require('./review.js') as typeof import('./review.js');
      process.exitCode = check(file);
    });
  profile
    .command('schema')
    .summary('print the JSON Schema of profiles')
    .description('Prints the JSON Schema of profiles, or writes it to a file.')
    .argument('[file]', 'where to write it')
    .action((file: string | undefined) => {
      const { printSchema } = require('./review.js') as typeof import('./review.js');
      process.exitCode = printSchema(file);
    });
}

function addReport(program: Command): void {
  program
    .command('report')
    .summary('print records of runs, compare two, or check a chain of them')
    .description(
      'Prints the last record of a file. With two files: what differs between their last records.',
    )
    .argument('<file>', "records of runs, one line of JSON each, as 'run --report' writes them")
    .argument('[other]', 'the records to compare with')
    .option('--number <N>', 'the Nth record of each file instead of the last')
    .option('--verify', 'check that each record carries the digest of the one before')
    .option('--kept <DIGEST>', 'with --verify: the last digest of an earlier look must be there')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Exit code: 0; with two files 1 where they differ; with --verify 1 where the
chain is broken or lacks the kept digest; 125 sallyport failed or was called
wrongly. A chain that is whole says nothing of records that were cut off at its
end: keep its last digest elsewhere, and give it as --kept at the next look.

Examples:
  sallyport report runs.jsonl
  sallyport report before.jsonl after.jsonl
  sallyport report --verify runs.jsonl`,
    )
    .action((file: string, other: string | undefined, flags: ReportFlags) => {
      const { report } = require('./report.js') as typeof import('./report.js');
      process.exitCode = report(file, other, flags);
    });
}
