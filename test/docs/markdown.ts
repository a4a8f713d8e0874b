// Reads of a Markdown file what the tests of the documents look at: sections, tables, code, links.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { root } from '../support/fixtures.js';

export interface Section {
  heading: string;
  /** As GitHub makes it of the heading. */
  anchor: string;
  /** Cells of the tables right below the heading, without the header. */
  rows: string[][];
}

export interface CodeBlock {
  info: string;
  code: string;
  line: number;
  /** The one that it stands below. */
  heading: string;
}

export interface Link {
  target: string;
  line: number;
}

export interface Document {
  /** Relative to the package. */
  file: string;
  sections: Section[];
  blocks: CodeBlock[];
  links: Link[];
  /** What stands between backticks outside of code blocks. */
  codeSpans: string[];
  text: string;
}

export function readDocument(file: string): Document {
  const text = readFileSync(path.join(root, file), 'utf8');
  const document: Document = { file, sections: [], blocks: [], links: [], codeSpans: [], text };
  const anchors = new Map<string, number>();
  let block: CodeBlock | undefined;
  text.split('\n').forEach((written, index) => {
    const line = index + 1;
    const fence = /^\s*```(.*)$/.exec(written);
    if (block !== undefined) {
      if (fence === null) block.code += `${written}\n`;
      else block = undefined;
      return;
    }
    if (fence !== null) {
      block = {
        info: (fence[1] ?? '').trim(),
        code: '',
        line,
        heading: document.sections.at(-1)?.heading ?? '',
      };
      document.blocks.push(block);
      return;
    }
    const heading = /^#{1,6} +(.*?)\s*$/.exec(written)?.[1];
    if (heading !== undefined) {
      document.sections.push({ heading, anchor: makeAnchor(heading, anchors), rows: [] });
    } else if (written.startsWith('|')) {
      document.sections.at(-1)?.rows.push(splitRow(written));
    }
    document.codeSpans.push(...findCodeSpans(written));
    for (const [, target = ''] of written.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      document.links.push({ target, line });
    }
  });
  for (const section of document.sections) section.rows = dropHeaders(section.rows);
  return document;
}

/** All Markdown files that people read, the changelog apart: it tells of what was. */
export function readDocuments(): Document[] {
  const files = [
    ...readdirSync(root).filter((name) => name.endsWith('.md')),
    ...['docs', 'examples', 'bench'].flatMap((folder) => listMarkdown(folder)),
  ];
  return files
    .filter((file) => file !== 'CHANGELOG.md')
    .sort()
    .map(readDocument);
}

function listMarkdown(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listMarkdown(file);
    return entry.name.endsWith('.md') ? [file] : [];
  });
}

export function findCodeSpans(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
}

/** The first names between backticks in each row: `kill(signal?)` is `kill`. */
export function firstNames(rows: readonly string[][]): string[] {
  return rows.flatMap(([cell = '']) =>
    findCodeSpans(cell)
      .slice(0, 1)
      .map((name) => name.replace(/\(.*$/, '')),
  );
}

/** A bar inside a cell is written `\|`. */
function splitRow(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll('\\|', '|').trim());
}

const isRuler = (row: readonly string[] | undefined): boolean =>
  row?.every((cell) => /^:?-+:?$/.test(cell)) === true;

function dropHeaders(rows: string[][]): string[][] {
  return rows.filter((row, index) => !isRuler(row) && !isRuler(rows[index + 1]));
}

function makeAnchor(heading: string, seen: Map<string, number>): string {
  const anchor = heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
  const before = seen.get(anchor) ?? 0;
  seen.set(anchor, before + 1);
  return before === 0 ? anchor : `${anchor}-${before}`;
}
