// One driver as a long-lived process: starting it is never part of a measurement.
//
// A request is one line, its fields parted by tabs; the answer is one line of JSON, times in ns:
//   calls FILE COUNT                    { blocked: [...], exited: [...], busy: [mean]? }  one child after the other
//   throughput FILE IN_FLIGHT COUNT     { elapsed }
//   read POUR BYTES                     { elapsed, bytes }
//   write POUR BYTES                    { elapsed, bytes }
//   live POUR COUNT, release            {}   that many children with three pipes, until released
//   buffers|objects MIB                 {}   memory that stays, all of it touched
//   descriptors COUNT                   {}   descriptors that stay open
// The first line, unasked, is { version }. A driver ends when its stdin does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const DEADLINE_MS = 120_000;

export class DriverProcess {
  #child;
  #lines;
  #problem = '';

  constructor(definition) {
    this.definition = definition;
    const [file, ...args] = definition.command;
    this.#child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.once('error', (error) => {
      this.#problem = String(error);
    });
    // An answer that never comes is reported by #nextLine; a late EPIPE adds nothing.
    this.#child.stdin.on('error', () => {});
    this.#child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#problem = (this.#problem + text).slice(-2000);
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async start(definition) {
    const driver = new DriverProcess(definition);
    const { version } = await driver.#nextLine();
    driver.version = version;
    return driver;
  }

  get pid() {
    return this.#child.pid;
  }

  async #nextLine() {
    const late = setTimeout(() => {
      this.#problem += `no answer within ${DEADLINE_MS / 1000} s`;
      this.#child.kill('SIGKILL');
    }, DEADLINE_MS);
    const { value, done } = await this.#lines.next();
    clearTimeout(late);
    if (done) throw new Error(this.#problem.trim() || 'the driver ended');
    return JSON.parse(value);
  }

  async request(...fields) {
    this.#child.stdin.write(`${fields.join('\t')}\n`);
    const answer = await this.#nextLine();
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  async end() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    if (this.#child.pid === undefined) return;
    const exited = once(this.#child, 'exit');
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(late);
  }
}
