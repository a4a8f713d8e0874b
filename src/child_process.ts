// `sallyport/child_process`: node:child_process, with our way of starting programs below it.
import type {
  ChildProcess as NodeChildProcess,
  ExecException,
  ExecFileException,
} from 'node:child_process';
import * as node from 'node:child_process';
import { promisify } from 'node:util';

import { withOwn } from './compat/install.js';

export type * from 'node:child_process';
export type { ExecException, ExecFileException };

type AnyFunction = (this: unknown, ...words: never[]) => unknown;

/** The same function, and its promisified form likewise. */
function own<F extends AnyFunction>(original: F): F {
  const wrapped = function (this: unknown, ...words: never[]): unknown {
    return withOwn(() => original.apply(this, words));
  };
  Object.defineProperty(wrapped, 'name', { value: original.name, configurable: true });
  Object.defineProperty(wrapped, 'length', { value: original.length, configurable: true });
  const promised = (original as { [promisify.custom]?: AnyFunction })[promisify.custom];
  // Bun's are their own promisified form.
  if (promised === original) {
    Object.defineProperty(wrapped, promisify.custom, { value: wrapped, configurable: true });
  } else if (promised !== undefined) {
    Object.defineProperty(wrapped, promisify.custom, { value: own(promised), configurable: true });
  }
  return wrapped as unknown as F;
}

export const spawn = own(node.spawn);
export const exec = own(node.exec);
export const execFile = own(node.execFile);
export const fork = own(node.fork);
export const spawnSync = own(node.spawnSync);
export const execSync = own(node.execSync);
export const execFileSync = own(node.execFileSync);

/** Of what `spawn` and the others return, and of its own instances. */
export const ChildProcess = ownClass(node.ChildProcess);
export type ChildProcess = NodeChildProcess;

function ownClass(original: typeof NodeChildProcess): typeof NodeChildProcess {
  class ChildProcess extends original {
    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof original;
    }

    spawn(...words: unknown[]): unknown {
      const inherited = (original.prototype as unknown as { spawn: AnyFunction }).spawn;
      return withOwn(() => inherited.apply(this, words as never[]));
    }
  }
  return ChildProcess;
}
