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

/** `own`: never left out as one of many peers. `subject`: what the others are compared with. */
function sallyportDriver({ id, label, call, options = {}, ...rest }, dist) {
  return {
    id,
    label,
    family: 'javascript',
    own: true,
    command: [
      process.execPath,
      ...V8_FLAGS,
      driver('sallyport.mjs'),
      call,
      JSON.stringify(options),
    ],
    missing: existsSync(dist) ? undefined : 'npm run build',
    ...rest,
  };
}

const SALLYPORT = [
  { id: 'spawn', label: 'sallyport spawn', call: 'spawn', subject: true },
  { id: 'launch', label: 'sallyport launch', call: 'launch', subject: true },
  {
    id: 'direct',
    label: 'sallyport spawn, direct',
    call: 'spawn',
    options: { noNewPrivileges: false },
    // After the start there is no difference.
    startsOnly: true,
  },
];

/** The same package with other options, for trials of what an option costs. */
export function withOptions(definition, options) {
  const all = { ...JSON.parse(definition.command.at(-1)), ...options };
  return { ...definition, command: [...definition.command.slice(0, -1), JSON.stringify(all)] };
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

/** In the order in which tables list them. */
export function listDrivers({ spawnLoop, dist }) {
  const bun = existsSync(peer('.bin/bun')) ? peer('.bin/bun') : onPath('bun');
  const deno = existsSync(peer('.bin/deno')) ? peer('.bin/deno') : onPath('deno');
  const python = findPython();
  return [
    ...SALLYPORT.map((definition) => sallyportDriver(definition, dist)),
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
