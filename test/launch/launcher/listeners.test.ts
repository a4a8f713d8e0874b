// `listeners`: sockets for a program that takes them by the rules of sd_listen_fds(3).
import { createServer, connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import {
  createEnvironment,
  launch,
  planLaunch,
  spawn,
  type SpawnOptions,
} from '../../../src/index.js';
import { thrown } from '../../support/errors.js';
import { fixture, loadStorm } from '../../support/fixtures.js';
import { readAll } from '../../support/processes.js';
import { readWitness, witness, type Witness } from '../../support/witness.js';

const storm = loadStorm();
const activated = fixture('activated');
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;

interface Taken {
  /** LISTEN_PID is the program's own pid. */
  isOurs: boolean;
  count: number;
  sockets: Array<Record<'fd' | 'name' | 'type' | 'listening' | 'closeOnExec', unknown>>;
  namesLeft: string;
}

const opened: number[] = [];
const keep = (fd: number): number => {
  opened.push(fd);
  return fd;
};
const listener = (): number => keep(storm.listenInheritable(40).fd);
const datagram = (): number => keep(storm.makeInheritable('udp', 40)[0]!);

afterEach(() => {
  for (const fd of opened.splice(0)) storm.closeFd(fd);
});

async function take(options: SpawnOptions): Promise<Taken> {
  const child = spawn(activated, [], options);
  const taken = JSON.parse((await readAll(child.stdout!)).toString()) as Taken;
  await child.exited;
  return taken;
}

const variablesOf = ({ environment }: Witness): Record<string, string | null> =>
  Object.fromEntries(environment.filter(([name]) => name.startsWith('LISTEN_')));

describe('listeners', () => {
  it('from number 3 in the order given, with names', async () => {
    const listeners = [
      { fd: listener(), name: 'http' },
      datagram(),
      { fd: listener(), name: 'a-b.c@[__]' },
    ];
    expect(await take({ listeners })).toEqual({
      isOurs: true,
      count: 3,
      sockets: [
        { fd: 3, name: 'http', type: SOCK_STREAM, listening: true, closeOnExec: false },
        { fd: 4, name: 'unknown', type: SOCK_DGRAM, listening: false, closeOnExec: false },
        { fd: 5, name: 'a-b.c@[__]', type: SOCK_STREAM, listening: true, closeOnExec: false },
      ],
      namesLeft: '',
    });
  });

  it.each<[string, SpawnOptions]>([
    ['by a lane', {}],
    ['by the calling thread', { noNewPrivileges: false }],
    ['with another cwd and session', { cwd: '/', session: 'group' }],
    ['with steps before', { umask: 0o77, nice: 2 }],
    ['with an empty environment', { env: {} }],
    ['with a long one', { env: { LONG: 'x'.repeat(100_000) } }],
  ])('LISTEN_PID is the pid of the child, %s', async (_, options) => {
    const given = { ...options, listeners: [listener()] };
    for (const start of [spawn, launch]) {
      const child = await start(witness, [], given);
      const seen = await readWitness(child);
      expect(seen.pid).toBe(child.pid);
      expect(variablesOf(seen)).toEqual({
        LISTEN_FDS: '1',
        LISTEN_FDNAMES: 'unknown',
        LISTEN_PID: String(child.pid),
      });
    }
  });

  it('the other variables are those that the plan has', async () => {
    const env = createEnvironment({ set: { MARK: '1' } });
    const child = spawn(witness, [], { env, listeners: [listener()] });
    const { environment } = await readWitness(child);
    expect(Object.fromEntries(environment)).toEqual({
      ...child.plan.environment,
      LISTEN_PID: String(child.pid),
    });
    expect(child.plan.environment).toMatchObject({ ...env.variables, LISTEN_FDS: '1' });
    expect(child.plan.environmentSource).toBe('explicit');
    expect(child.plan.environment).not.toHaveProperty('LISTEN_PID');
  });

  it('accepts in the child: we listen, it answers', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    const child = spawn(activated, ['--answer'], { listeners: [fd] });
    // Ours is closed, so that only the child can accept.
    await new Promise((resolve) => server.close(resolve));
    const answer = await readAll(connect(port, '127.0.0.1'));
    expect(answer.toString()).toBe(String(child.pid));
    expect((await child.exited).code).toBe(0);
  });

  it('together with stdio and the pass list, and nothing else', async () => {
    const first = listener();
    const child = spawn(witness, [], {
      stdio: ['null', 'pipe', 'null'],
      listeners: [first, datagram()],
      pass: [
        { fd: first, as: 9 },
        { fd: keep(storm.openInheritable('/etc/hosts', 40)), as: 5 },
      ],
    });
    const { descriptors } = await readWitness(child);
    expect(descriptors.map(({ fd, type }) => [fd, type])).toEqual([
      [0, 'char-device'],
      [1, 'pipe'],
      [2, 'char-device'],
      [3, 'socket'],
      [4, 'socket'],
      [5, 'file'],
      [9, 'socket'],
    ]);
    expect(descriptors.every(({ closeOnExec }) => !closeOnExec)).toBe(true);
    // The same object under two numbers.
    expect(descriptors[6]?.ino).toBe(descriptors[3]?.ino);
  });

  it('none: no variables, and no launcher', async () => {
    const child = spawn(witness, [], { listeners: [] });
    expect(child.plan.route.launcher).toBe(false);
    expect(variablesOf(await readWitness(child))).toEqual({});
  });
});

describe('refused', () => {
  it.each<[string, string, RegExp]>([
    ['a file', '/etc/hosts', /is file \/etc\/hosts \(read\).*: a listener must be a socket$/],
    ['a directory', '/etc', /is directory/],
    ['a device', '/dev/null', /is char-device/],
  ])('%s', (_, path, message) => {
    const fd = keep(storm.openInheritable(path, 40));
    const error = thrown(() => spawn('true', [], { listeners: [fd] }));
    expect(error).toMatchObject({
      code: 'ERR_SALLYPORT_UNEXPECTED_OBJECT',
      stage: 'descriptor',
      stagePath: String(fd),
      stageSource: 'reported',
    });
    expect(error.message).toMatch(message);
  });

  it('a number that is not open', () => {
    const error = thrown(() => spawn('true', [], { listeners: [4000] }));
    expect(error).toMatchObject({ code: 'EBADF', stage: 'descriptor', stagePath: '4000' });
  });

  it.each(['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'])('%s in env as well', (name) => {
    const error = thrown(() =>
      spawn('true', [], { listeners: [listener()], env: { A: '1', [name]: 'made-up' } }),
    );
    expect(error).toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
      stagePath: 'listeners',
    });
    expect(error.message).toBe(`listeners: ${name} is in env as well; leave it out there`);
  });

  it('but without listeners these are variables like any other', async () => {
    const child = spawn(witness, [], { env: { LISTEN_PID: '1', LISTEN_FDS: '2' } });
    expect(variablesOf(await readWitness(child))).toEqual({ LISTEN_PID: '1', LISTEN_FDS: '2' });
  });

  it('a number that the pass list has too', () => {
    const fd = listener();
    const error = thrown(() => spawn('true', [], { listeners: [fd], pass: [{ fd, as: 3 }] }));
    expect(error).toMatchObject({ code: 'ERR_SALLYPORT_INVALID_DESCRIPTOR' });
    expect(error.message).toContain('names 3 twice');
  });

  it.each<[unknown, string]>([
    ['3', 'listeners'],
    [['3'], 'listeners[0]'],
    [[-1], 'listeners[0]'],
    [[{ name: 'x' }], 'listeners[0].fd'],
    [[{ fd: 0, name: '' }], 'listeners[0].name'],
    [[0, { fd: 0, name: 'a:b' }], 'listeners[1].name'],
    [[{ fd: 0, name: 'a b' }], 'listeners[0].name'],
    [[{ fd: 0, name: 'é' }], 'listeners[0].name'],
    [[{ fd: 0, name: 'a\n' }], 'listeners[0].name'],
    [[{ fd: 0, name: 'x'.repeat(256) }], 'listeners[0].name'],
    [[{ fd: 0, as: 4 }], 'listeners[0].as'],
  ])('%j', (listeners, stagePath) => {
    const error = thrown(() => planLaunch('true', [], { listeners } as SpawnOptions));
    expect(error).toMatchObject({ name: 'SallyportTypeError', stage: 'plan', stagePath });
  });
});
