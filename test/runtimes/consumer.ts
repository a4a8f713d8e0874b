// A package that has sallyport installed, and the programs of this folder, run by any runtime.
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';

import { spawn } from '../../src/index.js';
import { fixture, makeScratch, root } from '../support/fixtures.js';
import type { Printed } from '../support/programs.js';
import type { Runtime } from '../support/runtimes.js';

/** Where sallyport is installed or built: this checkout, unless SALLYPORT_PACKAGE says otherwise. */
export const packageDirectory = process.env['SALLYPORT_PACKAGE'] ?? root;

export interface Consumer {
  /** The programs are in it. */
  readonly directory: string;
  run(runtime: Runtime, words: readonly string[], options?: ConsumerOptions): Promise<Printed>;
}

export interface ConsumerOptions {
  readonly env?: Record<string, string>;
  /** On stdin. */
  readonly input?: string;
  /** Called with what was printed so far. */
  readonly onOutput?: (text: string, pid: number) => void;
}

/** @param installed the package itself, with what it depends on beside or in it */
export function prepareConsumer(installed = packageDirectory): Consumer {
  const directory = makeScratch();
  cpSync(path.join(import.meta.dirname, 'programs'), directory, { recursive: true });
  // Without one, Deno takes the files of a package for ES modules.
  writeFileSync(path.join(directory, 'package.json'), '{ "private": true }');
  mkdirSync(path.join(directory, 'node_modules'));
  symlinkSync(installed, path.join(directory, 'node_modules/sallyport'));
  return {
    directory,
    run: (runtime, words, options = {}) => runProgram(directory, runtime, words, options),
  };
}

/** The command line of the package, for `run`. */
export const COMMAND_LINE = 'node_modules/sallyport/dist/cli/main.js';

async function runProgram(
  cwd: string,
  { kind, command }: Runtime,
  words: readonly string[],
  { env = {}, input = '', onOutput }: ConsumerOptions,
): Promise<Printed> {
  const [file, ...args] = command;
  const child = spawn(file, [...args, ...words], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    noNewPrivileges: false,
    killSignal: 'SIGKILL',
    timeout: 90_000,
    env: {
      PATH: process.env['PATH'] ?? '',
      // Their caches.
      HOME: cwd,
      DENO_DIR: path.join(cwd, '.deno'),
      DENO_NO_UPDATE_CHECK: '1',
      NO_COLOR: '1',
      RUNTIME: kind,
      RUNTIME_COMMAND: JSON.stringify(command),
      TEST_NODE: process.execPath,
      WITNESS: fixture('witness'),
      TREE: fixture('tree'),
      STORM: fixture('storm.node'),
      ...env,
    },
  });
  child.stdin.end(input);
  if (onOutput !== undefined) {
    child.stdout.on('data', (piece: Buffer) => {
      onOutput(piece.toString(), child.pid);
    });
  }
  const [stdout, stderr, { code, signal }] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    child.exited,
  ]);
  return { code, signal, stdout, stderr };
}
