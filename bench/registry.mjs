// Which drivers there are, how each is started, and which are not installed here.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const here = import.meta.dirname;
const INSTALL = 'npm run bench:peers';

// JS heaps of 4 GiB must fit, and trials collect garbage before they measure.
const V8_FLAGS = ['--expose-gc', '--max-old-space-size=8192'];

const peers = process.env.SALLYPORT_BENCH_PEERS ?? path.join(here, 'peers');
const peer = (...names) => path.join(peers, 'node_modules', ...names);
const driver = (name) => path.join(here, 'drivers', name);

function onPath(name) {
  const folders = (process.env.PATH ?? '').split(':').filter(path.isAbsolute);
  return folders.map((folder) => path.join(folder, name)).find(existsSync);
}

/** The interpreter itself: a version manager's shim is a shell script with a start-up of its own. */
function findPython() {
  const { stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
    encoding: 'utf8',
  });
  return stdout?.trim() || undefined;
}

function nodeDriver(major) {
  const binary = process.env[`SALLYPORT_BENCH_NODE${major}`] ?? peer(`node${major}`, 'bin/node');
  return {
    id: `node${major}`,
    label: 'child_process, Node',
    family: 'javascript',
    command: [binary, ...V8_FLAGS, driver('child-process.mjs')],
    missing: existsSync(binary) ? undefined : INSTALL,
  };
}

function packageDriver(name) {
  return {
    id: name,
    label: name,
    family: 'javascript',
    // Built on child_process: trials of the start itself and of pipes would measure Node again.
    wrapsChildProcess: true,
    command: [process.execPath, ...V8_FLAGS, driver(`${name}.mjs`), peers],
    missing: existsSync(peer(name)) ? undefined : INSTALL,
  };
}

/** In the order in which tables list them; a `subject` is what the others are compared with. */
export function listDrivers({ spawnLoop, dist }) {
  const bun = existsSync(peer('.bin/bun')) ? peer('.bin/bun') : onPath('bun');
  const deno = existsSync(peer('.bin/deno')) ? peer('.bin/deno') : onPath('deno');
  const python = findPython();
  return [
    {
      id: 'spawn',
      label: 'sallyport spawn',
      family: 'javascript',
      subject: true,
      command: [process.execPath, ...V8_FLAGS, driver('sallyport.mjs'), 'spawn'],
      missing: existsSync(dist) ? undefined : 'npm run build',
    },
    {
      id: 'node',
      label: 'child_process, Node',
      family: 'javascript',
      command: [process.execPath, ...V8_FLAGS, driver('child-process.mjs')],
    },
    nodeDriver(22),
    nodeDriver(24),
    nodeDriver(26),
    {
      id: 'bun',
      label: 'Bun.spawn, Bun',
      family: 'javascript',
      command: [bun, driver('bun.mjs')],
      missing: bun ? undefined : INSTALL,
    },
    {
      id: 'deno',
      label: 'Deno.Command, Deno',
      family: 'javascript',
      command: [
        deno,
        'run',
        '--allow-all',
        '--no-lock',
        `--v8-flags=${V8_FLAGS.join(',')}`,
        driver('deno.mjs'),
      ],
      missing: deno ? undefined : INSTALL,
    },
    packageDriver('tinyexec'),
    packageDriver('execa'),
    {
      id: 'python',
      label: 'subprocess, Python',
      family: 'python',
      command: [python, driver('python_subprocess.py')],
      missing: python ? undefined : 'install python3',
    },
    {
      id: 'c',
      label: 'C, posix_spawn + waitpid',
      family: 'c',
      command: [spawnLoop],
      missing: spawnLoop ? undefined : 'install a C compiler (cc)',
    },
  ];
}
