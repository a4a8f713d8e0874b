// The table of docs/containers.md, row by row, by a program that tries it under the capabilities,
// namespaces and refused system calls of each column.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { makeScratch, publicFixture, root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';
import { findCodeSpans, readDocument } from './markdown.js';

/** Docker's default ones, capabilities(7). */
const DOCKER = [
  'chown',
  'dac_override',
  'fsetid',
  'fowner',
  'mknod',
  'net_raw',
  'setgid',
  'setuid',
  'setfcap',
  'setpcap',
  'net_bind_service',
  'sys_chroot',
  'kill',
  'audit_write',
];

const KCMP = process.arch === 'x64' ? 312 : 272;
const ordinary = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const without = [...ordinary, '--bounding-set=-all'];
const lo = 'ip link set lo up && exec "$@"';

function columns(): Record<string, string[]> {
  const deny = publicFixture('seccomp_deny');
  const profile = [
    deny,
    'EPERM',
    `${KCMP},pidfd_getfd,unshare`,
    '--',
    deny,
    'ENOSYS',
    'clone3',
    '--',
  ];
  const old =
    'pidfd_open,pidfd_send_signal,pidfd_getfd,close_range,openat2,unshare,waitid:3'; /* P_PIDFD */
  const namespaces = ['user', 'map-root-user', 'mount', 'pid', 'fork', 'mount-proc', 'net'];
  return {
    'Docker, root': [
      'setpriv',
      `--bounding-set=-all,${DOCKER.map((name) => `+${name}`).join(',')}`,
      '--inh-caps=-all',
      ...profile,
    ],
    'Docker, USER': [...without, ...profile],
    rootless: [
      ...ordinary,
      'unshare',
      ...namespaces.map((name) => `--${name}`),
      ...['sh', '-c', lo, 'sh'],
    ],
    'old profile': [...without, deny, 'EPERM', old, '--'],
    'no tracing': [...without, deny, 'EPERM', 'process_vm_readv,pidfd_getfd', '--'],
  };
}

/** That every uid can read. */
function installPublicly(): string {
  const folder = path.join(makeScratch(), 'package');
  mkdirSync(folder);
  chmodSync(path.dirname(folder), 0o755);
  const parts = ['package.json', 'dist', 'build/Release', 'node_modules/node-gyp-build'];
  for (const part of parts) {
    cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
  }
  copyFileSync(
    path.join(import.meta.dirname, 'container-probe.mjs'),
    path.join(folder, 'probe.mjs'),
  );
  return folder;
}

const section = readDocument('docs/containers.md').sections.find(
  ({ heading }) => heading === 'What works',
);
const rows = (section?.rows ?? []).map(([label = '', ...cells]) => ({
  name: findCodeSpans(label)[0] ?? '',
  cells,
}));

describe('docs/containers.md', () => {
  const names = Object.keys(columns());

  it('has the columns that are tried, and more than one answer', () => {
    const text = readDocument('docs/containers.md').text;
    expect(text).toContain(`| | ${names.join(' | ')} |`);
    expect(new Set(rows.flatMap(({ cells }) => cells)).size).toBeGreaterThan(3);
  });

  needs('root', 'setpriv', 'unshare', 'user namespaces', 'ss').describe('tells what is so', () => {
    let folder: string;
    beforeAll(() => {
      folder = installPublicly();
    });

    it.each(names.map((name, index) => [name, index] as const))('%s', (name, index) => {
      const [command = '', ...args] = columns()[name] ?? [];
      const probe = [process.execPath, path.join(folder, 'probe.mjs'), path.join(folder, 'dist')];
      const { stdout, stderr } = spawnSync(command, [...args, ...probe], {
        cwd: '/',
        encoding: 'utf8',
        timeout: 60_000,
      });
      expect(stderr).toBe('');
      const said = Object.fromEntries(rows.map((row) => [row.name, row.cells[index]]));
      expect(JSON.parse(stdout)).toEqual(said);
    });
  });
});
