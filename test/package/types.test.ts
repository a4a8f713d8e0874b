// The types as a user's compiler takes them: each way to resolve them, the strictest settings, mistakes.
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';

const scratch = makeScratch();
const dist = path.join(root, 'dist/');

beforeAll(() => {
  mkdirSync(path.join(scratch, 'node_modules/@types'), { recursive: true });
  symlinkSync(root, path.join(scratch, 'node_modules/sallyport'));
  for (const name of ['@types/node', 'vitest']) {
    symlinkSync(path.join(root, 'node_modules', name), path.join(scratch, 'node_modules', name));
  }
});

/** No `skipLibCheck`: what is wrong in our declarations is a user's error too. */
const strict: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  isolatedModules: true,
  noEmit: true,
};

const resolutions = {
  node16: { module: ts.ModuleKind.Node16 },
  nodenext: { module: ts.ModuleKind.NodeNext, verbatimModuleSyntax: true },
  bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  // Knows no exports, and of CommonJS modules no default import.
  node10: {
    module: ts.ModuleKind.CommonJS,
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- and still in use
    moduleResolution: ts.ModuleResolutionKind.Node10,
    esModuleInterop: false,
    ignoreDeprecations: '6.0',
  },
} satisfies Record<string, ts.CompilerOptions>;

/** The errors in the user's files and in our declarations, those of Node's own left alone. */
function compile(texts: Record<string, string>, options: ts.CompilerOptions) {
  const files = Object.entries(texts).map(([name, text]) => {
    const file = path.join(scratch, name);
    writeFileSync(file, text);
    return file;
  });
  const program = ts.createProgram(files, { ...strict, ...options });
  const ours = program
    .getSourceFiles()
    .filter(({ fileName }) => files.includes(fileName) || fileName.startsWith(dist));
  const found = [
    ...program.getOptionsDiagnostics(),
    ...ours.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ];
  const errors = found.map(({ file: where, start, messageText }) => {
    const line = where?.getLineAndCharacterOfPosition(start ?? 0).line ?? -1;
    const message = ts.flattenDiagnosticMessageText(messageText, ' ');
    return `${path.basename(where?.fileName ?? '')}:${line + 1}: ${message}`;
  });
  return { ours, errors };
}

const entries = `
import * as sallyport from 'sallyport';
import * as review from 'sallyport/review';
import * as credentials from 'sallyport/credentials';
import * as register from 'sallyport/register';
import * as drop from 'sallyport/child_process';
export const all = [sallyport.spawn, review.review, credentials.assumeRole, register.install, drop.exec];
`;

const required = entries
  .replaceAll(/import \* as (\w+) from ('.*');/g, 'import $1 = require($2);')
  .replace('export const all =', 'export =');

const matchers = `
import { matchers } from 'sallyport/vitest';
import { expect } from 'vitest';
expect.extend(matchers);
expect(1).toHaveOnlyDescriptors([0, 1, 2]);
`;

describe.each(Object.entries(resolutions))('by %s', (_, options) => {
  it('every entry is found, and its declarations have no error', { timeout: 60_000 }, () => {
    const texts = {
      'entries.mts': entries,
      ...('moduleResolution' in options ? {} : { 'entries.cts': required }),
    };
    const { ours, errors } = compile(texts, options);
    expect(errors).toEqual([]);
    expect(ours.length).toBeGreaterThan(50);
    // A declaration of another package would have to suit the user's settings too.
    const imported = ours
      .filter(({ fileName }) => fileName.startsWith(dist))
      .flatMap(({ text }) => ts.preProcessFile(text).importedFiles)
      .map(({ fileName }) => fileName)
      .filter((name) => !name.startsWith('.') && !isBuiltin(name));
    expect(imported).toEqual([]);
  });
});

it('the matchers are declared to vitest', { timeout: 60_000 }, () => {
  expect(compile({ 'matchers.ts': matchers }, resolutions.bundler).errors).toEqual([]);
});

it('a child has the streams that stdio says', { timeout: 60_000 }, () => {
  const text = `
import { launch, spawn, type Child, type SpawnOptions } from 'sallyport';
import type { Readable, Writable } from 'node:stream';
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A>(_: A) { return <B>(_sure: Same<A, B>): void => undefined; }
declare const options: SpawnOptions;
declare const either: 'pipe' | 'null';
declare const fd: number;
const plain = spawn('true');
same(plain.stdin)<null>(true); same(plain.stdout)<Readable>(true); same(plain.stderr)<Readable>(true);
const other = spawn('true', [], { cwd: '/' });
same(other.stdin)<null>(true); same(other.stdout)<Readable>(true);
const all = spawn('true', { stdio: 'pipe' });
same(all.stdin)<Writable>(true); same(all.stdout)<Readable>(true); same(all.stderr)<Readable>(true);
const one = spawn('true', [], { stdio: ['pipe'] });
same(one.stdin)<Writable>(true); same(one.stdout)<Readable>(true);
const few = spawn('true', [], { stdio: [undefined, null, 'stdout'] });
same(few.stdin)<null>(true); same(few.stdout)<Readable>(true); same(few.stderr)<null>(true);
const none = spawn('true', [], { stdio: ['inherit', fd, 'null'] });
same(none.stdin)<null>(true); same(none.stdout)<null>(true); same(none.stderr)<null>(true);
const unknown = spawn('true', [], options);
same(unknown.stdin)<Writable | null>(true); same(unknown.stdout)<Readable | null>(true);
const open = spawn('true', [], { stdio: [either, 'pipe', either] });
same(open.stdin)<Writable | null>(true); same(open.stdout)<Readable>(true);
export async function later(): Promise<Child> {
  const child = await launch('true', [], { stdio: ['pipe', 'inherit', 'pipe'] });
  same(child.stdin)<Writable>(true); same(child.stdout)<null>(true); same(child.stderr)<Readable>(true);
  const start = fd > 3 ? spawn : launch;
  return await start('true', [], options);
}
`;
  expect(compile({ 'streams.ts': text }, resolutions.node16).errors).toEqual([]);
});

it('the kind of an outcome decides what else it has', { timeout: 60_000 }, () => {
  const text = `
import { run, type Outcome, type RunReport, type StallEvidence } from 'sallyport';
export function read({ outcome }: RunReport): number | string | StallEvidence {
  const plain: Outcome = outcome;
  switch (outcome.kind) {
    case 'exited': return outcome.code;
    case 'signaled': return outcome.signal;
    case 'spawn-failed': return outcome.error.message;
    case 'stalled': return outcome.stall;
    case 'deadline': case 'output-limit': case 'aborted': case 'lost': return plain.startedAt;
    default: { const none: never = outcome; return none; }
  }
}
export async function leave(): Promise<never> {
  const { outcome } = await run('true');
  process.exit(outcome.kind === 'exited' ? outcome.code : 1);
}
`;
  expect(compile({ 'outcome.ts': text }, resolutions.node16).errors).toEqual([]);
});

it('an option may be undefined, as documented', { timeout: 60_000 }, () => {
  const text = `
import * as s from 'sallyport';
import { review, strictProfile, ledger } from 'sallyport/review';
import { assumeRole, commandSource, createCredentialBroker } from 'sallyport/credentials';
import { install } from 'sallyport/register';
declare const n: number | undefined; declare const t: string | undefined;
declare const b: boolean | undefined; declare const signal: AbortSignal | undefined;
s.spawn('x', [], { stdio: undefined, pass: undefined, env: undefined, cwd: t, argv0: t, session: undefined,
  verify: undefined, pinned: undefined, pipeSize: n, foreground: n, noNewPrivileges: b, listeners: undefined,
  limits: { nofile: undefined }, umask: n, user: t, group: t, groups: undefined, dieWithParent: b, terminal: n,
  nice: n, ioPriority: { class: 'idle', level: n }, oomScoreAdjust: n, cpuAffinity: undefined,
  signal, timeout: n, killSignal: undefined });
s.spawn('x', [], { pass: [{ fd: 3, as: n, expect: undefined }], listeners: [{ fd: 3, name: t }] });
void s.run('x', [], { deadline: n, stall: n, signal, grace: n, drain: n, input: undefined, record: t,
  profile: t, output: { stdout: undefined, merge: b, mask: undefined, maxBytes: n, keep: undefined },
  containment: { require: 'cgroup', cgroup: { parent: t, memoryMax: n, pidsMax: n, cpuMax: n } } });
s.runSync('x', [], { input: undefined, output: { stderr: { to: undefined, via: undefined } } });
s.createEnvironment({ runId: t, workspace: t, allow: [{ name: 'x', reason: t }], presets: undefined,
  caches: [{ name: 'corepack', reason: t }], credentials: undefined, set: { A: { value: '', reason: t } } });
s.prepareWorkspace('x', { uid: n, gid: n });
void s.reportGaps({ plan: undefined, options: undefined, probeMetadata: b });
s.sealDescriptors({ kinds: undefined, except: undefined, standard: b, every: n, signal, onSealed: undefined });
s.auditProcess(1, { origins: b, otherEnds: b, against: { descriptors: [], openedLater: undefined } });
s.findHolders({ inode: 1, dev: n }); s.watchProcess(1, { interval: n, signal });
s.listListeners({ port: n }); s.releaseListener({ port: 1, force: b });
s.receiveListeners({ expect: [{ kind: 'listener', access: 'both', path: t, dev: n, ino: n, address: t }] });
strictProfile({ executable: '/x', cwd: '/', sha256: t, arguments: undefined, environment: undefined });
createCredentialBroker({ runId: 'x', sources: [], home: t, owner: undefined });
assumeRole({ reason: 'x', roleArn: 'x', account: 'x', region: t, delivery: { by: 'endpoint', region: t } });
commandSource({ name: 'x', reason: 'x', file: 'x', delivery: [], cwd: t, args: undefined, lead: n });
install({ environment: undefined, variables: undefined, pass: undefined, report: t, except: undefined });
ledger(s.planLaunch('x'), { approved: undefined });
review(s.planLaunch('x'), { approved: strictProfile({ executable: '/x', cwd: '/' }), evidence: undefined, now: n });
`;
  expect(compile({ 'undefined.ts': text }, resolutions.node16).errors).toEqual([]);
});

it('a mistake is refused where it stands', { timeout: 60_000 }, () => {
  const mistakes = [
    'new s.Child()',
    "s.spawn('x', [], { env: new s.Environment() })",
    'new s.PinnedExecutable()',
    "s.spawn('x', [], { shell: true })",
    "s.spawn('x', [], { stdio: 'ignore' })",
    "s.spawn('x', [], { stdio: 'stdout' })",
    "s.spawn('x', [], { stdio: ['pipe', 'stdout', 'pipe'] })",
    "s.spawn('x', [], { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })",
    "s.spawn('x', [], { deadline: 1000 })",
    "s.launch('x', [], { limits: { files: 1 } })",
    "s.launch('x', [], { pass: [{ fd: 3, at: 4 }] })",
    "s.run('x', [], { timeout: 1000 })",
    "s.run('x', [], { output: { stdout: { maxbytes: 1 } } })",
    "s.runSync('x', [], { signal: AbortSignal.timeout(1) })",
    "s.createEnvironment({ presets: ['nodejs'] })",
    "s.findHolders({ port: 1, path: '/x' })",
    "s.findHolders({ path: '/x', dev: 1 })",
    's.findHolders({})',
    's.releaseListener({ port: 1, pid: 2, fd: 3 })',
  ];
  const text = `import * as s from 'sallyport';\n${mistakes.join(';\n')};\n`;
  const { errors } = compile({ 'mistakes.ts': text }, resolutions.node16);
  const lines = new Set(errors.map((error) => Number(/^mistakes\.ts:(\d+): /.exec(error)?.[1])));
  expect(mistakes.filter((_, index) => !lines.has(index + 2))).toEqual([]);
});

needs('npm run test:managers').it(
  'the oldest TypeScript takes the declarations',
  () => {
    writeFileSync(path.join(scratch, 'oldest.mts'), entries);
    const tsc = path.join(root, 'test/package/node_modules/typescript-oldest/bin/tsc');
    const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'node16'];
    const { stdout, status } = spawnSync(
      process.execPath,
      [tsc, ...flags, '--types', 'node', 'oldest.mts'],
      { cwd: scratch, encoding: 'utf8' },
    );
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  },
  60_000,
);
