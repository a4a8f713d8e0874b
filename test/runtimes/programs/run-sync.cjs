'use strict';
// runSync: the same without the event loop.
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

const { runSync } = require('sallyport');
const { observe } = require('./observe.cjs');

const scratch = mkdtempSync(path.join(tmpdir(), 'sallyport-runtime-'));
const file = (name) => path.join(scratch, name);

observe({
  report() {
    const { outcome, output, cleanup, complete } = runSync(
      'sh',
      ['-c', 'cat; echo bad >&2; exit 3'],
      {
        input: 'x'.repeat(300_000),
      },
    );
    const { stdout, stderr } = output;
    return [
      outcome.kind,
      outcome.code,
      stdout.text.length,
      stderr.text,
      cleanup.survivors,
      complete,
    ];
  },
  deadline() {
    const { outcome, cleanup } = runSync('sleep', ['60'], { deadline: 100, grace: 50 });
    return [outcome.kind, cleanup.survivors];
  },
  held() {
    const { output, cleanup } = runSync('sh', ['-c', 'sleep 30 & echo hi'], { drain: 50 });
    return [output.stdout.text, output.stdout.end, cleanup.survivors];
  },
  files() {
    writeFileSync(file('in'), 'from a file\n');
    runSync('cat', [], { input: { file: file('in') }, output: { stdout: { to: file('out') } } });
    const { output } = runSync('echo', ['by memfd'], { output: { stdout: { via: 'memfd' } } });
    return [readFileSync(file('out'), 'utf8'), output.stdout.text];
  },
  notStarted() {
    const { outcome } = runSync('no-such-program');
    return [outcome.kind, outcome.error.code];
  },
}).finally(() => rmSync(scratch, { recursive: true }));
