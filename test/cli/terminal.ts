// A terminal with somebody at its keyboard: sends keys, waits for what appears.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { root } from '../support/fixtures.js';
import { readStat } from '../support/processes.js';

export const cli = path.join(root, 'dist/cli/main.js');

/** How long anything may take to appear; a test that passes never waits for it. */
const DEADLINE = 15_000;

export const KEYS = { interrupt: '\x03', quit: '\x1c', stop: '\x1a', end: '\x04' } as const;

export interface Ending {
  exited?: number;
  signaled?: number;
}

export class KeyboardTerminal implements AsyncDisposable {
  pid = 0;
  ended: Promise<Ending>;
  #driver;
  #seen = '';
  #at = 0;
  #wake: () => void = () => undefined;
  #isOver = false;

  private constructor(command: readonly string[], env: Record<string, string>) {
    this.#driver = spawn(
      'python3',
      [path.join(import.meta.dirname, 'pty_driver.py'), '24', '80', ...command],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: '/',
          LC_ALL: 'C',
          TERM: 'dumb',
          HISTFILE: '',
          ...env,
        },
      },
    );
    this.ended = new Promise((resolve) => {
      createInterface(this.#driver.stdout).on('line', (line) => {
        const message = JSON.parse(line) as Ending & { pid?: number; out?: string };
        if (message.pid !== undefined) this.pid = message.pid;
        else if (message.out !== undefined) this.#seen += message.out;
        else resolve(message);
        this.#wake();
      });
      this.#driver.once('close', () => {
        this.#isOver = true;
        this.#wake();
        resolve({});
      });
    });
  }

  /** The command itself is the session's leader, with no shell around it. */
  static async open(
    command: readonly string[],
    env: Record<string, string> = {},
  ): Promise<KeyboardTerminal> {
    const terminal = new KeyboardTerminal(command, env);
    await terminal.#until(() => terminal.pid !== 0, 'the command to start');
    return terminal;
  }

  /** A shell with job control. `$S` is `sallyport`; the prompt is `<exit code>$ `. */
  static async shell(command: readonly string[]): Promise<KeyboardTerminal> {
    const terminal = await KeyboardTerminal.open(command, { S: `${process.execPath} ${cli}` });
    // Not by the environment: python3 may be a bash script, which drops PS1.
    terminal.type("PS1='<$?>$ '");
    await terminal.expect('<0>$ ');
    return terminal;
  }

  send(keys: string): void {
    this.#tell({ send: keys });
  }

  /** A line at the prompt. What it prints must differ from its text, which the terminal echoes. */
  type(line: string): void {
    this.send(`${line}\r`);
  }

  resize(rows: number, columns: number): void {
    this.#tell({ resize: [rows, columns] });
  }

  hangUp(): void {
    this.#tell({ hangUp: true });
  }

  /** Waits until it appears after what was last waited for. */
  async expect(wanted: string | RegExp): Promise<RegExpExecArray> {
    const pattern = typeof wanted === 'string' ? new RegExp(escape(wanted)) : wanted;
    let match: RegExpExecArray | null = null;
    await this.#until(
      () => (match = pattern.exec(this.#seen.slice(this.#at))) !== null,
      String(pattern),
    );
    const found = match as unknown as RegExpExecArray;
    this.#at += found.index + found[0].length;
    return found;
  }

  /** What appeared since it was last waited for. */
  get unread(): string {
    return this.#seen.slice(this.#at);
  }

  /** The terminal's foreground process group. */
  foreground(): number {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[5]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#driver.stdin.end();
    await this.ended;
  }

  #tell(message: object): void {
    this.#driver.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #until(isDone: () => boolean, what: string): Promise<void> {
    const from = Date.now();
    while (!isDone()) {
      const left = from + DEADLINE - Date.now();
      if (left <= 0 || this.#isOver) {
        const why = this.#isOver ? 'the terminal was closed' : `${DEADLINE} ms passed`;
        throw new Error(
          `waited for ${what}, and ${why}; seen since the last wait:\n${this.unread}\n--- before:\n${this.#seen.slice(0, this.#at)}`,
        );
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** The processes of a process group. */
export function listGroup(pgid: number) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => readStat(Number(pid)) ?? [])
    .filter((stat) => stat.pgid === pgid);
}
