// Pins a program: a sealed copy in memory, hashed, so that what was hashed is what runs.
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { constants } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { readOpened, writeOpened } from '../descriptor-io.js';
import { invalid, refused, systemError } from '../errors.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { takeOwn } from '../own-properties.js';
import { PinnedExecutable } from '../plan/pinned.js';
import { readInterpreter } from '../plan/interpreter.js';

/** So that the hashing of one piece holds the event loop up for less than half a millisecond. */
const PIECE = 256 * 1024;

/**
 * Copies a program into memory, seals the copy (nobody can change it any more, memfd_create(2)) and
 * hashes it. The file itself may be overwritten or replaced after that: the copy runs. Its shared
 * libraries and its loader are not in the copy.
 *
 * @param path absolute path of a native program
 * @param options `sha256`: the hash that it must have, 64 hexadecimal digits
 * @throws {SallyportError} `ERR_SALLYPORT_NOT_PINNABLE` for scripts, whose interpreter would be the
 *   program, and for another hash; what the system refuses
 */
export async function pinExecutable(
  path: string,
  options?: { readonly sha256?: string },
): Promise<PinnedExecutable> {
  if (typeof path !== 'string' || !path.startsWith('/') || path.includes('\0')) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'path', 'must be an absolute path');
  }
  const expected = takeSha256(takeOwn(options, 'options', ['sha256']).sha256);
  const source = await openProgram(path);
  const opened = native().openMemory('sallyport-pinned');
  try {
    if (isFailure(opened)) throw pinError(path, 'memfd_create', opened.errno);
    const bytes = await copy(path, source, opened);
    const sealed = native().sealMemory(opened);
    if (sealed !== 0) throw pinError(path, 'fcntl F_ADD_SEALS', sealed);
    // Of the copy, and now: before, it might still have changed.
    const loader = requireNative(path, opened);
    const sha256 = await hash(opened, bytes);
    if (expected !== undefined && expected !== sha256) {
      throw notPinnable(path, `it has the SHA-256 ${sha256}, and ${expected} was expected`);
    }
    return PinnedExecutable.of(path, { sha256, bytes, loader }, opened);
  } catch (error) {
    if (!isFailure(opened)) native().releaseDescriptors(Int32Array.of(opened));
    throw error;
  } finally {
    await source.close();
  }
}

function takeSha256(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[\da-f]{64}$/i.test(value)) return value.toLowerCase();
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'sha256', 'must be 64 hexadecimal digits');
}

async function openProgram(path: string): Promise<FileHandle> {
  const errno = native().probeExecutable(path);
  if (errno !== 0) throw pinError(path, 'find', errno);
  try {
    return await open(path, 'r');
  } catch (error) {
    throw pinError(path, 'open', -((error as NodeJS.ErrnoException).errno ?? 0));
  }
}

async function copy(path: string, source: FileHandle, target: number): Promise<number> {
  const buffer = Buffer.allocUnsafe(PIECE);
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await source.read(buffer, 0, PIECE, bytes);
    if (bytesRead === 0) return bytes;
    // Into memory: as quick as a copy.
    for (let done = 0; done < bytesRead;) {
      const bytesWritten = writeOpened(target, buffer.subarray(done, bytesRead));
      if (bytesWritten === 0) throw pinError(path, 'write', constants.errno.ENOSPC);
      done += bytesWritten;
    }
    bytes += bytesRead;
  }
}

async function hash(fd: number, bytes: number): Promise<string> {
  const sum = createHash('sha256');
  const buffer = Buffer.allocUnsafe(PIECE);
  for (let at = 0; at < bytes;) {
    const bytesRead = readOpened(fd, buffer, at);
    if (bytesRead === 0) break;
    sum.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
    await nextTurn();
  }
  return sum.digest('hex');
}

/** @returns its loader, or null for a static program */
function requireNative(path: string, fd: number): string | null {
  const interpreter = readInterpreter(`/proc/self/fd/${fd}`);
  if (interpreter?.kind !== 'script') return interpreter?.path ?? null;
  throw notPinnable(
    path,
    `it is a script: what runs is '${interpreter.path}', which reads it by a path that may lead elsewhere by then; pin that program, and hand it the script as a descriptor: pass and /dev/fd/N`,
  );
}

function notPinnable(path: string, why: string): Error {
  return refused('ERR_SALLYPORT_NOT_PINNABLE', `'${path}' cannot be pinned: ${why}`, {
    stage: 'verify',
    stagePath: path,
    stageSource: 'reported',
  });
}

function pinError(path: string, step: string, errno: number): Error {
  return systemError(errno, step, '', {
    syscall: `pin ${path}`,
    path,
    stage: 'verify',
    stagePath: path,
    stageSource: 'reported',
  });
}
