// The reference of the API can be written from the docstrings: TypeDoc has nothing to warn of, every
// export and member has one, and every link between the pages leads somewhere.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { writeApiDocs } from '../../scripts/api-docs.mjs';
import { makeScratch } from '../support/fixtures.js';
import { readPublicApi } from './public-api.js';

const out = path.join(makeScratch(), 'api');
let problems: string[];
beforeAll(async () => {
  problems = await writeApiDocs(out);
}, 120_000);

const pages = () =>
  readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
const read = (page: string) => readFileSync(path.join(out, page), 'utf8');

/** Links of a page that are relative, as paths below `out` with their anchors. */
function linksOf(page: string): string[] {
  return [...read(page).matchAll(/<a [^>]*?href="([^"]*)"/g)]
    .map(([, href = '']) => href)
    .filter((href) => !/^[a-z]+:/.test(href))
    .map((href) => {
      const [file = '', anchor] = href.split('#');
      const target = file === '' ? page : path.join(path.dirname(page), file);
      return anchor === undefined || anchor === '' ? target : `${target}#${decodeURI(anchor)}`;
    });
}

function leadsSomewhere(link: string): boolean {
  const [file = '', anchor] = link.split('#');
  if (!existsSync(path.join(out, file))) return false;
  return anchor === undefined || read(file).includes(`id="${anchor}"`);
}

describe('the reference of the API', () => {
  it('is written without a warning, from docstrings of every export and member', () => {
    expect(problems).toEqual([]);
  });

  it.each(['index', 'credentials', 'review'])('lists what src/%s.ts exports', (entry) => {
    const page = read(`modules/${entry}.html`);
    const { names } = readPublicApi(`src/${entry}.ts`);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !page.includes(`id="${name.toLowerCase()}"`))).toEqual([]);
  });

  it('has links that lead somewhere', () => {
    const links = pages().flatMap((page) => linksOf(page));
    expect(links.length).toBeGreaterThan(1000);
    expect([...new Set(links)].filter((link) => !leadsSomewhere(link))).toEqual([]);
  });
});

it('tells what has no docstring, and a link to nothing', async () => {
  const folder = makeScratch();
  const entry = path.join(folder, 'index.ts');
  const tsconfig = path.join(folder, 'tsconfig.json');
  writeFileSync(
    entry,
    `/** See {@link nowhere}. */
export interface Known {
  untold: string;
  /** Told. */
  told: string;
}
export const bare = 1;
`,
  );
  writeFileSync(tsconfig, '{ "files": ["index.ts"], "compilerOptions": { "types": [] } }');
  const told = await writeApiDocs(path.join(folder, 'api'), {
    entries: [entry],
    tsconfig,
    notExported: [],
  });
  expect(told.filter((line) => line.endsWith('has no docstring')).sort()).toEqual([
    'Known.untold has no docstring',
    'bare has no docstring',
  ]);
  expect(told.join('\n')).toContain('nowhere');
}, 60_000);
