// The commands that look at processes: audit, leaks, listeners, holders.
import type { Command } from 'commander';

import type { AuditFlags } from './audit.js';
import type { ListenersFlags } from './listeners.js';

const CODES = `
Exit code: 0 nothing was found, 1 something was, 2 it could not be told, 125
sallyport failed or was called wrongly.`;

// Only when a command runs: help needs nothing of the library. By import() it would take longer.
/* eslint-disable @typescript-eslint/no-require-imports */

export function addAuditCommands(program: Command): void {
  addAudit(program);
  addLeaks(program);
  addListeners(program);
  addHolders(program);
}

function addAudit(program: Command): void {
  program
    .command('audit')
    .summary('show what a process has open')
    .description('Shows each descriptor of a process, and compares them with a launch plan.')
    .argument('[pid]', 'the process')
    .option('--tree', 'all below it as well, orphans included')
    .option('--against <FILE>', "compare with a plan, as 'run --explain --json' prints it")
    .option('--watch', 'show what appears and vanishes, until the process ends')
    .option('--interval <MS>', 'with --watch: milliseconds between two looks (default: 500)')
    .option('--html <FILE>', 'with --tree: write one page that draws it, for a browser')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
EXEC: whether the number is closed or kept when the process starts another
program. ORIGIN: inherited from its parent, or its own. A number with ! is not
named by the plan, or is something else than it says.
${CODES}

Examples:
  sallyport audit 4242
  sallyport audit 4242 --tree --html tree.html
  sallyport run --explain --json ./server > plan.json
  sallyport audit 4242 --against plan.json`,
    )
    .action(async (pid: string | undefined, flags: AuditFlags) => {
      const { audit } = require('./audit.js') as typeof import('./audit.js');
      process.exitCode = await audit(pid, flags);
    });
}

function addLeaks(program: Command): void {
  program
    .command('leaks')
    .summary('show what the next child of a process would be handed')
    .description(
      'Shows what is open without close-on-exec beyond 0, 1 and 2 in a process; without a process, ' +
        'in the one that started this command. With a Node program: runs it, and shows what a plain ' +
        'spawn would have handed to each child that it started by child_process.',
    )
    .usage('[options] [pid]\n       sallyport leaks [options] -- <command> [args...]')
    .argument('[what...]', 'the process, or after -- a program and its arguments')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `${CODES} That of the program does not count.

Examples:
  sallyport leaks 4242
  sallyport leaks -- node app.js
  sallyport leaks --json -- npm test`,
    )
    .action(async (what: string[], flags: { json?: boolean }) => {
      if (process.argv.includes('--')) {
        const { leaksOfProgram } =
          require('./leaks-of-program.js') as typeof import('./leaks-of-program.js');
        process.exitCode = await leaksOfProgram(what, flags);
        return;
      }
      const { leaks } = require('./leaks.js') as typeof import('./leaks.js');
      process.exitCode = leaks(what, flags);
    });
}

function addListeners(program: Command): void {
  program
    .command('listeners')
    .summary('show who listens, and free a port that a stray child holds')
    .description(
      'Shows every listening socket and who has it: the owner, which accepts on it, and copies in ' +
        'processes that do nothing with it. With a port: why a bind to it fails now.',
    )
    .argument('[port]', 'only this TCP port')
    .option('--release', 'free the port from copies; their holders live on')
    .option('--yes', 'with --release: do not ask')
    .option(
      '--force',
      'with --release: also from a server, which is deaf afterwards, and is to be ended',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `${CODES} With a port, 1 means that it is not
free; without one, that somebody holds a copy.

Examples:
  sallyport listeners
  sallyport listeners 8080
  sallyport listeners 8080 --release`,
    )
    .action(async (port: string | undefined, flags: ListenersFlags) => {
      const { listeners } = require('./listeners.js') as typeof import('./listeners.js');
      process.exitCode = await listeners(port, flags);
    });
}

function addHolders(program: Command): void {
  program
    .command('holders')
    .summary('show who has a path or a port open')
    .description(
      'Shows each process that has a file, directory, device, FIFO, Unix socket or port open.',
    )
    .argument('[what]', 'a path, or a port; a file named like a port is written ./8080')
    .option('--json', 'as JSON')
    .addHelpText('after', CODES)
    .action((what: string | undefined, flags: { json?: boolean }) => {
      const { holders } = require('./holders.js') as typeof import('./holders.js');
      process.exitCode = holders(what, flags);
    });
}
