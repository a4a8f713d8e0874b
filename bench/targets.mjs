// The programs that the benchmarks start, and the C driver: compiled here when they are missing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

const source = path.join(import.meta.dirname, 'native');
const build = path.join(source, 'build');
const fixtures = path.join(import.meta.dirname, '../test/fixtures');

const PROGRAMS = {
  spawn_loop: ['-O2', '-pthread'],
  pour: ['-O2'],
};

function modified(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function run(file, args) {
  const { status, stderr, error } = spawnSync(file, args, { encoding: 'utf8' });
  if (status === 0) return true;
  console.error(`bench: ${file} failed: ${stderr?.trim() || error}`);
  return false;
}

/** Paths by name; a program that cannot be built is absent. */
export function buildTargets() {
  mkdirSync(build, { recursive: true });
  const built = {};
  for (const [name, flags] of Object.entries(PROGRAMS)) {
    const file = path.join(build, name);
    const code = path.join(source, `${name}.c`);
    const isFresh = modified(file) > modified(code);
    if (isFresh || run('cc', [...flags, code, '-o', file])) built[name] = file;
  }
  // The tests start it too.
  if (run('make', ['--silent', '-C', fixtures, 'build/exit_fast'])) {
    built.exit_fast = path.join(fixtures, 'build/exit_fast');
  }
  return built;
}
