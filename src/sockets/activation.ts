// Socket activation: receives the listeners that a service manager opened, sd_listen_fds(3).
import { invalid, refused, systemError } from '../errors.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { requireExpected, takeExpectation, type Expectation } from '../objects/expectation.js';
import { phraseObject, type DescriptorObject } from '../objects/object.js';
import { itemsOf, takeOwn } from '../own-properties.js';
import { phraseCount } from '../phrase-count.js';
import { rememberHandedElsewhere, rememberReceived, type HandedOver } from './received.js';

/** What `receiveListeners` takes. */
export interface ReceiveOptions {
  /** What they must be, in their order. More or fewer than there are is an error. */
  expect?: readonly Expectation[] | undefined;
}

/** A socket that was handed to this process: for `server.listen({ fd })`. */
export interface ReceivedListener extends DescriptorObject {
  /** Number of the descriptor, from 3 on. */
  readonly fd: number;
  /** From LISTEN_FDNAMES; `unknown` where it has none, as in systemd. */
  readonly name: string;
}

const VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID'] as const;
const FIRST = 3;
// More than a service manager hands over, fewer than a broken variable may say.
const MOST = 4096;

/**
 * Takes what LISTEN_FDS names, if LISTEN_PID says that it is meant for this process: sets
 * close-on-exec on each, makes sure that each is a socket, and what `expect` says. The variables are
 * removed from `process.env` in any case, so that no child takes them for its own.
 *
 * @returns by ascending number; empty where nothing was handed to this process
 * @throws {SallyportTypeError | SallyportError} where the variables are malformed, a number is not
 *   open (EBADF), or is not what it should be (`ERR_SALLYPORT_UNEXPECTED_OBJECT`)
 */
export function receiveListeners(options?: ReceiveOptions): ReceivedListener[] {
  const { expect } = takeOwn(options, 'options', ['expect']);
  const expectations = takeExpectations(expect);
  const { LISTEN_PID: pid, LISTEN_FDS: count, LISTEN_FDNAMES: names } = takeVariables();
  // Set for another process, which forgot to remove them, or absent: nothing is meant for us.
  if (pid === undefined || count === undefined || pid !== String(process.pid)) {
    requireCount(expectations, 0, rememberHandedElsewhere(pid, count));
    return [];
  }
  if (!/^\d{1,9}$/.test(count) || Number(count) > MOST) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'LISTEN_FDS', 'is no number of descriptors');
  }
  const listNames = names?.split(':') ?? [];
  const numbers = Array.from({ length: Number(count) }, (_, index) => FIRST + index);
  // All of them first: an error about one, or their count, must not leave the others open to a later
  // spawn.
  const errnos = numbers.map((fd) => native().setCloseOnExec(fd));
  requireCount(expectations, Number(count));
  errnos.forEach((errno, index) => {
    if (errno !== 0) throw notOpen(FIRST + index, errno, 'fcntl');
  });
  return numbers.map((fd, index) => {
    const object = describe(fd);
    const expected = expectations?.[index];
    if (expected !== undefined) requireExpected(fd, object, expected);
    rememberReceived(object.inode);
    return { fd, name: listNames[index] ?? 'unknown', ...object };
  });
}

function takeExpectations(expect: unknown): Expectation[] | undefined {
  if (expect === undefined) return undefined;
  if (!Array.isArray(expect)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'expect', 'must be an array of expectations');
  }
  return itemsOf(expect).map((value, index) => takeExpectation(value, `expect[${index}]`));
}

function takeVariables(): Partial<Record<(typeof VARIABLES)[number], string>> {
  const taken: Partial<Record<(typeof VARIABLES)[number], string>> = {};
  for (const name of VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) taken[name] = value;
    Reflect.deleteProperty(process.env, name);
  }
  return taken;
}

function requireCount(
  expectations: readonly Expectation[] | undefined,
  count: number,
  elsewhere?: HandedOver,
): void {
  if (expectations === undefined || expectations.length === count) return;
  const advice =
    elsewhere === undefined
      ? ''
      : `: LISTEN_PID names process ${elsewhere.pid}, and this is ${process.pid}: let the service manager start this program itself, with no shell or npm in between`;
  throw refused(
    'ERR_SALLYPORT_UNEXPECTED_OBJECT',
    `${phraseCount(count, 'listener was', 'listeners were')} handed to this process: expected ${expectations.length}${advice}`,
    { stage: 'descriptor', stagePath: 'LISTEN_FDS', stageSource: 'reported' },
  );
}

function describe(fd: number): DescriptorObject {
  const object = native().describeDescriptor(fd);
  if (isFailure(object)) throw notOpen(fd, object.errno, 'fstat');
  if (object.socket !== undefined) return object;
  throw refused(
    'ERR_SALLYPORT_UNEXPECTED_OBJECT',
    `descriptor ${fd} was handed over as a listener and is ${phraseObject(object)}`,
    { stage: 'descriptor', stagePath: String(fd), stageSource: 'reported' },
  );
}

function notOpen(fd: number, errno: number, step: string): Error {
  return systemError(errno, step, 'LISTEN_FDS names a descriptor that is not there', {
    syscall: 'receive listeners',
    stage: 'descriptor',
    stagePath: String(fd),
    stageSource: 'reported',
  });
}
