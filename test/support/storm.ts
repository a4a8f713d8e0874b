// The types of the storm addon (test/fixtures/storm/): what JavaScript cannot do to its process.

export interface Storm {
  /** Starts a thread that opens and closes descriptors without close-on-exec, without pause. */
  startStorm(): void;
  /** Gives how many times the thread went round. */
  stopStorm(): number;
  stormCycles(): number;
  /**
   * Starts a thread that works against this process. `swap`: it closes the descriptor and puts another
   * object there, and back. `hunt`: it replaces every other number that refers to the same object.
   */
  startHostile(how: 'swap' | 'hunt', fd: number, other: string): void;
  /** Gives how often it did so. */
  stopHostile(): number;
  hostileCount(): number;
  openInheritable(
    path: string,
    atLeast?: number,
    access?: 'read' | 'write' | 'both' | 'none',
  ): number;
  listenInheritable(atLeast?: number): { fd: number; port: number };
  makeInheritable(
    kind: 'pipe' | 'socketpair' | 'udp' | 'memfd' | 'eventfd' | 'epoll' | 'terminal',
    atLeast?: number,
  ): number[];
  dup2(from: number, to: number): number;
  setCloexec(fd: number, on: boolean): void;
  isCloexec(fd: number): boolean;
  closeFd(fd: number): void;
  ignoreSigchld(): void;
  ignoreSignal(signal: number): void;
  /** In the calling thread. */
  blockSignal(signal: number): void;
  setSoftLimit(name: 'nofile' | 'nproc' | 'core' | 'stack', value: number): void;
  /** Lets any process of this user trace this one. */
  allowTracing(): void;
  /** Whether the kernel has a child for us to wait for, running or dead. */
  hasChildren(): boolean;
  /** Takes a child's status away from whoever else waits for it. */
  reapChild(pid: number): number;
  /** 0, or the errno with which the system refuses pidfd_open. */
  tryPidfdOpen(): number;
  /** posix_spawn with no file actions, waited for: the exit code, or 128 + the signal. */
  plainSpawn(path: string, args: string[]): number;
}
