// One output channel of a run that is a file: looked at meanwhile, read and hashed at the end.
import { loopTimers } from '../launch/timers.js';
import type { OutputChannel } from './channel.js';
import { reportChannel } from './channel-report.js';
import { Hasher } from './hash.js';
import { Keeper } from './keeper.js';
import type { OutputFile } from './output-file.js';
import type { ChannelWish } from './output-options.js';
import type { ChannelReport } from './report.js';

/** With the part of `Channel` that there is to a file: nothing has to be read while the program runs. */
export class FileChannel implements OutputChannel {
  readonly stream = null;
  readonly isOpen = false;
  readonly closed = Promise.resolve();
  readonly #file: OutputFile;
  readonly #wish: ChannelWish;

  constructor(file: OutputFile, wish: ChannelWish, onExceeded: () => void) {
    this.#file = file;
    this.#wish = wish;
    file.closeChildEnd();
    file.watch(loopTimers, (size) => {
      if (size > wish.maxBytes && wish.onExceed === 'end') onExceeded();
    });
  }

  get bytesSeen(): number {
    return this.#file.look();
  }

  get lastOutput(): number {
    this.#file.look();
    return this.#file.lastOutput;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {
    // It was never read.
  }

  checkSink(): void {
    // There is none.
  }

  async report(isTooLate: () => boolean): Promise<ChannelReport> {
    this.#file.stopLooking();
    const keeper = new Keeper(this.#wish.keep, this.#wish.maxBytes);
    const hasher = new Hasher();
    const heldBy = this.#file.listHolders();
    let bytesSeen = 0;
    let error: Error | null = null;
    let isCut = false;
    try {
      const size = this.#file.look();
      for await (const piece of this.#file.read(size)) {
        bytesSeen += piece.length;
        keeper.add(piece);
        await hasher.add(piece);
        if ((isCut = bytesSeen < size && isTooLate())) break;
      }
    } catch (thrown) {
      error = thrown as Error;
    }
    const sha256 = await hasher.digest().catch(() => '');
    this.#file.close();
    const end = error !== null || isCut ? 'cut' : heldBy.length > 0 ? 'held' : 'eof';
    const sink = error === null ? null : { error };
    return reportChannel({
      observed: true,
      bytesSeen,
      kept: keeper.take(),
      sha256,
      end,
      heldBy,
      sink,
    });
  }
}
