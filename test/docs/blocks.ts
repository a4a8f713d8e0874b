// The code blocks of a document, each with what it is for: run, kept as a file, left running, shown.
import { readDocuments, type CodeBlock, type Document } from './markdown.js';

/**
 * After the language stands what is done with a block:
 *
 * - `run`: it is run, by `node` or `sh`, and must end with 0 and print what the block that follows
 *   says, if that is `text output`.
 * - `file NAME`: it is kept under this name for the blocks that follow.
 * - `server`: it is started, must print what follows, runs on, and is ended by `^C` at the next heading.
 * - `vitest`: it is a test file that passes.
 * - `install`: as `run`, with npm that reaches no registry. README only.
 * - `clone`: CI runs each of its commands in a clone. README only.
 *
 * `text` alone is a picture or a listing. `text output with gaps`: `…` stands for any text, in a line
 * of its own for any lines, and spaces are of no matter.
 */
export const USES = ['run', 'file', 'server', 'vitest', 'install', 'clone'] as const;
export type Use = (typeof USES)[number];

export interface Block {
  /** `docs/run.md:12`. */
  where: string;
  language: string;
  use: Use;
  /** With `file`. */
  name: string | undefined;
  code: string;
  heading: string;
  output: { text: string; hasGaps: boolean } | undefined;
}

export interface Story {
  file: string;
  blocks: Block[];
}

const isOutput = (block: CodeBlock | undefined): boolean =>
  block?.info === 'text output' || block?.info === 'text output with gaps';

export const isUse = (word: string | undefined): word is Use => USES.includes(word as Use);

/** What is wrong with a block's words, so that none is left out by a slip. */
export function findFault(document: Document, index: number): string | undefined {
  const block = document.blocks[index];
  if (block === undefined || block.info === 'text') return undefined;
  const [language = '', use, name] = block.info.split(' ');
  if (isOutput(block)) {
    const before = document.blocks[index - 1]?.info.split(' ')[1];
    return before === 'run' || before === 'server' ? undefined : 'output of nothing';
  }
  if (language === '' || language === 'text' || !isUse(use)) return `nobody runs \`${block.info}\``;
  // zsh takes them at its prompt for arguments, unless it is told otherwise.
  if (language === 'sh' && use !== 'file' && /(^|\s)#(?!!)/m.test(block.code)) {
    return 'a comment behind a command that people copy';
  }
  if ((use === 'file') !== (name !== undefined)) return `a name goes with file, and only with it`;
  return undefined;
}

function readStory(document: Document): Story {
  const blocks = document.blocks.flatMap((block, index): Block[] => {
    const [language = '', use, name] = block.info.split(' ');
    if (!isUse(use)) return [];
    const next = document.blocks[index + 1];
    return [
      {
        where: `${document.file}:${block.line}`,
        language,
        use,
        name,
        code: block.code,
        heading: block.heading,
        output:
          next !== undefined && isOutput(next)
            ? { text: next.code, hasGaps: next.info.endsWith('gaps') }
            : undefined,
      },
    ];
  });
  return { file: document.file, blocks };
}

/** Each document that has something to run. */
export const readStories = (): Story[] =>
  readDocuments()
    .map(readStory)
    .filter(({ blocks }) => blocks.length > 0);

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const squeeze = (text: string): string => text.trim().replace(/[ \t]+/g, ' ');

/** A pattern for output with gaps. */
export function patternOf(text: string): RegExp {
  const lines = text.trim().split('\n').map(squeeze);
  const source = lines
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${escape(line).replaceAll('…', '.*')} *\\n`))
    .join('');
  return new RegExp(`^${source}$`);
}

/** Whether a program printed what the document says. */
export function matchesOutput(printed: string, output: NonNullable<Block['output']>): boolean {
  if (!output.hasGaps) return printed.trimEnd() === output.text.trimEnd();
  const squeezed = printed.trim().split('\n').map(squeeze).join('\n');
  return patternOf(output.text).test(`${squeezed}\n`);
}
