// Runs the blocks of one document, in their order and in one folder, as somebody would who copies them.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text as readAll } from 'node:stream/consumers';

import { makeScratch, root } from '../support/fixtures.js';
import { matchesOutput, type Block } from './blocks.js';

const DEADLINE = 60_000;

export interface Setting {
  folder: string;
  /** Of the programs; root starts them as nobody. */
  uid?: number | undefined;
  env: Record<string, string>;
  /** What stands in the place of what is written: a port that is free here. */
  replace?: (text: string) => string;
}

/** A folder in which the package is installed as a link, which is quick. */
export function makeLinkedProject(): Setting {
  const folder = makeScratch();
  const bin = path.join(folder, 'node_modules/.bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(root, path.join(folder, 'node_modules/sallyport'));
  symlinkSync(path.join(root, 'node_modules/vitest'), path.join(folder, 'node_modules/vitest'));
  symlinkSync(path.join(root, 'dist/cli/main.js'), path.join(bin, 'sallyport'));
  return { folder, env: { PATH: pathOf(folder) } };
}

export const pathOf = (folder: string): string =>
  [
    path.join(folder, 'node_modules/.bin'),
    path.dirname(process.execPath),
    '/usr/local/bin:/usr/bin:/bin',
  ].join(':');

function commandOf({ language, use, code }: Block, folder: string): [string, string[]] {
  if (use === 'vitest') {
    writeFileSync(path.join(folder, 'example.test.mjs'), code);
    const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
    return [process.execPath, [vitest, 'run', '--root', folder, 'example.test.mjs', '--globals']];
  }
  if (language === 'sh') return ['sh', ['-eu', '-c', code]];
  const name = /^import /m.test(code) ? 'example.mjs' : 'example.cjs';
  writeFileSync(path.join(folder, name), code);
  return [process.execPath, [name]];
}

export class StoryRun {
  readonly #setting: Setting;
  #servers: { block: Block; child: ChildProcess; ended: Promise<unknown> }[] = [];

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  /** @throws where the block does not do what the document says */
  async play(written: Block): Promise<void> {
    const { replace = (text: string) => text, folder } = this.#setting;
    const block = { ...written, code: replace(written.code) };
    if (written.output !== undefined) {
      block.output = { ...written.output, text: replace(written.output.text) };
    }
    await this.#endServersOf((heading) => heading !== block.heading);
    if (block.use === 'file') {
      writeFileSync(path.join(folder, block.name ?? ''), block.code);
    } else if (block.use === 'server') {
      await this.#serve(block);
    } else {
      await this.#run(block);
    }
  }

  /** Ends what was left running, also what a program of the document had left. */
  async close(): Promise<void> {
    await this.#endServersOf(() => true);
    for (const pid of findProcessesIn(this.#setting.folder)) process.kill(pid, 'SIGKILL');
  }

  #options() {
    const { folder, uid, env } = this.#setting;
    return { cwd: folder, env, ...(uid === undefined ? {} : { uid, gid: uid }) };
  }

  async #run(block: Block): Promise<void> {
    const [command, args] = commandOf(block, this.#setting.folder);
    const child = spawn(command, args, {
      ...this.#options(),
      timeout: DEADLINE,
      // No socket: bash takes one for a remote shell and reads the user's .bashrc.
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [status, stdout, stderr] = await Promise.all([
      new Promise<number | null>((resolve) => child.once('close', resolve)),
      readAll(child.stdout),
      readAll(child.stderr),
    ]);
    // npm and vitest tell on stderr how they are doing.
    const isQuiet = stderr === '' || block.use === 'install' || block.use === 'vitest';
    const isAsSaid = block.output === undefined || matchesOutput(stdout, block.output);
    if (status === 0 && isQuiet && isAsSaid) return;
    throw new Error(
      `ended with ${String(status)}\n--- stderr\n${stderr}\n--- stdout\n${stdout}\n--- the document says\n${block.output?.text ?? '(nothing)'}`,
    );
  }

  #serve(block: Block): Promise<void> {
    const [command, args] = commandOf(block, this.#setting.folder);
    const child = spawn(command, args, {
      ...this.#options(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    this.#servers.push({ block, child, ended });
    return new Promise((resolve, reject) => {
      let stdout = '';
      let stderr = '';
      const give = (what: string) =>
        reject(new Error(`${what}\n--- stderr\n${stderr}\n--- stdout\n${stdout}`));
      const timer = setTimeout(() => give('it did not print what it should'), DEADLINE);
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
        if (block.output !== undefined && !matchesOutput(stdout, block.output)) return;
        clearTimeout(timer);
        resolve();
      });
      void ended.then(() => {
        clearTimeout(timer);
        give('it has ended');
      });
    });
  }

  /** By `^C`, as the documents say. */
  async #endServersOf(isOver: (heading: string) => boolean): Promise<void> {
    const over = this.#servers.filter(({ block }) => isOver(block.heading));
    this.#servers = this.#servers.filter((server) => !over.includes(server));
    for (const { child, ended } of over) {
      if (child.exitCode === null && child.signalCode === null) {
        process.kill(-(child.pid ?? 0), 'SIGINT');
      }
      await ended;
    }
  }
}

function findProcessesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
