// A package registry on the loopback: has what is installed here and one package that is published.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';

import { spawn } from '../../src/index.js';
import { root } from '../support/fixtures.js';

interface Installed {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
}

/** From the lock file: the folder's own name need not be the package's. */
function listInstalled(): Installed[] {
  const text = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  const lock = JSON.parse(text) as { packages: Record<string, { version?: string }> };
  return Object.entries(lock.packages).flatMap(([place, { version }]) => {
    const folder = path.join(root, place);
    const name = place.split('node_modules/').at(-1);
    if (!name || version === undefined || !existsSync(folder)) return [];
    return [{ name, version, folder }];
  });
}

/** As npm packs it: all below `package/`, and no hard links, which an installed package may have. */
async function pack(folder: string): Promise<Buffer> {
  const args = [
    '-cz',
    '--exclude=./node_modules',
    '--hard-dereference',
    '--transform=s,^\\.,package,',
    '-C',
    folder,
    '.',
  ];
  await using child = spawn('tar', args);
  const bytes = await buffer(child.stdout);
  const { code } = await child.exited;
  // 1: somebody made a hard link of a file meanwhile, which is a change to tar.
  if (code !== 0 && code !== 1) throw new Error(`tar of ${folder} ended with ${String(code)}`);
  return bytes;
}

export interface Registry {
  readonly url: string;
  close(): void;
}

/** @param published path of a tarball of this package */
export async function startRegistry(published: string): Promise<Registry> {
  const { name, version } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  ) as Installed;
  const ours = { name, version, folder: root };
  const installed = [ours, ...listInstalled()];
  const packed = new Map<string, Promise<Buffer>>([
    [root, Promise.resolve(readFileSync(published))],
  ]);
  let url = '';

  const packOnce = (folder: string): Promise<Buffer> => {
    const before = packed.get(folder);
    if (before !== undefined) return before;
    const bytes = pack(folder);
    packed.set(folder, bytes);
    return bytes;
  };

  async function describe({ version, folder }: Installed): Promise<[string, unknown]> {
    const manifest = readFileSync(path.join(folder, 'package.json'), 'utf8');
    const bytes = await packOnce(folder);
    const hash = (algorithm: string) => createHash(algorithm).update(bytes);
    const dist = {
      tarball: `${url}-/${encodeURIComponent(path.relative(root, folder) || '.')}.tgz`,
      shasum: hash('sha1').digest('hex'),
      integrity: `sha512-${hash('sha512').digest('base64')}`,
    };
    return [version, { ...(JSON.parse(manifest) as object), dist }];
  }

  async function answer({ url: asked = '' }: IncomingMessage, response: ServerResponse) {
    const [, place] = /^\/-\/(.*)\.tgz$/.exec(asked) ?? [];
    if (place !== undefined) {
      const folder = path.join(root, decodeURIComponent(place));
      const known = installed.some((one) => one.folder === folder);
      response.writeHead(known ? 200 : 404).end(known ? await packOnce(folder) : '');
      return;
    }
    const name = decodeURIComponent(asked.slice(1));
    const found = installed.filter((one) => one.name === name);
    const versions = await Promise.all(found.map(describe));
    const latest = found[0]?.version;
    response.writeHead(latest === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        name,
        'dist-tags': { latest },
        versions: Object.fromEntries(versions),
        // Yarn takes nothing that is only days old.
        time: Object.fromEntries(versions.map(([version]) => [version, '2020-01-01T00:00:00Z'])),
      }),
    );
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
