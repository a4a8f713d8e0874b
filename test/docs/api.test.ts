// The documents name every export, every member, option, kind and stage, and none that is not there.
import { describe, expect, it } from 'vitest';

import { takeOptions } from '../../src/plan/options.js';
import { findCodeSpans, firstNames, readDocument, readDocuments } from './markdown.js';
import { readPublicApi } from './public-api.js';

/** Each entry of the package, with the page that lists what it exports. */
const entries = [
  { page: 'docs/api.md', ...readPublicApi('src/index.ts') },
  { page: 'docs/credentials.md', ...readPublicApi('src/credentials.ts') },
];
const members = new Map(entries.flatMap((entry) => [...entry.members]));
const sections = readDocuments().flatMap(({ file, sections: own }) =>
  own.map((section) => ({ file, ...section })),
);

/** A heading that names exported types in brackets, as in `Fields (`A`, `B`)`, lists their members. */
function typesOf(heading: string): string[] {
  const inBrackets = /\(([^()]*`[^()]*)\)$/.exec(heading)?.[1] ?? heading;
  return findCodeSpans(inBrackets).filter((name) => members.has(name));
}

const described = new Map<string, { heading: string; file: string; rows: string[] }>();
for (const { file, heading, rows } of sections) {
  for (const name of typesOf(heading))
    described.set(name, { heading, file, rows: firstNames(rows) });
}

it('docs/review.md lists what sallyport/review exports', () => {
  const { names } = readPublicApi('src/review.ts');
  const section = readDocument('docs/review.md').sections.find(
    ({ heading }) => heading === 'sallyport/review',
  );
  expect(firstNames(section?.rows ?? []).sort()).toEqual([...names].sort());
});

describe('the documents', () => {
  it.each(entries)('list in $page what its entry exports', ({ page, names }) => {
    const exports = readDocument(page).sections.find(({ heading }) => heading === 'Exports');
    expect(firstNames(exports?.rows ?? []).sort()).toEqual([...names].sort());
  });

  it('have the options that are taken at run time', () => {
    const sectionsOfOptions = ['PlanOptions', 'AttributeOptions', 'SpawnOptions'];
    const options = sectionsOfOptions.flatMap((name) => described.get(name)?.rows ?? []);
    const all = Object.fromEntries(options.map((name) => [name, 1]));
    expect(takeOptions(all)).toEqual(all);
    expect(() => takeOptions({ none: 1 })).toThrow(`write one of ${options.join(', ')}`);
  });

  it.each([...members.keys()])('describe %s with all its members', (name) => {
    const section = described.get(name);
    if (section === undefined) throw new Error(`no heading in the documents names \`${name}\``);
    const own = typesOf(section.heading).flatMap((type) => members.get(type) ?? []);
    expect(section.rows.sort(), `${section.file}, ${section.heading}`).toEqual(
      [...new Set(own)].sort(),
    );
  });
});
