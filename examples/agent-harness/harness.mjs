// An agent harness: runs an untrusted task with credentials that are minted for it, and reports.
//   CLOUD_LOGIN=… node examples/agent-harness/harness.mjs [task.mjs [records.jsonl]]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { createEnvironment, prepareWorkspace, reportGaps, shieldParent } from 'sallyport';
import { createCredentialBroker, runWithCredentials } from 'sallyport/credentials';

import { call, startTokenService } from './token-service.mjs';

const [task = fileURLToPath(new URL('task.mjs', import.meta.url)), record] = process.argv.slice(2);

// The secret that no task may have. Ours is the only process that needs it.
const login = process.env.CLOUD_LOGIN ?? 'a made-up login';
// Before anything else: from here on a process under our uid reads nothing in our /proc.
shieldParent();

const cloud = await startTokenService(login, 60_000);
const folder = mkdtempSync(path.join(tmpdir(), 'agent-'));
const workspace = prepareWorkspace(folder);
let seen = '';

const broker = createCredentialBroker({
  runId: 'example-1',
  home: workspace.home,
  sources: [
    {
      name: 'data',
      reason: 'the task reads the list of fruit',
      mint: async () => {
        const { token, expiresAt } = await call(cloud.url, 'POST', '/token', login);
        seen = token; // for the check at the end; a real harness has no use for it
        return { values: { token }, expiresAt: new Date(expiresAt) };
      },
      revoke: ({ values }) => call(cloud.url, 'DELETE', '/token', values.token),
      delivery: {
        by: 'file',
        path: '.credentials/token',
        variable: 'TOKEN_FILE',
        render: ({ values }) => values.token,
      },
    },
  ],
});

// All that it has: a safe PATH, a HOME of its own, and what stands here with its reason.
const env = createEnvironment({
  runId: 'example-1',
  workspace: folder,
  set: {
    SERVICE_URL: { value: cloud.url, reason: 'where the data is' },
    // So that the task knows which process to attack.
    HARNESS_NAME: {
      value: readFileSync('/proc/self/comm', 'utf8').trim(),
      reason: 'for the attempts of the example',
    },
  },
});

try {
  const run = runWithCredentials(broker, process.execPath, [task], {
    env,
    deadline: 60_000,
    output: { maxBytes: 1_000_000 },
    ...(record === undefined ? {} : { record }),
  });
  // Whoever ends us ends the run with all that it started, and its credentials.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => run.abort());
  // SIGHUP comes of a terminal that was closed: what is printed afterwards fails.
  process.stdout.on('error', () => {});
  const report = await run;
  const { outcome, output, inheritance, cleanup, credentials } = report;

  console.log('What the task printed:');
  console.log((output.stdout.text + output.stderr.text).replace(/^(?=.)/gm, '  '));

  console.log('What the harness knows:');
  const [grant] = credentials.grants;
  const ended = cleanup.signalled.map(({ signal, processes }) => `${processes} by ${signal}`);
  console.log(`  outcome: ${outcome.kind} ${outcome.code ?? outcome.signal}`);
  console.log(`  descriptors: ${inheritance.descriptors.map(({ target }) => target).join(' ')}`);
  console.log(`  credential ${grant.name}: ${grant.reason}; ${grant.deliveries.join(', ')}`);
  console.log(`  left running and ended: ${ended.join(', ') || 'nothing'}`);
  console.log(`  still running: ${cleanup.survivors.length}`);
  console.log(`  files with credentials left: ${credentials.end.filesLeft.length}`);
  const late = await call(cloud.url, 'GET', '/data', seen);
  console.log(`  its token afterwards: ${late === null ? 'refused' : 'still good'}`);
  const { minted, served, revoked } = cloud.counts;
  console.log(`  the cloud: ${minted} minted, ${served} served, ${revoked} revoked`);

  // No wall: what a run of this user could reach although nothing was handed over.
  const { gaps } = await reportGaps({ options: { env } });
  const open = gaps.filter(({ state }) => state === 'open');
  console.log(`\nWhat it could reach all the same (another user closes most of it):`);
  for (const { kind, subject, reason } of open) console.log(`  ${kind} ${subject}: ${reason}`);
  if (open.length === 0) console.log('  nothing that is known');

  process.exitCode = outcome.kind === 'exited' && outcome.code === 0 ? 0 : 1;
} finally {
  await cloud.stop();
  rmSync(folder, { recursive: true, force: true });
}
