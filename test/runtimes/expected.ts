// What each program of this folder prints, as JSON, under every runtime; and where one differs.
import type { Runtime } from '../support/runtimes.js';

const refusal = (fields: object): object => ({ isError: true, ...fields });

/** By the program's name. */
export const expected: Record<string, unknown> = {
  'modules.mjs': {
    sallyport: true,
    credentials: true,
    review: true,
    childProcess: true,
    version: 'sallyport',
  },
  'spawn.cjs': {
    channels: {
      stdout: 'hello\n',
      stderr: 'problem\n',
      code: 3,
      signal: null,
      lost: false,
      exitCode: 3,
      rss: true,
    },
    events: { during: 0, names: ['spawn', 'exit', 'close'] },
    unreadOutput: true,
    signals: ['SIGTERM', 'SIGKILL', 'SIGUSR1'].map((name) => [true, name, name, false]),
    endings: ['SIGTERM', 'SIGTERM', 'SIGKILL', 'SIGTERM'],
    passList: {
      descriptors: ['0 char-device both', '1 pipe write', '2 pipe write', '7 file read'],
      passed: '/etc/passwd',
      arguments: ['one', 'two words'],
      environment: [['GREETING', 'hello']],
      cwd: '/tmp',
      leadsSession: true,
      signals: [true, true],
      noNewPrivileges: '1',
    },
    attributes: { umask: 0o77, nice: 5, limits: ['64', '64'] },
    refusals: [
      refusal({
        name: 'SallyportError',
        code: 'ENOENT',
        errno: -2,
        syscall: 'spawn /no/such/program',
        path: '/no/such/program',
        stage: 'lookup',
        stagePath: '/no/such/program',
        stageSource: 'reported',
      }),
      refusal({
        name: 'SallyportError',
        code: 'ENOENT',
        errno: -2,
        syscall: 'spawn true',
        path: 'true',
        stage: 'cwd',
        stagePath: '/no/such/directory',
        stageSource: 'inferred',
      }),
      refusal({
        name: 'SallyportError',
        code: 'EBADF',
        errno: -9,
        syscall: 'spawn true',
        path: 'true',
        stage: 'descriptor',
        stagePath: '4000',
        stageSource: 'reported',
      }),
      refusal({
        name: 'SallyportTypeError',
        code: 'ERR_SALLYPORT_UNKNOWN_OPTION',
        stage: 'plan',
        stagePath: 'options.shell',
      }),
    ],
  },
  'launch.mjs': {
    one: ['hello\n', 0],
    manyAtOnce: { pids: 100, right: 100 },
    heardOfBeforeItsExit: 0,
    refused: refusal({
      name: 'SallyportError',
      code: 'ENOENT',
      errno: -2,
      syscall: 'spawn no-such-program',
      path: 'no-such-program',
      stage: 'lookup',
      stagePath: 'no-such-program',
      stageSource: 'reported',
    }),
    takenBack: 'AbortError',
    verified: { when: 'at-exec', descriptors: 3 },
    pinned: { text: 'A=b\n', bytes: true, sha256: 64 },
    plan: [true, 'sha256:'.length + 64, true],
  },
  'streams.cjs': {
    thereAndBack: [0, true],
    backpressure: { heldBack: true, bytes: 8 * 2 ** 20, code: 0 },
    pausedAndResumed: '1\n2\n3\n4\n5\n',
    writesWaitForTheChild: { full: true, waiting: true, count: String(2 ** 20 + 4) },
    nobodyReads: true,
    destroyedByUs: 'SIGPIPE',
    floodLeavesTurns: 20,
  },
  'run.mjs': {
    report: {
      outcome: ['exited', 3],
      stdout: ['some text\n', 'eof', 10],
      stderr: 'problem\n',
      input: 10,
      cleanup: ['init', []],
      complete: true,
    },
    deadline: ['deadline', 'on\n', []],
    held: ['exited', 'hi\n', 'held', ['sleep'], []],
    containment: {
      outcome: 'aborted',
      pids: 7,
      alive: [],
      method: 'init',
      survivors: [],
      released: [],
    },
    kept: { outcome: 'exited', bytesSeen: 11_000, complete: false },
    flood: [0, 20_000_000],
    files: ['from a file\n', 'from a file\n', 'exited'],
    viaFile: ['by file\n', 'by file\n'],
    lines: ['one', 'two', 'three'],
    pipeline: [null, 'a\n', true],
    notStarted: ['spawn-failed', 'ENOENT', 'lookup'],
  },
  'run-sync.cjs': {
    report: ['exited', 3, 300_000, 'bad\n', [], true],
    deadline: ['deadline', []],
    held: ['hi\n', 'held', []],
    files: ['from a file\n', 'by memfd\n'],
    notStarted: ['spawn-failed', 'ENOENT'],
  },
  'audit.cjs': {
    leaky: true,
    seal: [true, []],
    audit: ['clean', ['0 pipe', '1 pipe', '2 char-device'], true],
    leak: ['leaks', true],
    listeners: [1, true, ['own'], 1],
    handedOn: [1, 0, true],
  },
  'listeners.cjs': {
    received: ['received as 3 web', true],
    closed: true,
    notAServer: 'ERR_SALLYPORT_INVALID_ARGUMENT',
    watched: true,
  },
  'review.mjs': {
    approved: ['accept', '2\n', 'at-exec', 0],
    rejected: ['reject', 'spawn-failed'],
    reviewed: 'accept',
  },
  'credentials.cjs': {
    endpoint: {
      printed: '200 true 401\n',
      problems: '',
      outcomes: ['served', 'refused'],
      left: [],
    },
    maskedVariable: { code: 0, shown: false, long: true },
  },
  'environment.mjs': {
    created: ['hello setting none\n', null],
    described: [true, false],
    workspace: ['home\n', ['.home', '.home/.cache', '.tmp'], false],
    gaps: true,
  },
  'workers.cjs': {
    launches: [[0, 1, 2].map(() => ({ right: 20, sync: 'from a worker\n' })), 99],
    terminated: { pids: 4, alive: [], pipes: { during: true, more: 0 } },
    afterwards: 0,
  },
  'leaks.cjs': {
    leaks: {
      left: { descriptors: [], zombies: 0, threads: 0 },
      control: { descriptors: true, zombie: 1, threads: true },
    },
  },
  'doors.cjs': { plain: 'leaks', module: 'works', register: 'works', registered: 'clean' },
};

const noDoor = ['SallyportError', 'ERR_SALLYPORT_CANNOT_INSTALL', true];

/** In the place of what stands above. */
export const deviations: Record<string, Partial<Record<Runtime['kind'], object>>> = {
  'doors.cjs': {
    // Bun's own child_process closes what is not named.
    Bun: { plain: 'clean', module: noDoor, register: noDoor, registered: 'clean' },
    Deno: { plain: 'leaks', module: noDoor, register: noDoor, registered: 'leaks' },
  },
};
