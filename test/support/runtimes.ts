// The runtimes that a test can be run on: this Node, and those of `npm run test:peers`.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'vitest';

import { root } from './fixtures.js';

/** Those that the package says it runs on. */
const MAJORS = [20, 22, 24, 26] as const;

const mustRun = process.env['SALLYPORT_MUST_RUN'] === '1';

// The benchmarks' peers have most of them too.
const FOLDERS = ['test/peers', 'bench/peers'].map((folder) =>
  path.join(root, folder, 'node_modules'),
);

const findPeer = (...programs: readonly string[]): string | undefined =>
  programs
    .flatMap((program) => FOLDERS.map((folder) => path.join(folder, program)))
    .find((file) => existsSync(file));

/** undefined: it is not here. */
function findNode(major: number): string | undefined {
  if (process.versions.node.startsWith(`${String(major)}.`)) return process.execPath;
  return findPeer(`node${String(major)}/bin/node`);
}

export interface Runtime {
  /** `Node 20`, `Bun`, `Deno`. */
  readonly name: string;
  readonly kind: 'Node' | 'Bun' | 'Deno';
  /** A program and its arguments, which a script follows. */
  readonly command: readonly [string, ...string[]];
}

interface Place {
  readonly name: string;
  readonly kind: Runtime['kind'];
  readonly file: string | undefined;
  readonly args: readonly string[];
}

// --no-code-cache: it is found by the path of a module, and a build may be of the same length as the
// one before. Both would else install what is missing.
const DENO = ['run', '--allow-all', '--no-code-cache', '--node-modules-dir=manual', '--no-remote'];

// Their install scripts, where they run, move the program to where the second one is.
const places: readonly Place[] = [
  ...MAJORS.map((major): Place => ({
    name: `Node ${String(major)}`,
    kind: 'Node',
    file: findNode(major),
    args: [],
  })),
  {
    name: 'Bun',
    kind: 'Bun',
    file: findPeer('@oven/bun-linux-x64/bin/bun', 'bun/bin/bun.exe'),
    args: ['--no-install'],
  },
  {
    name: 'Deno',
    kind: 'Deno',
    file: findPeer('@deno/linux-x64-glibc/deno', 'deno/deno'),
    args: DENO,
  },
];

/** `body` once for each; one that is missing is skipped by name, or fails in CI. */
export function onEachRuntime(
  body: (runtime: Runtime) => void,
  kinds: ReadonlyArray<Runtime['kind']> = ['Node', 'Bun', 'Deno'],
): void {
  for (const place of places) if (kinds.includes(place.kind)) describePlace(place, body);
}

export function onEachNode(body: (node: string, major: number) => void): void {
  onEachRuntime(
    ({ name, command: [node] }) => {
      body(node, Number(name.slice('Node '.length)));
    },
    ['Node'],
  );
}

function describePlace({ name, kind, file, args }: Place, body: (runtime: Runtime) => void): void {
  if (file !== undefined) {
    describe(name, () => {
      body({ name, kind, command: [file, ...args] });
    });
    return;
  }
  const note = `needs ${name}: npm run test:peers`;
  it(`${name} [${note}]`, (context) => {
    if (mustRun) throw new Error(`${note}, and SALLYPORT_MUST_RUN=1 allows no skip`);
    context.skip(note);
  });
}
