// The ports of sockets.
import { invalid } from '../errors.js';

const AF_INET = 2;
const AF_INET6 = 10;

/** Of an IP socket. A Unix socket whose path ends like a port has none. */
export function localPort({ family, local }: { family: number; local: string }): number | null {
  if (family !== AF_INET && family !== AF_INET6) return null;
  return Number(local.slice(local.lastIndexOf(':') + 1));
}

/** @throws {SallyportTypeError} */
export function requirePort(port: unknown, option: string): number {
  if (typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65536) return port;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be a number from 1 to 65535');
}
