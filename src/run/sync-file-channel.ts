// One output channel of a run without the event loop that is a file: read and hashed at the end.
import type { Timers } from '../launch/timers.js';
import { reportChannel } from './channel-report.js';
import { startHash } from './hash.js';
import { Keeper } from './keeper.js';
import type { OutputFile } from './output-file.js';
import type { ChannelWish } from './output-options.js';
import type { ChannelReport } from './report.js';

/** With the part of `SyncChannel` that there is to a file. */
export class SyncFileChannel {
  readonly isOpen = false;
  readonly isDelivered = true;
  readonly inode = undefined;
  readonly #file: OutputFile;
  readonly #wish: ChannelWish;

  constructor(file: OutputFile, wish: ChannelWish, onExceeded: () => void, timers: Timers) {
    this.#file = file;
    this.#wish = wish;
    file.closeChildEnd();
    file.watch(timers, (size) => {
      if (size > wish.maxBytes && wish.onExceed === 'end') onExceeded();
    });
  }

  get lastOutput(): number {
    this.#file.look();
    return this.#file.lastOutput;
  }

  drain(): void {
    // There is nothing between the program and the file.
  }

  stop(): void {
    // It was never read.
  }

  finish(): void {
    this.#file.stopLooking();
  }

  report(isTooLate: () => boolean): ChannelReport {
    const keeper = new Keeper(this.#wish.keep, this.#wish.maxBytes);
    const hash = startHash();
    const heldBy = this.#file.listHolders();
    let bytesSeen = 0;
    let error: Error | null = null;
    let isCut = false;
    try {
      const size = this.#file.look();
      for (const piece of this.#file.readSync(size)) {
        bytesSeen += piece.length;
        keeper.add(piece);
        hash.update(piece);
        if ((isCut = bytesSeen < size && isTooLate())) break;
      }
    } catch (thrown) {
      error = thrown as Error;
    }
    this.#file.close();
    return reportChannel({
      observed: true,
      bytesSeen,
      kept: keeper.take(),
      sha256: hash.digest('hex'),
      end: error !== null || isCut ? 'cut' : heldBy.length > 0 ? 'held' : 'eof',
      heldBy,
      sink: error === null ? null : { error },
    });
  }
}
