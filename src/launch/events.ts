// Brings what happened on native threads to the launches and children that it belongs to.
import {
  EVENT_EXIT,
  EVENT_LAUNCH,
  EVENT_READY,
  EVENT_REPORT,
  EVENT_USER,
  type NativeBinding,
  type NativeEvent,
  type NativeExit,
  type NativeFailure,
  type NativeUser,
} from '../native-binding.js';
import { native } from '../native.js';
import { outOfContext } from './context.js';
import {
  toExitStatus,
  toInitReport,
  toOutcome,
  type ExitStatus,
  type InitReport,
  type Launched,
} from './outcomes.js';

export interface ExitReceiver {
  receiveExit(status: ExitStatus): void;
}

export interface ReportReceiver {
  receiveReport(report: InitReport): void;
}

export interface LaunchReceiver {
  receiveLaunch(outcome: Launched | NativeFailure): void;
}

export interface UserReceiver {
  receiveUser(outcome: NativeUser): void;
}

// The maps keep receivers alive until they have heard.
const children = new Map<number, ExitReceiver>();
const launches = new Map<number, LaunchReceiver>();
const inits = new Map<number, ReportReceiver>();
const pipes = new Map<number, () => void>();
const users = new Map<number, UserReceiver>();
// Children whose launch was delivered in this turn of the event loop, and what else is heard of them:
// whoever awaits a launch comes first, and can listen for the exit. Launches never wait, so that
// nothing can overtake the launch of its child.
const fresh = new Set<number>();
let early: NativeEvent[] = [];
// Exits that came before the launch of their child, by id: where each child is watched by a thread
// of its own, without pidfds.
const premature = new Map<number, NativeExit>();
let referenced = 0;

/** What is done once in an environment, where the addon has one callback. */
interface EventDesk {
  expectExit(id: number, receiver: ExitReceiver): void;
  ignoreExit(id: number): void;
  expectReports(init: number, receiver: ReportReceiver): void;
  expectLaunch(job: number, receiver: LaunchReceiver): void;
  expectReadiness(pipe: number, call: () => void): void;
  ignoreReadiness(pipe: number): void;
  expectUser(lookup: number, receiver: UserReceiver): void;
  countReference(change: 1 | -1): void;
}

// Of the copy of this module that came first: the package may be loaded twice in one environment,
// bundled and from its sources, say, with one addon.
const DESK = Symbol.for('sallyport.events');
let desk: EventDesk | undefined;

function openDesk(): EventDesk {
  if (desk !== undefined) return desk;
  const binding = native() as NativeBinding & { [DESK]?: EventDesk };
  desk = binding[DESK];
  if (desk === undefined) {
    outOfContext(() => {
      binding.onEvents(deliver);
    });
    desk = {
      expectExit: addChild,
      ignoreExit: ignoreChild,
      expectReports: addInit,
      expectLaunch: addLaunch,
      expectReadiness: (pipe, call) => pipes.set(pipe, call),
      ignoreReadiness: (pipe) => pipes.delete(pipe),
      expectUser: (lookup, receiver) => users.set(lookup, receiver),
      countReference: addReferences,
    };
    binding[DESK] = desk;
  }
  return desk;
}

/** Before the first launch of this environment. */
export function listenForEvents(): void {
  openDesk();
}

export function expectExit(id: number, receiver: ExitReceiver): void {
  openDesk().expectExit(id, receiver);
}

/** Of a child that nobody holds. */
export function ignoreExit(id: number): void {
  openDesk().ignoreExit(id);
}

export function expectReports(init: number, receiver: ReportReceiver): void {
  openDesk().expectReports(init, receiver);
}

export function expectLaunch(job: number, receiver: LaunchReceiver): void {
  openDesk().expectLaunch(job, receiver);
}

/** @param call whenever a pipe of `watchPipe` may be tried again, until `ignoreReadiness` */
export function expectReadiness(pipe: number, call: () => void): void {
  openDesk().expectReadiness(pipe, call);
}

export function ignoreReadiness(pipe: number): void {
  openDesk().ignoreReadiness(pipe);
}

export function expectUser(lookup: number, receiver: UserReceiver): void {
  openDesk().expectUser(lookup, receiver);
}

/** Referenced children, and launches and lookups under way, keep the event loop running. */
export function countReference(change: 1 | -1): void {
  openDesk().countReference(change);
}

function addChild(id: number, receiver: ExitReceiver): void {
  children.set(id, receiver);
  const exit = premature.get(id);
  if (exit === undefined) return;
  premature.delete(id);
  early.push(exit);
}

function ignoreChild(id: number): void {
  if (!children.has(id)) addChild(id, { receiveExit: () => undefined });
}

function addInit(init: number, receiver: ReportReceiver): void {
  inits.set(init, receiver);
}

function addLaunch(job: number, receiver: LaunchReceiver): void {
  launches.set(job, receiver);
}

function addReferences(change: 1 | -1): void {
  const before = referenced;
  referenced += change;
  if ((before === 0) !== (referenced === 0)) native().keepAlive(referenced > 0);
}

function deliver(events: readonly NativeEvent[]): void {
  for (const event of events) {
    if ((event[0] === EVENT_EXIT || event[0] === EVENT_REPORT) && fresh.has(event[1])) {
      early.push(event);
      continue;
    }
    if (event[0] === EVENT_LAUNCH) {
      if (fresh.size === 0) setImmediate(deliverEarly);
      fresh.add(event[2]);
    }
    try {
      receive(event);
    } catch (error) {
      // Thrown from here, a native callback, Node would only warn and go on. From the event loop it
      // is an uncaught exception as everywhere, and the others have their events.
      process.nextTick(() => {
        throw error;
      });
    }
  }
}

function deliverEarly(): void {
  const events = early;
  early = [];
  fresh.clear();
  deliver(events);
}

function receive(event: NativeEvent): void {
  if (event[0] === EVENT_EXIT) {
    const receiver = children.get(event[1]);
    if (receiver === undefined) premature.set(event[1], event);
    children.delete(event[1]);
    receiver?.receiveExit(toExitStatus(event));
    return;
  }
  if (event[0] === EVENT_REPORT) {
    const [, init, kind] = event;
    const receiver = inits.get(init);
    if (kind === 0) inits.delete(init);
    receiver?.receiveReport(toInitReport(event));
    return;
  }
  if (event[0] === EVENT_READY) {
    pipes.get(event[1])?.();
    return;
  }
  if (event[0] === EVENT_USER) {
    const receiver = users.get(event[1]);
    users.delete(event[1]);
    receiver?.receiveUser(event);
    return;
  }
  const receiver = launches.get(event[1]);
  launches.delete(event[1]);
  receiver?.receiveLaunch(toOutcome(event));
}
