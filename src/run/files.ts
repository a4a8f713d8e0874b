// The files of a run: opened before its start, so that what is missing is known then.
import { closeSync } from 'node:fs';
import { Readable } from 'node:stream';

import type { OutputChannel } from './channel.js';
import { Feeder, type InputSource } from './input.js';
import type { InputWish, RunWish } from './options.js';
import { OutputFiles } from './output-files.js';
import type { ChannelWish } from './output-options.js';
import { Patience } from './patience.js';
import { appendRecord, openInputFile, openOutputFile, openRecord } from './record.js';
import type { RunReport } from './report.js';
import { sinkToFile, sinkToLines, sinkToStream, type Sink } from './sink.js';

/** @throws {SallyportError} what the system refuses; nothing stays open then */
export function openFiles(wish: RunWish, program: string): OpenFiles {
  const files = new OpenFiles(wish.record);
  try {
    files.open(wish, program);
    return files;
  } catch (error) {
    files.close();
    throw error;
  }
}

export class OpenFiles {
  stdout: Sink | null = null;
  stderr: Sink | null = null;
  input = new Feeder(undefined);
  readonly outputs = new OutputFiles();
  #recordFd: number | null = null;
  readonly #record: string | undefined;

  constructor(record: string | undefined) {
    this.#record = record;
  }

  open({ input, output, record }: RunWish, program: string): void {
    if (record !== undefined) this.#recordFd = openRecord(record, program);
    this.input = new Feeder(openSource(input, program));
    this.outputs.open(output, program);
    this.stdout = openSink(output.stdout, program);
    this.stderr = openSink(output.stderr, program);
  }

  /** Until all has been delivered; or, once the run is being ended, for so long. */
  async flush(
    channels: { stdout: OutputChannel; stderr: OutputChannel },
    begun: Promise<void>,
    time: number,
  ): Promise<void> {
    await Promise.all([
      flushSink(this.stdout, channels.stdout, begun, time),
      flushSink(this.stderr, channels.stderr, begun, time),
    ]);
    this.stdout = null;
    this.stderr = null;
  }

  /** @throws {SallyportError} */
  async appendRecord(report: RunReport): Promise<void> {
    const fd = this.#recordFd;
    this.#recordFd = null;
    if (fd !== null) await appendRecord(fd, report, this.#record ?? '');
  }

  /** What nobody has taken. */
  close(): void {
    this.stdout?.abandon();
    this.stderr?.abandon();
    this.input.stop();
    this.outputs.close();
    if (this.#recordFd !== null) closeSync(this.#recordFd);
    this.#recordFd = null;
  }
}

function openSource(input: InputWish | undefined, program: string): InputSource | undefined {
  if (typeof input !== 'object' || input instanceof Uint8Array || input instanceof Readable) {
    return input;
  }
  return { fd: openInputFile(input.file, program) };
}

function openSink({ to }: ChannelWish, program: string): Sink | null {
  if (to === undefined) return null;
  if (typeof to === 'function') return sinkToLines(to);
  if (typeof to === 'string') return sinkToFile(openOutputFile(to, program));
  return sinkToStream(to);
}

async function flushSink(
  sink: Sink | null,
  channel: OutputChannel,
  begun: Promise<void>,
  time: number,
): Promise<void> {
  if (sink === null) return;
  const delivered = sink.end().then(() => true);
  let isDelivered = await Promise.race([delivered, begun]);
  if (isDelivered !== true) {
    const patience = new Patience(time);
    isDelivered = await Promise.race([delivered, patience.over]);
    patience.cancel();
  }
  if (isDelivered !== true) sink.abandon();
  channel.checkSink();
}
