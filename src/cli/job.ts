// What `sallyport run` is to its child: who gets which signal, and who stops with whom.
import type { Child } from '../launch/child.js';
import type { ExitStatus } from '../launch/outcomes.js';
import type { Session } from '../plan/session.js';

/** Made before the child, so that no signal finds us without a handler and the child without us. */
export interface Job {
  readonly session: Session;
  /** The terminal that the child is to have from its first moment, by its number. Until it starts it may change. */
  readonly foreground: number | undefined;
  /** Called before this process stops with its child. */
  beforeStop?: (() => void) | undefined;
  /** Where its output comes through us: what it has printed by now has been passed on. */
  passedOn?: (() => Promise<void>) | undefined;
  watch(child: Child): void;
  /** The child could not be started: `foreground` is undefined from now on. */
  abandon(): void;
  /** The child has ended. May end this process too, by the signal that ended the child. */
  end(status: ExitStatus): void | Promise<void>;
}
