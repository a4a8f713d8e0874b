// The code in the documents does what they say: each block is run, in the order of its document, or
// is a picture that says so.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { findFault, matchesOutput, readStories } from './blocks.js';
import { readDocuments } from './markdown.js';
import { makeLinkedProject, StoryRun } from './story.js';

const documents = readDocuments();
const stories = readStories();

/** Blocks by language that something is done with. */
const RUN = { js: 43, json: 2, sh: 27 };

/** Pictures and listings, and commands that would change a user's shell. */
const SHOWN: Readonly<Record<string, number>> = {
  'bench/README.md': 1,
  'docs/architecture.md': 2,
  'docs/options.md': 1,
  'docs/servers.md': 1,
};

describe('the code blocks of the documents', () => {
  it('say each what is done with it', () => {
    const faults = documents.flatMap((document) =>
      document.blocks.flatMap(({ line }, index) => {
        const fault = findFault(document, index);
        return fault === undefined ? [] : [`${document.file}:${line}: ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  it('are no fewer of each language than they were, and no more are only shown', () => {
    const count: Record<string, number> = {};
    for (const { blocks } of stories) {
      for (const { language } of blocks) count[language] = (count[language] ?? 0) + 1;
    }
    for (const [language, least] of Object.entries(RUN)) {
      expect(count[language], language).toBeGreaterThanOrEqual(least);
    }
    for (const { file, blocks } of documents) {
      const shown = blocks.filter(({ info }) => info === 'text').length;
      expect(shown, file).toBeLessThanOrEqual(SHOWN[file] ?? 0);
    }
  });

  it('that are for a clone are commands of it, which CI runs', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const commands = stories
      .flatMap(({ blocks }) => blocks.filter(({ use }) => use === 'clone'))
      .flatMap(({ code }) => code.match(/npm [a-z]+( [a-z]+)?/g) ?? []);
    expect(new Set(commands)).toEqual(new Set(['npm ci', 'npm run demo', 'npm test']));
    expect(scripts).toMatchObject({ demo: expect.any(String), test: expect.any(String) });
    const ci = readScriptsOfCi();
    expect(ci).toContain('npm ci');
    expect(ci).toMatch(/npm run (--silent )?demo/);
    expect(ci).toMatch(/npm (run )?(--silent )?test|node scripts\/test\.mjs/);
  });
});

function readScriptsOfCi(): string {
  return ['.ci', 'scripts/ci']
    .map((folder) => path.join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

describe('output with gaps', () => {
  const output = { text: 'a …, b\n…\nend …\n', hasGaps: true };

  it.each([
    ['a 1, b\nend 2\n', true],
    ['a 1,    b\nmore\nand more\nend 2\n', true],
    ['a 1\nend 2\n', false],
    ['a 1, b\nend 2\nmore\n', false],
    ['before\na 1, b\nend 2\n', false],
  ])('%j: %s', (printed, is) => {
    expect(matchesOutput(printed, output)).toBe(is);
  });
});

it('the package is built', () => {
  expect(existsSync(path.join(root, 'dist/index.js')), 'build first: npm run build').toBe(true);
});

// README has a test of its own: readme-newcomer.test.ts.
describe.each(stories.filter(({ file }) => file !== 'README.md'))('$file', ({ blocks }) => {
  const story = new StoryRun(makeLinkedProject());
  afterAll(() => story.close());

  it.each(blocks)('$where', async (block) => story.play(block));
});
