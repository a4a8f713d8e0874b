// docs/errors.md has every code that the sources can give, and none that they cannot.
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { CALLER_CODES } from '../../src/errors.js';
import { root } from '../support/fixtures.js';
import { firstNames, readDocument, readDocuments } from './markdown.js';

const page = readDocument('docs/errors.md');
const codes = Object.keys(CALLER_CODES).sort();

function readSources(folder: string): string {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(path.join(root, folder, name), 'utf8'))
    .join('\n');
}

describe('docs/errors.md', () => {
  it('has a section for each mistake of the caller', () => {
    const headings = page.sections.map(({ heading }) => heading);
    expect(headings.filter((heading) => heading.startsWith('ERR_')).sort()).toEqual(codes);
  });

  it('and the other documents name no code that is not there', () => {
    for (const { file, text } of readDocuments()) {
      const named = new Set(text.match(/ERR_SALLYPORT_[A-Z]\w*/g));
      expect(
        [...named].filter((code) => !codes.includes(code)),
        file,
      ).toEqual([]);
    }
  });

  it('has each errno that the sources tell apart, and none that is no errno', () => {
    const named = firstNames(
      page.sections.find(({ heading }) => heading === 'Refusals by the system')?.rows ?? [],
    );
    expect(named.filter((name) => !Object.hasOwn(constants.errno, name))).toEqual([]);
    // EISDIR comes from our own probe of a path and is given as EACCES; ESRCH makes kill() false.
    const internal = ['EISDIR', 'ESRCH'];
    const source = ['plan', 'launch', 'sockets']
      .map((room) => readSources(`src/${room}`))
      .join('\n');
    const told = new Set(source.match(/\bE[A-Z0-9]{2,}\b/g));
    const missing = [...told].filter(
      (name) =>
        Object.hasOwn(constants.errno, name) && !internal.includes(name) && !named.includes(name),
    );
    expect(missing).toEqual([]);
  });

  it('says of each stage what the table of refusals says', () => {
    const rows = page.sections.find(({ heading }) => heading === 'Refusals by the system')?.rows;
    const stages = firstNames(
      page.sections.find(({ heading }) => heading === 'Stages (`Stage`)')?.rows ?? [],
    );
    for (const [code, stage = ''] of rows ?? []) {
      expect(stages, `stage of ${code}`).toContain(stage.replaceAll('`', ''));
    }
  });
});
