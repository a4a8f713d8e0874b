// A path that the caller may also write as a file: URL.
import { fileURLToPath } from 'node:url';

/** undefined: it is none that the system could take. */
export function toPath(value: unknown): string | undefined {
  const path = value instanceof URL ? fromUrl(value) : value;
  return typeof path === 'string' && path !== '' && !path.includes('\0') ? path : undefined;
}

function fromUrl(url: URL): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    // Another protocol, a host, or a slash that is written as %2F.
    return undefined;
  }
}
