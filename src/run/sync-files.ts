// The files of a run without the event loop: opened before its start, so that what is missing is known.
import { closeSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';

import { invalid } from '../errors.js';
import type { SyncWait } from '../launch/sync-wait.js';
import type { InputWish, RunWish } from './options.js';
import { OutputFiles } from './output-files.js';
import type { ChannelWish } from './output-options.js';
import { appendRecordSync, openInputFile, openOutputFile, openRecord } from './record.js';
import type { RunReport } from './report.js';
import { SyncFeeder, type SyncSource } from './sync-input.js';
import { SyncFileSink, SyncLineSink, type SyncSink } from './sync-sink.js';

/** @throws {SallyportTypeError} for what only the event loop could serve */
export function requireSynchronous({ signal, input, output, admission }: RunWish): void {
  if (admission !== null) {
    throw needsLoop('profile', 'a review hashes the program beside the event loop');
  }
  if (signal !== undefined) {
    throw needsLoop('signal', 'nothing could abort it meanwhile: write deadline');
  }
  if (input instanceof Readable) {
    throw needsLoop('input', 'a stream is fed by the event loop: give bytes or { file }');
  }
  if (output.stdout.mask !== undefined) {
    throw needsLoop('output.mask', 'who mints secrets needs the event loop as well');
  }
  for (const name of ['stdout', 'stderr'] as const) {
    if (output[name].to instanceof Writable) {
      throw needsLoop(
        `output.${name}.to`,
        'a stream is written by the event loop: give a path or a function',
      );
    }
  }
}

function needsLoop(option: string, why: string): Error {
  return invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    option,
    `cannot be had from runSync, which holds the event loop up: ${why}; or use run`,
  );
}

/** @throws {SallyportError} what the system refuses; nothing stays open then */
export function openSyncFiles(wish: RunWish, program: string, wait: SyncWait): SyncFiles {
  const files = new SyncFiles(wish.record, wait);
  try {
    files.open(wish, program, wait);
    return files;
  } catch (error) {
    files.close();
    throw error;
  }
}

export class SyncFiles {
  stdout: SyncSink | null = null;
  stderr: SyncSink | null = null;
  input: SyncFeeder;
  readonly outputs = new OutputFiles();
  #recordFd: number | null = null;
  readonly #record: string | undefined;

  constructor(record: string | undefined, wait: SyncWait) {
    this.#record = record;
    this.input = new SyncFeeder(undefined, wait);
  }

  open({ input, output, record }: RunWish, program: string, wait: SyncWait): void {
    if (record !== undefined) this.#recordFd = openRecord(record, program);
    this.input = new SyncFeeder(openSource(input, program), wait);
    this.outputs.open(output, program);
    this.stdout = openSink(output.stdout, program);
    this.stderr = openSink(output.stderr, program);
  }

  /** @throws {SallyportError} */
  appendRecord(report: RunReport): void {
    const fd = this.#recordFd;
    this.#recordFd = null;
    if (fd !== null) appendRecordSync(fd, report, this.#record ?? '');
  }

  /** What nobody has taken. Sinks that have ended are left as they are. */
  close(): void {
    this.input.stop();
    this.outputs.close();
    for (const sink of [this.stdout, this.stderr]) if (sink?.fd !== null) sink?.end();
    if (this.#recordFd !== null) closeSync(this.#recordFd);
    this.#recordFd = null;
  }
}

function openSource(input: InputWish | undefined, program: string): SyncSource | undefined {
  if (input === undefined || input instanceof Uint8Array) return input;
  if (typeof input === 'string') return Buffer.from(input);
  if (input instanceof Readable) throw new Error('a stream was refused before');
  return { fd: openInputFile(input.file, program) };
}

function openSink({ to }: ChannelWish, program: string): SyncSink | null {
  if (to === undefined) return null;
  if (typeof to === 'function') return new SyncLineSink(to);
  if (typeof to === 'string') {
    return new SyncFileSink(openOutputFile(to, program));
  }
  throw new Error('a stream was refused before');
}
