// Finds the programs that the checks need, says which are missing, and runs them.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..');

/** In CI nothing may be left out: there a missing tool is a failure. */
export const mustRun = process.env.SALLYPORT_MUST_RUN === '1';

export function isInstalled(tool) {
  return (process.env.PATH ?? '').split(path.delimiter).some((directory) => {
    try {
      accessSync(path.join(directory, tool), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** doctest is a header, so only the compiler can say whether it is there. */
export function hasDoctest() {
  const compiler = process.env.CXX ?? 'c++';
  const input = '#include <doctest/doctest.h>\n';
  return spawnSync(compiler, ['-E', '-x', 'c++', '-'], { input, stdio: 'pipe' }).status === 0;
}

/** A compiler may know a sanitizer whose library is not installed: only linking tells. */
export function hasSanitizer(names) {
  const compiler = process.env.CXX ?? 'c++';
  const args = [`-fsanitize=${names}`, '-x', 'c++', '-', '-o', '/dev/null'];
  return spawnSync(compiler, args, { input: 'int main() {}\n', stdio: 'pipe' }).status === 0;
}

/** Runs a program in the root folder with its output shown; true when it succeeded. */
export function run(program, args, env = {}) {
  const result = spawnSync(program, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (result.error) console.error(`${program}: ${result.error.message}`);
  return result.status === 0;
}

/** Runs a script of an installed package, or one of ours, by this Node. */
export function runNode(script, ...args) {
  return run(process.execPath, [path.join(root, script), ...args]);
}
