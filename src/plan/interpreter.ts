// What a program needs to be executed: the interpreter of a script, the loader of an ELF file.
import { closeSync, openSync, readSync } from 'node:fs';

export interface Interpreter {
  kind: 'script' | 'elf';
  path: string;
}

/** The `#!` line or the ELF PT_INTERP entry of a file; null where there is none or it is unreadable. */
export function readInterpreter(executable: string): Interpreter | null {
  const head = readHead(executable);
  if (head === null) return null;
  const script = /^#![ \t]*([^ \t\n\0]+)/.exec(head.toString('latin1', 0, 256))?.[1];
  if (script !== undefined)
    return { kind: 'script', path: Buffer.from(script, 'latin1').toString() };
  const loader = elfInterpreter(head);
  return loader === null ? null : { kind: 'elf', path: loader };
}

/** elf(5), 64-bit little-endian: every machine that sallyport is built for. */
function elfInterpreter(head: Buffer): string | null {
  const PT_INTERP = 3;
  if (head.length < 64 || head.readUInt32BE(0) !== 0x7f454c46 || head[4] !== 2 || head[5] !== 1)
    return null;
  const tableAt = Number(head.readBigUInt64LE(32));
  const entrySize = head.readUInt16LE(54);
  const entries = head.readUInt16LE(56);
  for (let i = 0; i < entries; i++) {
    const at = tableAt + i * entrySize;
    if (at + 40 > head.length) return null;
    if (head.readUInt32LE(at) !== PT_INTERP) continue;
    const start = Number(head.readBigUInt64LE(at + 8));
    const size = Number(head.readBigUInt64LE(at + 32));
    if (start + size > head.length) return null;
    return head.toString('utf8', start, start + size).replace(/\0.*$/, '');
  }
  return null;
}

/** Whether it is an ELF file: a native program, also where it has no loader. */
export function isElf(executable: string): boolean {
  const head = readHead(executable);
  return head !== null && head.length >= 4 && head.readUInt32BE(0) === 0x7f454c46;
}

function readHead(executable: string): Buffer | null {
  try {
    const fd = openSync(executable, 'r');
    try {
      const head = Buffer.alloc(4096);
      return head.subarray(0, readSync(fd, head, 0, head.length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
