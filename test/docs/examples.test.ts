// The code in the documents does what they say: each block that is marked `run` is run, and prints
// the block marked `output` that follows it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { readDocuments, type CodeBlock } from './markdown.js';

interface Example {
  where: string;
  block: CodeBlock;
  output: string | undefined;
}

const examples = readDocuments().flatMap(({ file, blocks }) =>
  blocks.flatMap((block, index): Example[] => {
    if (!block.info.endsWith(' run')) return [];
    const next = blocks[index + 1];
    const output = next?.info === 'text output' ? next.code : undefined;
    return [{ where: `${file}:${block.line}`, block, output }];
  }),
);

/** A folder in which the package is installed as a user has it. */
function makeProject(): string {
  const folder = makeScratch();
  const bin = path.join(folder, 'node_modules/.bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(root, path.join(folder, 'node_modules/sallyport'));
  symlinkSync(path.join(root, 'dist/cli/main.js'), path.join(bin, 'sallyport'));
  return folder;
}

function commandOf({ info, code }: CodeBlock, folder: string): [string, string[]] {
  const [language] = info.split(' ');
  if (language === 'sh') return ['sh', ['-eu', '-c', code]];
  const name = /^import /m.test(code) ? 'example.mjs' : 'example.cjs';
  writeFileSync(path.join(folder, name), code);
  return [process.execPath, [name]];
}

function run(block: CodeBlock): { status: number | null; stdout: string; stderr: string } {
  const folder = makeProject();
  const [command, args] = commandOf(block, folder);
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 20_000,
    env: {
      PATH: [
        path.join(folder, 'node_modules/.bin'),
        path.dirname(process.execPath),
        '/usr/local/bin:/usr/bin:/bin',
      ].join(':'),
    },
  });
  return { status, stdout, stderr };
}

describe('the examples in the documents', () => {
  it('are found', () => {
    expect(existsSync(path.join(root, 'dist/index.js')), 'build first: npm run build').toBe(true);
    expect(examples.length).toBeGreaterThan(3);
  });

  it.each(examples.map((example) => [example.where, example] as const))(
    '%s runs',
    (_, { block, output }) => {
      const result = run(block);
      expect({ status: result.status, stderr: result.stderr }).toEqual({ status: 0, stderr: '' });
      if (output !== undefined) expect(result.stdout.trimEnd()).toBe(output.trimEnd());
    },
  );
});
