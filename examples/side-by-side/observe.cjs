'use strict';
// What a live process holds, read from /proc and nothing else: no part of sallyport is asked.
const { existsSync, readdirSync, readFileSync, readlinkSync } = require('node:fs');

const O_CLOEXEC = 0o2000000;
const TCP_LISTEN = '0A';

/** The address of a listening IPv4 socket by its inode, from the table the kernel publishes. */
function listenerAddress(inode) {
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  for (const row of rows) {
    const [, local, , state, , , , , , rowInode] = row.trim().split(/\s+/);
    if (rowInode !== inode || state !== TCP_LISTEN) continue;
    const [host, port] = local.split(':');
    // The kernel prints the address as one little-endian number.
    const address = Buffer.from(host, 'hex').reverse().join('.');
    return `${address}:${Number.parseInt(port, 16)}`;
  }
  return undefined;
}

function describeTarget(target) {
  const socket = /^socket:\[(\d+)\]$/.exec(target);
  if (socket) {
    const address = listenerAddress(socket[1]);
    return address ? `listener ${address}` : 'socket';
  }
  if (target.startsWith('pipe:')) return 'pipe';
  return target;
}

/** Map of descriptor number to what it is, for another process. */
function scanDescriptors(pid) {
  const numbers = readdirSync(`/proc/${pid}/fd`).map(Number);
  numbers.sort((a, b) => a - b);
  return new Map(numbers.map((fd) => [fd, describeTarget(readlinkSync(`/proc/${pid}/fd/${fd}`))]));
}

/** Names only: values have no business in a report. */
function scanVariableNames(pid) {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return entries.map((entry) => entry.slice(0, entry.indexOf('='))).sort();
}

/** One of our own descriptors: what it is, and whether a child started by exec would get it. */
function inspectOwnDescriptor(fd) {
  if (!existsSync(`/proc/self/fdinfo/${fd}`)) return { fd, what: 'closed', inheritable: false };
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)[1], 8);
  return {
    fd,
    what: describeTarget(readlinkSync(`/proc/self/fd/${fd}`)),
    inheritable: (flags & O_CLOEXEC) === 0,
  };
}

module.exports = { inspectOwnDescriptor, scanDescriptors, scanVariableNames };
