// launch() takes everything when it is called, not when a lane gets to it.
import { expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';

// Behind 600 others, and changed in the same turn: no lane has got there yet.
it('what is changed after the call does not reach the child', async () => {
  const seen = await inNode(async ({ sallyport, storm, processes, scratch, fixture, require }) => {
    const fs = require('node:fs') as typeof import('node:fs');
    type Witness = import('../../support/witness.js').Witness;
    type Options = import('../../../src/index.js').SpawnOptions;
    fs.mkdirSync(`${scratch}/one/below`, { recursive: true });
    fs.mkdirSync(`${scratch}/two/below`, { recursive: true });
    fs.copyFileSync(fixture('witness'), `${scratch}/one/program`);
    fs.chmodSync(`${scratch}/one/program`, 0o755);
    fs.writeFileSync(`${scratch}/first`, '');
    fs.writeFileSync(`${scratch}/second`, '');
    process.chdir(`${scratch}/one`);
    process.env['TAKEN'] = 'before';
    process.env['PATH'] = `${scratch}/one:${process.env['PATH'] ?? ''}`;
    storm.dup2(storm.openInheritable(`${scratch}/first`), 0);
    const reused = storm.openInheritable(`${scratch}/first`, 50);
    const closed = storm.openInheritable(`${scratch}/first`, 51);

    const env: Record<string, string> = { TAKEN: 'before' };
    const args = ['before'];
    const entry = { fd: reused, as: 5 };
    const stdio: ['inherit', 'pipe' | 'null', 'null'] = ['inherit', 'pipe', 'null'];
    const options = {
      stdio,
      pass: [entry, { fd: closed, as: 6 }],
      env,
      cwd: 'below',
      argv0: 'before',
    } satisfies Options;
    const inherited: Options = { env: 'inherit', stdio: ['null', 'pipe', reused] };

    const others = Array.from({ length: 600 }, () =>
      sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
    );
    const launches = [
      sallyport.launch('../program', args, options),
      sallyport.launch('program', args, inherited),
    ];

    storm.dup2(storm.openInheritable(`${scratch}/second`), 0);
    storm.dup2(storm.openInheritable(`${scratch}/second`), reused);
    storm.closeFd(closed);
    env['TAKEN'] = 'after';
    env['ADDED'] = 'after';
    args[0] = 'after';
    args.push('after');
    entry.fd = closed;
    entry.as = 7;
    options.pass.push({ fd: reused, as: 8 });
    options.stdio[1] = 'null';
    options.cwd = '/';
    options.argv0 = 'after';
    process.env['TAKEN'] = 'after';
    process.env['PATH'] = '/usr/bin:/bin';
    process.chdir(`${scratch}/two`);

    // Each is read as soon as it is there: what nobody reads is drained when its child has ended.
    const readReport = async (launched: Promise<import('../../../src/index.js').Child>) => {
      const { stdout } = await launched;
      if (stdout === null) throw new Error('no stdout');
      return JSON.parse((await processes.readAll(stdout)).toString()) as Witness;
    };
    const reports = await Promise.all(launches.map(readReport));
    await Promise.all(others);
    return reports.map(({ descriptors, argv, environment, cwd }) => ({
      descriptors: descriptors.map(
        ({ fd, link }) =>
          `${String(fd)} ${link.replace(`${scratch}/`, '').replace(/:\[\d+\]$/, '')}`,
      ),
      argv,
      variables: environment.filter(([name]) => name === 'TAKEN' || name === 'ADDED'),
      cwd: cwd?.replace(`${scratch}/`, ''),
    }));
  }, null);
  const variables = [['TAKEN', 'before']];
  expect(seen).toEqual([
    {
      descriptors: ['0 first', '1 pipe', '2 /dev/null', '5 first', '6 first'],
      argv: ['before', 'before'],
      variables,
      cwd: 'one/below',
    },
    {
      descriptors: ['0 /dev/null', '1 pipe', '2 first'],
      argv: ['program', 'before'],
      variables,
      cwd: 'one',
    },
  ]);
});

it('a queued launch holds its descriptors: a pipe has no end before it has run', async () => {
  const seen = await inNode(async ({ sallyport, storm, processes, fixture, require }) => {
    const net = require('node:net') as typeof import('node:net');
    const [readEnd = -1, writeEnd = -1] = storm.makeInheritable('pipe', 50);
    const others = Array.from({ length: 300 }, () =>
      sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
    );
    const writer = sallyport.launch('echo', ['written'], { stdio: ['null', writeEnd, 'null'] });
    storm.closeFd(writeEnd);
    const text = (await processes.readAll(new net.Socket({ fd: readEnd }))).toString();
    await Promise.all(others);
    return { text, code: (await (await writer).exited).code };
  }, null);
  expect(seen).toEqual({ text: 'written\n', code: 0 });
});

it('the plan of the child is that of the call', async () => {
  const seen = await inNode(async ({ sallyport, scratch, fixture }) => {
    process.chdir(scratch);
    const args = ['a'];
    const launched = sallyport.launch(fixture('exit_fast'), args, { stdio: 'null' });
    args.push('b');
    process.chdir('/');
    const { plan } = await launched;
    return {
      argv: plan.argv.slice(1),
      cwd: plan.cwd === scratch,
      frozen: Object.isFrozen(plan) && Object.isFrozen(plan.argv),
      route: plan.route.kind,
    };
  }, null);
  expect(seen).toEqual({ argv: ['a'], cwd: true, frozen: true, route: 'lane' });
});
