// A registry for npm on the loopback, that has the packages which are installed here and no others.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

import { makeScratch, root } from './fixtures.js';

export interface Registry {
  url: string;
  server: Server;
}

/** As the registry has it: dependencies and programs of the one version there is. */
function describe(folder: string, url: string): object {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
  };
  const { name, version } = manifest;
  const dist = { tarball: `${url}/${name}/-/package.tgz` };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}

function pack(folder: string, into: string): Buffer {
  const file = path.join(into, `${path.basename(folder)}.tgz`);
  if (!existsSync(file)) {
    const args = ['-czf', file, '--transform', 's,^\\.,package,', '-C', folder, '.'];
    const { status, stderr } = spawnSync('tar', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`tar: ${stderr}`);
  }
  return readFileSync(file);
}

export async function openRegistry(): Promise<Registry> {
  const scratch = makeScratch();
  const server = createServer((request, response) => {
    const wanted = decodeURIComponent(request.url ?? '/').slice(1);
    const [name = ''] = wanted.split('/-/');
    const folder = path.join(root, 'node_modules', name);
    if (!existsSync(path.join(folder, 'package.json'))) response.writeHead(404).end('{}');
    else if (wanted === name) response.end(JSON.stringify(describe(folder, url)));
    else response.end(pack(folder, scratch));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, server };
}
