// The channels of a run that are files, in the place of its pipes.
import { withoutPrototype } from '../own-properties.js';
import type { RawOptions } from '../plan/options.js';
import { openOutputFile, type OutputFile } from './output-file.js';
import type { OutputWish } from './output-options.js';

export class OutputFiles {
  stdout: OutputFile | null = null;
  stderr: OutputFile | null = null;
  #isMerged = false;

  /** @throws {SallyportError} what the system refuses; `close` closes the rest */
  open({ stdout, stderr, merge }: OutputWish, program: string): void {
    this.#isMerged = merge;
    this.stdout = openOutputFile(stdout, 'stdout', program);
    this.stderr = openOutputFile(stderr, 'stderr', program);
  }

  /** The plan's options with what the program is to have. */
  place(plan: RawOptions): RawOptions {
    if (this.stdout === null && this.stderr === null) return plan;
    const entries = Array.isArray(plan.stdio) ? (plan.stdio as unknown[]).slice() : [];
    if (this.stdout !== null) {
      entries[1] = this.stdout.childEnd;
      if (this.#isMerged) entries[2] = this.stdout.childEnd;
    }
    if (this.stderr !== null) entries[2] = this.stderr.childEnd;
    return withoutPrototype({ ...plan, stdio: entries });
  }

  close(): void {
    this.stdout?.close();
    this.stderr?.close();
  }
}
