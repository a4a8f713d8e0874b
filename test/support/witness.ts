// What the witness (test/fixtures/witness.c) reports, and how to read it.
import type { Child } from '../../src/index.js';
import { fixture } from './fixtures.js';
import { readAll } from './processes.js';

export interface WitnessDescriptor {
  fd: number;
  type: string;
  dev: number;
  ino: string;
  rdev: number;
  access: 'read' | 'write' | 'both' | 'none';
  flags: number;
  closeOnExec: boolean;
  link: string;
}

/** Strings are bytes, one character each. */
export interface Witness {
  descriptors: WitnessDescriptor[];
  argv: string[];
  environment: Array<[string, string | null]>;
  /** Real, effective, saved. */
  uid: [number, number, number];
  gid: [number, number, number];
  groups: number[];
  pid: number;
  ppid: number;
  sid: number;
  pgid: number;
  limits: Record<string, [string, string]>;
  /** Sets of signals and capabilities in hexadecimal, as the kernel prints them. */
  status: Record<
    'SigBlk' | 'SigIgn' | 'SigCgt' | 'CapPrm' | 'CapEff' | 'CapAmb' | 'NoNewPrivs',
    string
  >;
  nice: number;
  /** As ioprio_get(2) gives it: the class from bit 13 on, the level below. */
  ioPriority: number;
  oomScoreAdjust: number;
  /** PR_GET_PDEATHSIG, prctl(2). */
  deathSignal: number;
  /** The affinity mask. */
  processors: number[];
  cwd: string | null;
  umask: number;
}

export const witness = fixture('witness');

/** The report of a witness that writes it to its stdout, a pipe. */
export async function readWitness(child: Child): Promise<Witness> {
  if (child.stdout === null) throw new Error('the witness has no stdout to report to');
  const text = (await readAll(child.stdout)).toString();
  return JSON.parse(text.slice(0, text.indexOf('\n'))) as Witness;
}
