// Runs one function in a node process of its own, against the built package.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { fixtures, makeScratch, root } from './fixtures.js';
import { copyPackage } from './package-copy.js';
import type { Storm } from './storm.js';

/** All that the function sees: it is sent as source, so it may use nothing from around it. */
export interface ScriptContext {
  sallyport: typeof import('../../src/index.js');
  storm: Storm;
  processes: typeof import('./processes.cjs');
  require: NodeJS.Require;
  /** The package that is tested: what the script may `require`. */
  root: string;
  fixture: (name: string) => string;
  /** A directory of this run. */
  scratch: string;
}

export interface ScriptOptions {
  /** A command in front of node, such as a seccomp filter. */
  wrap?: string[];
  /** Flags of node. */
  flags?: string[];
  /** Added to this process's environment. */
  env?: Record<string, string>;
  /** As uid 65534 when we are root, since as root a test about permission proves nothing. */
  unprivileged?: boolean;
  /** From a copy of the package that every uid can read: for a `wrap` that changes the uid. */
  publicly?: boolean;
  /** Milliseconds until the process is killed. */
  deadline?: number;
}

export interface ScriptResult<Value> {
  value: Value;
  stdout: string;
  stderr: string;
}

interface Outcome<Value> {
  value?: Value;
  error?: { message: string; stack: string };
  uncaught?: { message: string; stack: string };
}

let copy: string | undefined;

function collect(child: ChildProcess, name: 'stdout' | 'stderr'): () => string {
  const pieces: Buffer[] = [];
  child[name]?.on('data', (piece: Buffer) => pieces.push(piece));
  return () => Buffer.concat(pieces).toString();
}

/** As `inNode`, with what the process printed. */
export async function runScript<Args, Value>(
  body: (context: ScriptContext, args: Args) => Value | Promise<Value>,
  args: Args,
  options: ScriptOptions = {},
): Promise<ScriptResult<Value>> {
  const changesUid = options.unprivileged === true && process.getuid?.() === 0;
  const isPublic = changesUid || options.publicly === true;
  const base = isPublic ? (copy ??= copyPackage()) : root;
  const scratch = makeScratch();
  chmodSync(scratch, isPublic ? 0o777 : 0o700);
  const jobPath = path.join(scratch, 'job.json');
  const report = path.join(scratch, 'report.json');
  const job = {
    root: base,
    fixtures: isPublic ? path.join(base, 'test/fixtures') : fixtures,
    body: String(body),
    args: args ?? null,
    report,
  };
  writeFileSync(jobPath, JSON.stringify(job), { mode: 0o644 });

  const runner = path.join(job.fixtures, 'parent.cjs');
  const words = [
    ...(options.wrap ?? []),
    process.execPath,
    ...(options.flags ?? []),
    runner,
    jobPath,
  ];
  const [command = process.execPath, ...rest] = words;
  const child = spawn(command, rest, {
    cwd: scratch,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', ...options.env },
    ...(changesUid ? { uid: 65534, gid: 65534 } : {}),
  });
  const stdout = collect(child, 'stdout');
  const stderr = collect(child, 'stderr');
  const deadline = options.deadline ?? 25_000;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, deadline);
  const ending = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    // 'exit' and not 'close': a grandchild may hold the pipes on purpose.
    child.once('exit', (code, signal) => {
      resolve(signal ?? String(code));
    });
  });
  clearTimeout(timer);

  const outcome: Outcome<Value> = existsSync(report)
    ? (JSON.parse(readFileSync(report, 'utf8')) as Outcome<Value>)
    : {};
  const printed = `\nstdout: ${stdout()}\nstderr: ${stderr()}`;
  if (late) {
    const returned = 'value' in outcome ? 'had returned but did not end' : 'did not return';
    throw new Error(`the script ${returned} within ${String(deadline)} ms${printed}`);
  }
  const failed = outcome.uncaught ?? outcome.error;
  if (failed !== undefined) {
    const kind = outcome.uncaught === undefined ? 'threw' : 'had an uncaught exception';
    throw new Error(`the script ${kind}: ${failed.stack}${printed}`);
  }
  if (ending !== '0' || !existsSync(report)) {
    throw new Error(`the script ended with ${ending}${printed}`);
  }
  return { value: outcome.value as Value, stdout: stdout(), stderr: stderr() };
}

/** Runs `body` in a node process that must end by itself, and gives what it returned. */
export async function inNode<Args, Value>(
  body: (context: ScriptContext, args: Args) => Value | Promise<Value>,
  args: Args,
  options?: ScriptOptions,
): Promise<Value> {
  return (await runScript(body, args, options)).value;
}
