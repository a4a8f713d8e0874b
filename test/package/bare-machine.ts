// A machine as far as a package manager sees it: Node, a shell, and nothing to compile with.
import {
  copyFileSync,
  constants,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

import { makeScratch } from '../support/fixtures.js';
import { type Printed, runNode } from '../support/programs.js';

const tools = path.join(import.meta.dirname, 'node_modules');

/** Scripts that Node runs. npm is the one that came with this Node. */
export const managers = {
  npm: () => realpathSync(findInPath('npm')),
  pnpm: () => path.join(tools, 'pnpm/bin/pnpm.mjs'),
  'yarn 1': () => path.join(tools, 'yarn/bin/yarn.js'),
  'yarn 4': () => path.join(tools, '@yarnpkg/cli-dist/bin/yarn.js'),
};

export type Manager = keyof typeof managers;

function findInPath(name: string): string {
  for (const directory of (process.env['PATH'] ?? '').split(path.delimiter)) {
    try {
      return realpathSync(path.join(directory, name));
    } catch {
      // Not in this one.
    }
  }
  throw new Error(`no ${name} in PATH`);
}

export interface BareMachine {
  readonly path: string;
  /** A folder with nothing in it. */
  emptyFolder(): string;
  /** @param node another than its own */
  run(words: readonly string[], cwd: string, node?: string): Promise<Printed>;
}

/** @param registry address of the registry that package managers ask */
export function makeBareMachine(registry: string): BareMachine {
  const home = makeScratch();
  const bin = path.join(home, 'bin');
  mkdirSync(bin);
  // A copy: beside the real one are compilers, and Node's headers.
  const node = path.join(bin, 'node');
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  // What starts of commands consist of: pnpm's are shell scripts.
  const programs = ['sh', 'env', 'dirname', 'basename', 'uname', 'sed', 'readlink'];
  for (const program of programs) symlinkSync(findInPath(program), path.join(bin, program));
  writeFileSync(path.join(home, '.npmrc'), `registry=${registry}\nupdate-notifier=false\n`);
  const env = {
    PATH: bin,
    HOME: home,
    YARN_CACHE_FOLDER: path.join(home, 'yarn-cache'),
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    YARN_ENABLE_TELEMETRY: 'false',
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
  };
  const folders = new Set<string>();
  return {
    path: bin,
    emptyFolder: () => {
      const folder = makeScratch();
      folders.add(folder);
      return folder;
    },
    run: async (words, cwd, by = node) => {
      // Package managers change the folder that they run in, and follow its links: never another one.
      if (!folders.has(cwd)) throw new Error(`${cwd} is no folder of this machine`);
      return runNode(by, words, { cwd, env, deadline: 120_000 });
    },
  };
}

/** @returns path of the tarball that would be published, in `to`. No script is run */
export async function pack(folder: string, to: string): Promise<string> {
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', to];
  const node = process.execPath;
  const { code, stdout, stderr } = await runNode(node, [managers.npm(), ...words], { cwd: folder });
  if (code !== 0) throw new Error(`npm pack ended with ${String(code)}: ${stderr}`);
  const [packed] = JSON.parse(stdout) as Array<{ filename: string }>;
  return path.join(to, packed!.filename);
}
