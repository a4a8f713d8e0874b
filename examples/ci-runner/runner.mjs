// A CI runner: the steps of a job one after another, each held to its deadline, nothing left behind.
//   node examples/ci-runner/runner.mjs [job.json [folder for logs and records]]
// Exit code: 0 where every step succeeded, that of the step that failed, 124 at a deadline,
// 125 where the job or a step could not be started, 128+n where signal n ended the job.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { createEnvironment, prepareWorkspace, run } from 'sallyport';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const [jobFile = here('job.json'), results = mkdtempSync(path.join(tmpdir(), 'ci-results-'))] =
  process.argv.slice(2);

/** Seconds. A step that says nothing has this. */
const DEADLINE = 600;

// Whoever ends us ends the step with all that it started, and the job.
const end = new AbortController();
let endedBy;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // Not once: a shell passes on what its terminal has sent already.
  process.on(signal, () => {
    endedBy = signal;
    end.abort();
  });
}
// SIGHUP comes of a terminal that was closed: what is printed afterwards fails.
process.stdout.on('error', () => {});

function readJob(file) {
  const { name, steps } = JSON.parse(readFileSync(file, 'utf8'));
  for (const step of steps) {
    if (!/^[\w-]+$/.test(step.name)) throw new Error(`${file}: the name of a step is one word`);
    if (!Array.isArray(step.run)) throw new Error(`${file}: ${step.name}: run is an array`);
  }
  return { name, steps };
}

/** @returns the exit code of the step */
async function runStep({ name, run: [program, ...args], environment, deadline }, folder) {
  const log = path.join(results, `${name}.log`);
  const report = await run(program, args, {
    env: createEnvironment({ runId: name, workspace: folder, set: environment ?? {} }),
    deadline: (deadline ?? DEADLINE) * 1000,
    grace: 1000,
    signal: end.signal,
    // All of it goes to the file, both channels in true order; in memory its end, for the summary.
    output: {
      merge: true,
      keep: 'tail',
      maxBytes: 4096,
      onExceed: 'truncate-and-continue',
      stdout: { to: log },
    },
    // One line for each step, with the digest of the line before:
    // `sallyport report --verify records.jsonl` finds one that was changed or taken out.
    record: path.join(results, 'records.jsonl'),
  });
  const { outcome, output, cleanup } = report;
  const how = outcome.code ?? outcome.signal ?? outcome.error?.message ?? '';
  console.log(`${name}: ${outcome.kind} ${how}; ${output.stdout.bytesSeen} bytes in ${log}`);
  for (const { signal, processes } of cleanup.signalled) {
    console.log(`  left running, ended by ${signal}: ${processes}`);
  }
  for (const { pid, executable } of cleanup.survivors) {
    console.log(`  could not be ended: ${pid} ${executable}`);
  }
  const code = exitCode(outcome, cleanup);
  if (code !== 0) process.stdout.write(output.stdout.text.replace(/^(?=.)/gm, '  | '));
  return code;
}

function exitCode({ kind, code }, { survivors }) {
  if (endedBy !== undefined) return 128 + constants.signals[endedBy];
  if (kind === 'deadline') return 124;
  if (kind === 'exited' && code !== 0) return code;
  return kind === 'exited' && survivors.length === 0 ? 0 : 125;
}

async function runJob() {
  const { name, steps } = readJob(jobFile);
  mkdirSync(results, { recursive: true });
  const folder = mkdtempSync(path.join(tmpdir(), 'ci-job-'));
  prepareWorkspace(folder);
  try {
    for (const step of steps) {
      const code = await runStep(step, folder);
      if (code === 0) continue;
      console.log(`job ${name}: failed in ${step.name}`);
      return code;
    }
    console.log(`job ${name}: ${steps.length} steps succeeded`);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  process.exitCode = await runJob();
} catch (error) {
  console.error(`ci-runner: ${error.message}`);
  process.exitCode = 125;
}
