// What somebody put on Object.prototype is nobody's wish: it reaches no child and no report.
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { PLAN_OPTION_NAMES } from '../../src/plan/options.js';
import { RUN_OPTION_NAMES } from '../../src/run/options.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';

const record = path.join(makeScratch(), 'record');

/** A value for each name that would change something where it were taken. */
const VALUES: Record<string, unknown[]> = {
  // Options, and what stands in them.
  stdio: ['inherit'],
  pass: [[1]],
  env: ['inherit', { EVIL: '1' }],
  cwd: ['/usr'],
  argv0: ['evil'],
  session: ['inherit', 'group'],
  foreground: [0],
  noNewPrivileges: [false],
  pipeSize: [1 << 20],
  listeners: [[0]],
  verify: ['at-exec'],
  pinned: [{ path: '/usr/bin/true' }],
  limits: [{ nofile: { soft: 33, hard: 33 } }],
  umask: [0o21],
  nice: [3],
  ioPriority: [{ class: 'idle', level: 0 }],
  oomScoreAdjust: [900],
  cpuAffinity: [[0]],
  user: [65534],
  group: [65534],
  groups: [[7]],
  dieWithParent: [true, 9],
  terminal: [0],
  timeout: [1],
  killSignal: ['SIGKILL'],
  deadline: [1],
  stall: [1],
  grace: [0],
  drain: [0],
  output: [{ maxBytes: 1 }],
  input: ['evil'],
  containment: ['group', { require: 'group' }],
  profile: ['/no/such'],
  record: [record],
  maxBytes: [1],
  onExceed: ['end'],
  keep: ['tail'],
  to: [record],
  via: ['memfd'],
  merge: [true],
  mask: [1],
  require: ['group'],
  prefer: [['group']],
  cgroup: [{ parent: '/no/such' }],
  parent: ['/no/such'],
  memoryMax: [1],
  fd: [1],
  as: [7],
  expect: [{ kind: 'socket', access: 'both' }],
  path: ['/no/such'],
  address: ['@evil'],
  nofile: [{ soft: 5, hard: 5 }],
  soft: [5],
  class: ['idle'],
  level: [7],
  allow: [['SECRET']],
  workspace: ['/usr'],
  runId: ['evil'],
  credentials: [{ environment: { EVIL: '1' } }],
  // Names of the plan and of what the addon gives.
  EVIL: ['yes'],
  attributes: [{ umask: 1 }],
  variables: [{ EVIL: '1' }],
  whenLost: [{ guarantee: 'evil', notTested: [] }],
  init: [true],
  launcher: [true],
  stage: ['exec'],
  // Where a property is described.
  get: ['evil'],
  set: ['evil'],
  value: ['evil'],
};

/** Each call once as it is, and once with each value; what differs. */
async function look(values: typeof VALUES): Promise<{ differences: string[]; control: string }> {
  return inNode(
    async ({ sallyport, root: from, fixture, require }, { values, record }) => {
      const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
      const fs = require('node:fs') as typeof import('node:fs');
      const review = require(`${from}/dist/review.js`) as typeof import('../../src/review.js');
      const witness = fixture('witness');
      type Child = import('../../src/index.js').Child;
      type Report = import('../../src/index.js').RunReport;
      const profile = review.profileFrom(sallyport.planLaunch(witness, [], { env: {} }));

      // Numbers of processes and of pipes differ from one to the next.
      const strip = (text: string): string =>
        text
          .replace(/"(pid|ppid|ino|link)":("[^"]*"|\d+)/g, '')
          .replace(/"(sid|pgid)":\d+/g, (found) =>
            found.endsWith(`:${process.pid}`) ? 'ours' : '',
          );
      const told = async (child: Child): Promise<string> => {
        const pieces: Buffer[] = [];
        child.stdout?.on('data', (piece: Buffer) => pieces.push(piece));
        await new Promise((resolve) => child.once('close', resolve));
        const leads = Buffer.concat(pieces).includes(`"sid":${child.pid},"pgid":${child.pid}`);
        return strip(`${Buffer.concat(pieces).toString()} ${child.exitCode} ${String(leads)}`);
      };
      const reported = (report: Report): string => {
        const { admission, outcome, output, input, cleanup, inheritance, complete } = report;
        const { data: _data, ...channel } = output.stdout;
        return strip(
          output.stdout.text +
            JSON.stringify([
              [admission.decision, outcome.kind, outcome.code, outcome.signal, outcome.error],
              [channel.end, channel.bytesKept === channel.bytesSeen, input, cleanup],
              [inheritance.verified, complete],
            ]),
        );
      };
      const { run, runSync } = sallyport;
      const calls: Record<string, () => Promise<string>> = {
        spawn: () => told(sallyport.spawn(witness)),
        'spawn, by the launcher': () =>
          told(sallyport.spawn(witness, [], { umask: 0o22, env: { A: '1' } })),
        'launch, with a pass list': async () =>
          told(
            await sallyport.launch(witness, [], {
              pass: [{ fd: 0, as: 5 }],
              limits: { core: { soft: 0, hard: 0 } },
              env: sallyport.createEnvironment({ set: { X: { value: '1' } } }),
            }),
          ),
        run: async () => reported(await run(witness)),
        'run, by group': async () =>
          reported(await run(witness, [], { containment: { require: 'group' } })),
        'run, into a file': async () =>
          reported(await run(witness, [], { output: { stdout: { via: 'memfd' } } })),
        'run, by a profile': async () =>
          reported(await run(witness, [], { env: {}, stdio: ['null', 'pipe', 'pipe'], profile })),
        runSync: async () => reported(runSync(witness)),
        'runSync, by group': async () => reported(runSync(witness, [], { containment: 'group' })),
        runPipeline: async () =>
          (await sallyport.runPipeline([['true'], [witness]])).stages.map(reported).join(),
        runLines: async () => {
          const lines = sallyport.runLines(witness);
          let text = '';
          for await (const line of lines) text += line;
          return strip(text) + reported(await lines.report);
        },
      };

      const outcomeOf = (call: () => Promise<string>): Promise<string> =>
        call().catch((error: unknown) => `failed: ${String(error)}`);
      const plain: Record<string, string> = {};
      for (const [name, call] of Object.entries(calls)) plain[name] = await outcomeOf(call);

      const put = (name: string, value: unknown, enumerable = true): void => {
        const descriptor = Object.create(null) as PropertyDescriptor;
        Object.assign(descriptor, { value, enumerable, configurable: true, writable: true });
        Object.defineProperty(Object.prototype, name, descriptor);
      };
      const take = (name: string): void => {
        delete (Object.prototype as Record<string, unknown>)[name];
      };
      const differences: string[] = [];
      for (const [name, call] of Object.entries(plain)) {
        if (call.startsWith('failed')) differences.push(`${name} ${call}`);
      }
      for (const [name, all] of Object.entries(values)) {
        for (const value of all) {
          for (const [call, make] of Object.entries(calls)) {
            // promisify of Node throws.
            if (call === 'run, into a file' && (name === 'get' || name === 'set')) continue;
            // zod refuses every profile where it can be enumerated.
            put(name, value, call !== 'run, by a profile');
            const seen = await outcomeOf(make);
            take(name);
            if (seen !== plain[call]) {
              let at = 0;
              while (seen[at] === plain[call]?.[at]) at += 1;
              differences.push(`${name} ${call}: ${seen.slice(Math.max(0, at - 20), at + 80)}`);
            }
          }
        }
      }
      put('EVIL', 'yes');
      const control = spawnSync('/usr/bin/env', { env: { A: '1' } }).stdout.toString();
      take('EVIL');
      if (fs.existsSync(record)) differences.push('record was written');
      return { differences, control };
    },
    { values, record },
    { deadline: 80_000 },
  );
}

describe('a polluted Object.prototype', () => {
  it('changes no child and no report, whatever is there', async () => {
    const seen = await look(VALUES);
    expect(seen.control).toContain('EVIL=yes');
    expect(seen.differences).toEqual([]);
  }, 90_000);

  it('was tried with the name of every option', () => {
    const missing = [...PLAN_OPTION_NAMES, ...RUN_OPTION_NAMES].filter(
      // Node itself refuses to make a socket then.
      (name) => !Object.hasOwn(VALUES, name) && name !== 'signal',
    );
    expect(missing).toEqual([]);
  });
});
