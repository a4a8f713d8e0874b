// A run by a profile: what is approved runs, what is not does not start.
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { planLaunch, run } from 'sallyport';
import { gatherEvidence, review, strictProfile } from 'sallyport/review';
import observing from './observe.cjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'sallyport-runtime-'));
const input = path.join(scratch, 'input');
writeFileSync(input, 'one\ntwo\n');
const profile = strictProfile({
  executable: '/usr/bin/wc',
  arguments: ['-l'],
  environment: { LANG: 'C' },
  cwd: '/',
  stdin: { channel: 'descriptor', object: { kind: 'file', access: 'read', path: input } },
});
const asked = { stdio: [openSync(input, 'r'), 'pipe', 'pipe'], env: { LANG: 'C' }, cwd: '/' };

await observing.observe({
  async approved() {
    const { admission, output, inheritance } = await run('/usr/bin/wc', ['-l'], {
      ...asked,
      profile,
    });
    return [
      admission.decision,
      output.stdout.text,
      inheritance.verified,
      inheritance.unexpected.length,
    ];
  },
  async rejected() {
    const { admission, outcome } = await run('/usr/bin/wc', ['-c'], { ...asked, profile });
    return [admission.decision, outcome.kind];
  },
  async reviewed() {
    const plan = planLaunch('/usr/bin/wc', ['-l'], { ...asked, verify: 'at-exec' });
    return review(plan, { approved: profile, evidence: gatherEvidence(plan) }).decision;
  },
});
rmSync(scratch, { recursive: true });
