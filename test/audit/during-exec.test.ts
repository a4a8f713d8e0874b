// A look right after spawn(): the parent goes on in the midst of the child's exec.
import { expect, it } from 'vitest';

import { auditProcess, spawn } from '../../src/index.js';
import { matchers } from '../../src/vitest.mjs';

expect.extend(matchers);

it('sees the new program, never what is between it and the old one', async () => {
  const seen = new Map<string, number>();
  for (let round = 0; round < 400; round++) {
    const child = spawn('sleep', ['60'], { stdio: 'null', env: { A: 'made up' } });
    // Both ways round: the first look has to wait, whichever it is.
    if (round % 2 === 0) expect(child).toHaveOnlyEnvironment(['A']);
    const { commandLine, descriptors } = auditProcess(child.pid, { against: child.plan });
    expect(child).toHaveOnlyEnvironment(['A']);
    child.kill('SIGKILL');
    await child.exited;
    const open = descriptors.map(({ fd, target }) => `${fd} ${target}`).join();
    const what = `${commandLine.join(' ')}: ${open}`;
    seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  expect([...seen]).toEqual([['sleep 60: 0 /dev/null,1 /dev/null,2 /dev/null', 400]]);
});
