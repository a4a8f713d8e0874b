// `sallyport report`: a record for people, what differs between two, and whether a chain is whole.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

import { clean } from '../clean-text.js';
import { phraseCount } from '../phrase-count.js';
import { formatLedger, ledger } from '../review.js';
import { formatGates } from '../review/print.js';
import { checkChain, type ChainCheck } from '../run/chain.js';
import { UsageError } from './failure.js';
import { printJson, type RecordDifference, type RunRecord } from './json-output.js';
import { print } from './output.js';
import { printLines } from './wrap.js';

export interface ReportFlags {
  number?: string;
  verify?: boolean;
  kept?: string;
  json?: boolean;
}

export function report(file: string, other: string | undefined, flags: ReportFlags): number {
  if (flags.verify === true) return verify(file, flags);
  if (flags.kept !== undefined) throw new UsageError('--kept: goes with --verify: write that too');
  const record = pick(file, flags);
  if (other === undefined) {
    if (flags.json === true) printJson('run-record', record);
    else printLines(read(() => formatReport(record), file));
    return 0;
  }
  const after = pick(other, flags);
  const differences = read(() => findChanges(record, after), `${file} or ${other}`);
  if (flags.json === true) printJson('record-differences', differences);
  else print(differences.map(phraseChange).join('') || 'nothing differs\n');
  return differences.length === 0 ? 0 : 1;
}

/** A record may be anybody's: what is in it need not be what a run has. */
function read<Result>(make: () => Result, file: string): Result {
  try {
    return make();
  } catch (error) {
    // A member is missing or another, or it is nested without end.
    if (error instanceof TypeError || error instanceof RangeError) {
      throw new UsageError(`${file}: it is no record of a run: give the file that --report wrote`);
    }
    throw error;
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(
      `${file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? ''}): give the file that --report wrote`,
    );
  }
}

function pick(file: string, { number }: ReportFlags): RunRecord {
  const lines = readBytes(file)
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  const index = number === undefined ? lines.length - 1 : Number(number) - 1;
  const line = /^\d+$/.test(number ?? '1') ? lines[index] : undefined;
  if (lines.length === 0) {
    throw new UsageError(`${file}: there is no record in it: give the file that --report wrote`);
  }
  if (line === undefined) {
    const numbers =
      lines.length === 1 ? 'it has one, --number 1' : `give a --number from 1 to ${lines.length}`;
    throw new UsageError(
      `${file}: no such record: ${numbers}, or give another file that --report wrote`,
    );
  }
  let record: Partial<RunRecord> | null = null;
  try {
    record = JSON.parse(line) as Partial<RunRecord> | null;
  } catch {
    // Below: what is no JSON is no record.
  }
  if (record?.version === 1 && record.outcome !== undefined && record.cleanup !== undefined) {
    return record as RunRecord;
  }
  throw new UsageError(
    `${file}: record ${index + 1} is no record of a run: give the file that --report wrote`,
  );
}

function verify(file: string, { kept, json }: ReportFlags): number {
  if (kept !== undefined && !/^sha256:[0-9a-f]{64}$/.test(kept)) {
    throw new UsageError("--kept: write it as 'report --verify' prints it: sha256: and 64 digits");
  }
  const checked = checkChain(readBytes(file), kept);
  const { records, last, broken } = checked;
  if (json === true) printJson('record-chain', checked);
  else {
    const found =
      broken === null
        ? `${phraseCount(records, 'record')}, each with the digest of the one before; last ${last ?? 'none'}`
        : `broken at record ${broken.line}: ${broken.why}`;
    print(`${clean(file)}: ${found}\n${phraseKept(checked)}`);
  }
  return broken === null && checked.kept !== null ? 0 : 1;
}

function phraseKept({ kept, broken }: ChainCheck): string {
  if (kept === undefined) return '';
  if (kept !== null) {
    return `record ${kept} has the digest that was kept: up to there nothing was changed since\n`;
  }
  return broken === null
    ? 'no record has the digest that was kept: some were cut off, or all were written anew\n'
    : 'no record before that has the digest that was kept\n';
}

export function formatReport(record: RunRecord): string {
  const { admission, inheritance, outcome, output, cleanup, notTested, plan } = record;
  const lines = [
    line('admission', `${admission.decision}${admission.gates.length === 0 ? ': no profile' : ''}`),
    ...formatGates(admission.gates),
    line('inheritance', `${inheritance.verified}: ${inheritance.statement}`),
    ...inheritance.differences.map(({ path, planned, seen }) =>
      line('', `${path}: planned ${planned}, seen ${seen}`),
    ),
    line('outcome', phraseOutcome(outcome)),
    ...(outcome.error === undefined ? [] : [line('', outcome.error.message)]),
    ...(['stdout', 'stderr'] as const).map((name) => line(name, phraseChannel(output[name]))),
    line('cleanup', `${cleanup.method}: ${cleanup.guarantee}`),
    ...cleanup.survivors.map((survivor) => line('', `left: ${JSON.stringify(survivor)}`)),
    line('complete', String(record.complete)),
    line('authorized', 'not assessed, here or anywhere'),
    ...notTested.map((each) => line('not tested', each)),
  ];
  const crossed = plan === null ? '' : `\n${formatLedger({ ...ledger(plan), notTested: [] })}`;
  return `${lines.join('\n')}\n${crossed}`;
}

function line(label: string, text: string): string {
  return `${label.padEnd(12)} ${clean(text)}`;
}

function phraseOutcome({
  kind,
  code,
  signal,
  startedAt,
  durationMs,
}: RunRecord['outcome']): string {
  const end = code === null ? (signal ?? 'no status') : `exit status ${code}`;
  return `${kind}, ${end}; ${startedAt}, ${durationMs} ms`;
}

function phraseChannel({
  observed,
  bytesSeen,
  bytesKept,
  end,
  sha256,
}: RunRecord['output']['stdout']): string {
  return observed
    ? `${phraseCount(bytesSeen, 'byte')}, ${bytesKept} kept, to ${end}; SHA-256 ${sha256}`
    : 'no pipe of the run: not seen';
}

/** What differs from run to run whatever was launched. */
const ACCIDENTS =
  /^(chain|outcome\.(startedAt|durationMs|resourceUsage|treeUsage)|inheritance\.seen|.*\.(pid|inode|source))(\.|$)/;

/** By path. Of pipes the inode is an accident; of files it is in the digest of the plan. */
function findChanges(before: unknown, after: unknown, path = ''): RecordDifference[] {
  if (ACCIDENTS.test(path) || isDeepStrictEqual(before, after)) return [];
  if (!isTree(before) || !isTree(after)) return [{ path, before, after }];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) =>
    findChanges(before[name], after[name], path === '' ? name : `${path}.${name}`),
  );
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function phraseChange({ path, before, after }: RecordDifference): string {
  return `${clean(path)}: ${phrase(before)} → ${phrase(after)}\n`;
}

function phrase(value: unknown): string {
  return value === undefined ? 'absent' : clean(JSON.stringify(value));
}
