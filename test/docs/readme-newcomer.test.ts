// README as a newcomer follows it: in an empty folder each of its blocks is copied, in their order,
// from the installation of the package to a freed port. As root it is done a second time as nobody.
import { randomInt } from 'node:crypto';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { openRegistry, type Registry } from '../support/registry.js';
import { needs } from '../support/tools.js';
import { readStories } from './blocks.js';
import { pathOf, StoryRun } from './story.js';

const blocks = readStories().find(({ file }) => file === 'README.md')?.blocks ?? [];

/**
 * Below those that the system hands out. Not the first that is free: another run of the tests on this
 * machine would take the same.
 */
async function findPort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = 2_000 + randomInt(28_000);
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer()
        .once('error', () => resolve(false))
        .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error('no port is free');
}

/** What `npm pack` takes of a clone, but for prebuilt addons: they may be older than what is tested. */
function cloneInto(folder: string): void {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    files: string[];
  };
  for (const name of [...manifest.files, 'package.json', 'README.md', 'LICENSE']) {
    if (name === 'prebuilds' || !existsSync(path.join(root, name))) continue;
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  }
}

function makeProject(uid: number | undefined) {
  const scratch = makeScratch();
  chmodSync(scratch, 0o755);
  const [folder = '', home = '', clone = ''] = ['project', 'home', 'sallyport'].map((name) =>
    path.join(scratch, name),
  );
  for (const each of [folder, home, clone]) {
    mkdirSync(each);
    if (uid !== undefined) chownSync(each, uid, uid);
  }
  cloneInto(clone);
  return { folder, home };
}

/** What the installation of a package without a fitting addon compiles, which takes a minute. */
function addAddon(folder: string): void {
  const installed = path.join(folder, 'node_modules/sallyport');
  for (const name of ['sallyport.node', 'sallyport-launcher', 'sallyport-probe']) {
    const built = path.join('build/Release', name);
    cpSync(path.join(root, built), path.join(installed, built));
  }
}

function follow(uid: number | undefined): void {
  let story: StoryRun;
  let folder: string;
  let registry: Registry;

  beforeAll(async () => {
    registry = await openRegistry();
    const port = String(await findPort());
    const project = makeProject(uid);
    folder = project.folder;
    const env = {
      PATH: pathOf(folder),
      HOME: project.home,
      npm_config_registry: registry.url,
      npm_config_ignore_scripts: 'true',
      npm_config_audit: 'false',
      npm_config_update_notifier: 'false',
    };
    const replace = (text: string) => text.replaceAll(/\b8080\b/g, port);
    story = new StoryRun({ folder, uid, env, replace });
  });
  afterAll(async () => {
    await story.close();
    registry.server.close();
  });

  it.each(blocks.filter(({ use }) => use !== 'clone'))(
    '$where: $language $use',
    async (block) => {
      await story.play(block);
      if (block.use === 'install') addAddon(folder);
    },
    120_000,
  );

  it('and has come by all of it', () => {
    const commands = blocks.map(({ code }) => code).join('\n');
    for (const word of [
      'run --workspace',
      'audit $',
      '--release',
      'sealDescriptors',
      '--profile',
    ]) {
      expect(commands).toContain(word);
    }
  });
}

describe('README, followed by a newcomer', () => {
  needs('npm', 'bash').describe('as this user', () => follow(undefined));

  if (process.getuid?.() === 0) {
    needs('npm', 'bash', 'another uid').describe('as nobody', () => follow(65534));
  }
});
