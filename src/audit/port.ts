// The ports of sockets.
import { invalid } from '../errors.js';
import type { SocketFacts } from '../objects/object.js';

const AF_INET = 2;
const AF_INET6 = 10;

const SOCK_RAW = 3;
const IPPROTO_ICMP = 1;
const IPPROTO_ICMPV6 = 58;

/**
 * Of a TCP or UDP socket. A Unix socket whose path ends like a port has none, and what the kernel's
 * tables show in its place of a raw socket is its protocol, of a ping its identifier.
 */
export function localPort({
  family,
  type,
  protocol,
  local,
}: Pick<SocketFacts, 'family' | 'type' | 'protocol' | 'local'>): number | null {
  if (family !== AF_INET && family !== AF_INET6) return null;
  if (type === SOCK_RAW || protocol === IPPROTO_ICMP || protocol === IPPROTO_ICMPV6) return null;
  return Number(local.slice(local.lastIndexOf(':') + 1));
}

/** @throws {SallyportTypeError} */
export function requirePort(port: unknown, option: string): number {
  if (typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65536) return port;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be a number from 1 to 65535');
}
