// The Dockerfile, as far as it can be judged without a container engine: its form, the syntax of its
// commands, and whether what it names is there and in the package.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';

interface Instruction {
  name: string;
  rest: string;
}

function parse(text: string): Instruction[] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) +(.+)$/.exec(line) ?? [];
      return { name, rest };
    });
}

const instructions = parse(readFileSync(path.join(root, 'examples/Dockerfile'), 'utf8'));
const all = (wanted: string): string[] =>
  instructions.flatMap(({ name, rest }) => (name === wanted ? [rest] : []));

const checkSyntax = (command: string): string =>
  spawnSync('sh', ['-n', '-c', command], { encoding: 'utf8' }).stderr;

const { files, engines } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  files: string[];
  engines: { node: string };
};

describe('examples/Dockerfile', () => {
  it('has instructions that there are, in stages that there are', () => {
    const known = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'USER', 'ENV', 'ENTRYPOINT'];
    expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
    expect(instructions[0]!.name).toBe('FROM');
    const stages = all('FROM').flatMap((rest) => / AS (\w+)$/.exec(rest)?.[1] ?? []);
    const from = all('COPY').flatMap((rest) => /--from=(\w+)/.exec(rest)?.[1] ?? []);
    expect(from.filter((name) => !stages.includes(name))).toEqual([]);
  });

  it('has commands that a shell can read', () => {
    expect(checkSyntax('if true; then')).not.toBe('');
    const commands = all('RUN');
    expect(commands.length).toBeGreaterThan(3);
    expect(commands.map(checkSyntax)).toEqual(commands.map(() => ''));
  });

  it('is of a Node that the package runs on', () => {
    const least = Number(/\d+/.exec(engines.node)![0]);
    const majors = all('FROM').map((rest) => Number(/^node:(\d+)-/.exec(rest)![1]));
    expect(new Set(majors).size).toBe(1);
    expect(majors[0]).toBeGreaterThanOrEqual(least);
  });

  it('runs a file of the package, as a user that is not root', () => {
    const words = JSON.parse(all('ENTRYPOINT')[0]!) as string[];
    const file = words[1]!.replace(/^node_modules\/sallyport\//, '');
    expect(existsSync(path.join(root, file))).toBe(true);
    expect(files).toContain(file.split('/')[0]);
    expect(all('USER')).toEqual(['node']);
    const last = instructions.map(({ name }) => name);
    expect(last.lastIndexOf('RUN')).toBeLessThan(last.lastIndexOf('USER'));
  });

  needs('npm').it('packs what the entry point needs', () => {
    const command = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const { stdout } = spawnSync('npm', command, { cwd: root, encoding: 'utf8' });
    const [packed] = JSON.parse(stdout) as [{ files: Array<{ path: string }> }];
    const paths = packed.files.map((file) => file.path);
    for (const name of ['harness.mjs', 'task.mjs', 'token-service.mjs']) {
      expect(paths).toContain(`examples/agent-harness/${name}`);
    }
  });
});
