// Why a run is ended by us: the first reason counts, whatever comes after it.
import { Cancellation } from '../launch/cancellation.js';
import type { Contained } from './containment.js';
import type { RunWish } from './options.js';
import type { StallEvidence } from './stall.js';

export type EndingKind = 'deadline' | 'stalled' | 'output-limit' | 'aborted';

export class Ending {
  kind: EndingKind | undefined;
  stall: StallEvidence | undefined;
  /** A listener of the caller's has thrown: the run was ended for it, and rejects with it. */
  fault: Error | undefined;
  /** Resolves with the first reason. */
  readonly begun: Promise<void>;
  /** Takes back a launch that is under way. */
  readonly launch = new Cancellation();

  readonly #grace: number;
  #resolve!: () => void;
  #contained: Contained | undefined;
  readonly #undo: Array<() => void> = [];

  constructor({ grace, deadline, signal }: RunWish) {
    this.#grace = grace;
    this.begun = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (signal?.aborted === true) this.begin('aborted');
    if (deadline !== undefined) {
      // It keeps the process running: after the child's end the run may be waiting for somebody who
      // reads along and does not, such as a listener's promise.
      const timer = setTimeout(() => this.begin('deadline'), deadline);
      this.onClose(() => clearTimeout(timer));
    }
    const abort = (): void => this.begin('aborted');
    signal?.addEventListener('abort', abort, { once: true });
    this.onClose(() => signal?.removeEventListener('abort', abort));
  }

  begin(kind: EndingKind): void {
    if (this.kind !== undefined) return;
    this.kind = kind;
    if (this.#contained === undefined) this.launch.cancel();
    else this.#contained.end(this.#grace);
    this.#resolve();
  }

  /** There is something to end now. */
  attach(contained: Contained): void {
    this.#contained = contained;
    if (this.kind !== undefined) contained.end(this.#grace);
  }

  onClose(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Too late for any further reason. */
  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }
}
