// run: deadline, what is held, what is kept, what is left.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { run, runLines, runPipeline } from 'sallyport';
import observing from './observe.cjs';

const { observe } = observing;
const { TREE } = process.env;
const scratch = mkdtempSync(path.join(tmpdir(), 'sallyport-runtime-'));
const file = (name) => path.join(scratch, name);

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

await observe({
  async report() {
    const report = await run('sh', ['-c', 'cat; echo problem >&2; exit 3'], {
      input: 'some text\n',
    });
    const { outcome, output, input, cleanup, complete } = report;
    return {
      outcome: [outcome.kind, outcome.code],
      stdout: [output.stdout.text, output.stdout.end, output.stdout.bytesSeen],
      stderr: output.stderr.text,
      input: input.bytesWritten,
      cleanup: [cleanup.method, cleanup.survivors],
      complete,
    };
  },
  async deadline() {
    const report = await run('sh', ['-c', 'trap "" TERM; echo on; while :; do sleep 1; done'], {
      deadline: 1_500,
      grace: 50,
    });
    return [report.outcome.kind, report.output.stdout.text, report.cleanup.survivors];
  },
  async held() {
    const { output, cleanup, outcome } = await run('sh', ['-c', 'sleep 30 & echo hi'], {
      drain: 500,
    });
    const { text, end, heldBy } = output.stdout;
    return [
      outcome.kind,
      text,
      end,
      heldBy.map(({ executable }) => path.basename(executable)),
      cleanup.survivors,
    ];
  },
  async containment() {
    const args = ['mark', 'plain', 'ignore', 'stopped', 'setsid', 'daemon', 'hidden'];
    const pids = [];
    const running = run(TREE, args, {
      deadline: 10_000,
      grace: 50,
      output: {
        stdout: {
          to: (line) => {
            pids.push(Number(line.split(' ')[1]));
            if (pids.length === args.length) running.abort();
          },
        },
      },
    });
    const { outcome, cleanup } = await running;
    return {
      outcome: outcome.kind,
      pids: pids.length,
      alive: pids.filter(isAlive),
      ...cleanup,
      signalled: undefined,
      guarantee: undefined,
    };
  },
  async kept() {
    const script = 'i=0; while [ $i -lt 1000 ]; do echo 0123456789; i=$((i+1)); done';
    const output = { maxBytes: 100, keep: 'head-and-tail', onExceed: 'truncate-and-continue' };
    const report = await run('sh', ['-c', script], { output });
    const { bytesSeen } = report.output.stdout;
    return { outcome: report.outcome.kind, bytesSeen, complete: report.complete };
  },
  async flood() {
    const report = await run('head', ['-c', '20000000', '/dev/zero'], {
      output: { maxBytes: 10, onExceed: 'truncate-and-continue' },
    });
    return [report.outcome.code, report.output.stdout.bytesSeen];
  },
  async files() {
    writeFileSync(file('in'), 'from a file\n');
    const report = await run('cat', [], {
      input: { file: file('in') },
      output: { stdout: { to: file('out') } },
      record: file('record'),
    });
    const record = JSON.parse(readFileSync(file('record'), 'utf8'));
    return [
      report.output.stdout.text,
      readFileSync(file('out'), 'utf8'),
      record.outcome?.kind ?? record.report?.outcome?.kind,
    ];
  },
  async viaFile() {
    const texts = [];
    for (const via of ['memfd', { file: file('via') }]) {
      const { output } = await run('echo', ['by file'], { output: { stdout: { via } } });
      texts.push(output.stdout.text);
    }
    return texts;
  },
  async lines() {
    const lines = [];
    for await (const line of runLines('printf', ['one\\ntwo\\nthree'])) lines.push(line);
    return lines;
  },
  async pipeline() {
    const stages = [['printf', ['b\\na\\n']], ['sort'], ['head', ['-n1']]];
    const { failed, output, complete } = await runPipeline(stages);
    return [failed, output.stdout.text, complete];
  },
  async notStarted() {
    const { outcome } = await run('no-such-program');
    return [outcome.kind, outcome.error.code, outcome.error.stage];
  },
});
rmSync(scratch, { recursive: true });
