// A child stays where its parent is, though neither could come there by its path any more.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

describe.each(['spawn', 'launch'] as const)('%s', (call) => {
  it.each([true, false])('noNewPrivileges: %s', async (noNewPrivileges) => {
    const seen = await inNode(
      async ({ sallyport, scratch, require }, { by, ...options }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const directory = `${scratch}/locked/inner`;
        fs.mkdirSync(directory, { recursive: true });
        process.chdir(directory);
        fs.chmodSync(`${scratch}/locked`, 0);
        // Root may enter everything.
        if (process.getuid?.() === 0) process.setuid?.(65534);
        const read = async (cwd?: string) => {
          const child = await sallyport[by]('/bin/readlink', ['/proc/self/cwd'], {
            ...options,
            stdio: ['null', 'pipe', 'null'],
            ...(cwd === undefined ? {} : { cwd }),
          });
          const pieces: Buffer[] = [];
          for await (const piece of child.stdout ?? []) pieces.push(piece as Buffer);
          return Buffer.concat(pieces).toString().trim() === directory;
        };
        const refused = await read('/proc/self/cwd/..').catch((error: unknown) => error);
        return {
          kept: await read(),
          named: await read(directory),
          refused: (refused as { code?: string }).code,
        };
      },
      { by: call, noNewPrivileges },
      { publicly: true },
    );
    expect(seen).toEqual({ kept: true, named: true, refused: 'EACCES' });
  });
});
