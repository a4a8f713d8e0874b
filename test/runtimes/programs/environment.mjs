// Environments, workspaces, and what a run could reach.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import {
  createEnvironment,
  describeEnvironment,
  prepareWorkspace,
  reportGaps,
  run,
} from 'sallyport';
import observing from './observe.cjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'sallyport-runtime-'));
process.env.MADE_UP_PASSWORD = 'made-up-value';
process.env.MADE_UP_SETTING = 'setting';

await observing.observe({
  async created() {
    const env = createEnvironment({ allow: ['MADE_UP_SETTING'], set: { GREETING: 'hello' } });
    const { output } = await run(
      'sh',
      ['-c', 'echo "$GREETING $MADE_UP_SETTING ${MADE_UP_PASSWORD-none}"'],
      { env },
    );
    return [output.stdout.text, Object.getPrototypeOf(env.variables)];
  },
  async described() {
    const text = JSON.stringify(await describeEnvironment());
    return [text.includes('MADE_UP_PASSWORD'), text.includes('made-up-value')];
  },
  async workspace() {
    const workspace = prepareWorkspace(scratch);
    const env = createEnvironment({ runId: 'b71e04', workspace: scratch });
    const { output } = await run('sh', ['-c', 'test "$HOME" = "$PWD/.home" && echo home'], { env });
    await workspace.remove();
    return [
      output.stdout.text,
      [...workspace.made].sort(),
      existsSync(path.join(scratch, '.home')),
    ];
  },
  async gaps() {
    const { gaps } = await reportGaps();
    return gaps.length > 3 && gaps.every(({ state }) => typeof state === 'string');
  },
});
rmSync(scratch, { recursive: true });
