// With the C library of the oldest systems that Node 20 runs on, glibc 2.28: nothing is missing but
// what cannot be done exactly. Its later file actions are hidden from the addon.
import { expect, it } from 'vitest';

import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';

const old = { env: { LD_PRELOAD: fixture('old_libc.so') } };

it('launches begin in their directory, with exactly their descriptors', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, fixture, require }) => {
      const { readlinkSync } = require('node:fs') as typeof import('node:fs');
      const source = storm.openInheritable('/etc/hosts', 30);
      const hold = { stdio: 'null', pass: [{ fd: source, as: 5 }] } as const;
      const looks: unknown[] = [];
      const began = process.cwd();
      for (const cwd of ['/usr', undefined, '/usr/bin', '/']) {
        const options = { ...hold, ...(cwd === undefined ? {} : { cwd }) };
        for (const start of [sallyport.spawn, sallyport.launch]) {
          const child = await start(fixture('witness'), ['--quiet', '--hold'], options);
          looks.push([
            child.plan.route.kind,
            processes.listDescriptors(child.pid).join(),
            readlinkSync(`/proc/${child.pid}/cwd`) === (cwd ?? began),
          ]);
          child.kill('SIGKILL');
          await child.exited;
        }
      }
      const inside = await sallyport.run('pwd', [], { cwd: '/usr/bin' });
      const stepped = sallyport.spawn('pwd', [], { cwd: '/usr', umask: 0o77 });
      await stepped.exited;
      const refusal = await sallyport
        .launch('pwd', [], { cwd: '/no/such' })
        .catch((e: unknown) => e);
      return {
        looks: [...new Set(looks.map(String))],
        inside: inside.output.stdout.text,
        stepped: String(await processes.readAll(stepped.stdout!)),
        refusal: (refusal as { stage: string }).stage,
        moved: process.cwd() !== began,
        children: storm.hasChildren(),
      };
    },
    null,
    old,
  );
  expect(seen).toEqual({
    looks: ['lane,0,1,2,5,true'],
    inside: '/usr/bin\n',
    stepped: '/usr\n',
    refusal: 'cwd',
    moved: false,
    children: false,
  });
});

it('what only a newer one can do is refused', async () => {
  const seen = await inNode(
    ({ sallyport }) => {
      try {
        sallyport.spawn('true', [], { session: 'group', foreground: 0 });
        return 'no error';
      } catch (error) {
        const { code, stage } = error as { code: string; stage: string };
        return [code, stage];
      }
    },
    null,
    old,
  );
  expect(seen).toEqual(['ENOSYS', 'terminal']);
});
