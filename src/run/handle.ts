// What can be reached of a run under way, by its caller and by the command line.
import type { Child } from '../launch/child.js';
import type { OutputChannel } from './channel.js';
import type { Contained } from './containment.js';
import type { Ending, EndingKind } from './ending.js';

/** A run under way, for whoever shows it: the command line. */
export interface RunUnderWay {
  readonly child: Child;
  readonly stdout: OutputChannel;
  readonly stderr: OutputChannel;
  /** Ends it for this reason, where it is the first. */
  end(kind: EndingKind): void;
}

/** What the caller can reach of a run under way. */
export class Handle {
  ending: Ending | null = null;
  contained: Contained | null = null;
  readonly started: Promise<number | null>;
  readonly look: (running: RunUnderWay) => void;
  #tell!: (pid: number | null) => void;

  constructor(look: (running: RunUnderWay) => void) {
    this.look = look;
    this.started = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  start(contained: Contained): void {
    this.contained = contained;
    this.#tell(contained.child.pid);
  }

  close(): void {
    this.#tell(null);
    this.ending?.close();
  }
}
