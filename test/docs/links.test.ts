// Every link between the documents leads somewhere, and every path that they name exists.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { readDocument, readDocuments } from './markdown.js';

const FOLDERS = 'src|native|test|docs|scripts|bench|examples';

describe.each(readDocuments().map((document) => [document.file, document] as const))(
  '%s',
  (file, { links, codeSpans }) => {
    it('has links that lead somewhere', () => {
      const broken = links.filter(({ target }) => !leadsSomewhere(file, target));
      expect(broken).toEqual([]);
    });

    it('names files that are there', () => {
      const pattern = new RegExp(`^(?:${FOLDERS})/[\\w./-]*$`);
      const missing = codeSpans
        .filter((span) => pattern.test(span))
        .filter((span) => !existsSync(path.join(root, span)));
      expect(missing).toEqual([]);
    });
  },
);

function leadsSomewhere(from: string, target: string): boolean {
  if (/^[a-z]+:/.test(target)) return true;
  const [written = '', anchor] = target.split('#');
  const file = written === '' ? from : path.join(path.dirname(from), written);
  if (file.startsWith('..') || !existsSync(path.join(root, file))) return false;
  if (anchor === undefined) return true;
  return readDocument(file).sections.some((section) => section.anchor === anchor);
}
