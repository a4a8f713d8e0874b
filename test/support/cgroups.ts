// A control group of the tests' own, where the machine lets us make one, cgroups(7).
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import path from 'node:path';

/** The mount point of version 2. */
export function cgroupMount(): string | undefined {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  return /^\d+ \d+ \S+ \/ (\S+) .*? - cgroup2 /m.exec(mounts)?.[1];
}

/** The mark of a service manager that has handed a group over. */
export function markDelegated(directory: string, name = 'trusted.delegate'): boolean {
  const script = 'import os, sys; os.setxattr(sys.argv[1], sys.argv[2], b"1")';
  return spawnSync('python3', ['-c', script, directory, name]).status === 0;
}

/** To be removed with `removeCgroup`. undefined: this user may make none. */
export function makeCgroup(): string | undefined {
  const mount = cgroupMount();
  if (mount === undefined) return undefined;
  const directory = path.join(mount, `sallyport-test-${randomUUID()}`);
  try {
    mkdirSync(directory);
  } catch {
    return undefined;
  }
  if (!existsSync('/run/systemd/system') || markDelegated(directory)) return directory;
  rmdirSync(directory);
  return undefined;
}

/** Names of the groups below it. */
export function listCgroups(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** With what is below it, once nobody is in there. */
export function removeCgroup(directory: string): void {
  for (const name of listCgroups(directory)) removeCgroup(path.join(directory, name));
  rmdirSync(directory);
}
