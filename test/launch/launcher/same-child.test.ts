// What the launcher is not asked to change is as without it: the same report of the same witness.
import { describe, expect, it } from 'vitest';

import { launch, spawn, type SpawnOptions } from '../../../src/index.js';
import { loadStorm } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { readStatus } from '../../support/processes.js';
import { readWitness, witness, type Witness } from '../../support/witness.js';

const storm = loadStorm();

/** A step that changes nothing. */
const throughLauncher = { umask: parseInt(readStatus()['Umask']!, 8) };

/** Without what differs between any two children. */
function comparable({ pid, sid, pgid, ...rest }: Witness): unknown {
  return {
    ...rest,
    leadsSession: sid === pid,
    leadsGroup: pgid === pid,
    inOurs: [sid, pgid].map((id) => (id === pid ? null : id)),
    descriptors: rest.descriptors.map(({ ino, link, ...descriptor }) =>
      descriptor.type === 'pipe' ? descriptor : { ino, link, ...descriptor },
    ),
  };
}

const passed = storm.openInheritable('/etc/hosts', 40);
const made = 'made-up-value-7c1a';

const cases: Array<[string, string[], SpawnOptions]> = [
  ['nothing named', [], {}],
  ['arguments', ['', 'a b', '"\'\\$', '\n', 'é€𝄞', '-', ...'x'.repeat(500).split('')], {}],
  ['one argument as long as they may be', ['x'.repeat(131_071)], {}],
  ['argv0', [], { argv0: 'called like this' }],
  ['an empty argv0', [], { argv0: '' }],
  ['an empty environment', [], { env: {} }],
  [
    'an environment',
    [],
    { env: { A: '', 'B C': '=x', é: '€\n', __proto__x: '1', LISTEN_FDS: '2' } },
  ],
  ['all of our environment', [], { env: 'inherit' }],
  ['one long variable', [], { env: { LONG: made.repeat(5000) } }],
  ['a directory', [], { cwd: '/usr/bin/../..//etc/.' }],
  ['a group', [], { session: 'group' }],
  ['our session', [], { session: 'inherit' }],
  ['channels', [], { stdio: ['pipe', 'pipe', 'null'] }],
  ['a pass list', [], { pass: [{ fd: passed, as: 3 }, { fd: passed, as: 100 }, passed] }],
];

describe('the same child with the launcher as without', () => {
  it.each(cases)('%s', async (_, args, options) => {
    for (const noNewPrivileges of [true, false]) {
      const given = { ...options, noNewPrivileges };
      const without = spawn(witness, args, given);
      const plain = comparable(await readWitness(without));
      expect(without.plan.route.launcher).toBe(false);
      for (const start of [spawn, launch]) {
        const child = await start(witness, args, { ...given, ...throughLauncher });
        const seen = await readWitness(child);
        expect(child.plan.route.launcher).toBe(true);
        expect(child.pid).toBe(seen.pid);
        expect(comparable(seen)).toEqual(plain);
        expect((await child.exited).code).toBe(0);
      }
    }
  });

  it('no_new_privs as asked for', async () => {
    const asked = async (noNewPrivileges: boolean): Promise<string> =>
      (await readWitness(spawn(witness, [], { ...throughLauncher, noNewPrivileges }))).status
        .NoNewPrivs;
    expect([await asked(true), await asked(false)]).toEqual(['1', '0']);
    const later = await launch(witness, [], { ...throughLauncher, noNewPrivileges: false });
    expect((await readWitness(later)).status.NoNewPrivs).toBe('0');
  });

  it('signals that this process ignores and blocks', async () => {
    const seen = await inNode(async ({ sallyport, storm: own, processes, fixture }, umask) => {
      for (const number of [2, 10, 13, 40]) own.ignoreSignal(number);
      for (const number of [12, 15, 41]) own.blockSignal(number);
      const reports = [];
      for (const options of [{}, { umask }, { umask, noNewPrivileges: false }]) {
        const child = sallyport.spawn(fixture('witness'), [], options);
        const report = JSON.parse((await processes.readAll(child.stdout)).toString());
        reports.push([report.status.SigIgn, report.status.SigBlk, report.status.SigCgt]);
      }
      return { reports, own: processes.readStatus()['SigIgn'] };
    }, throughLauncher.umask);
    expect(parseInt(seen.own!, 16) & (1 << 9)).not.toBe(0);
    const [plain, ...others] = seen.reports;
    expect(others).toEqual([plain, plain]);
    expect(plain?.[1]).toBe('0000000000000000');
  });

  it('its end: exit code, signal, usage of its own', async () => {
    const failed = spawn(witness, ['--quiet', '--exit', '37'], {
      stdio: 'null',
      ...throughLauncher,
    });
    expect(await failed.exited).toMatchObject({ code: 37, signal: null, lost: false });
    const killed = await launch(witness, ['--quiet', '--hold'], {
      stdio: 'null',
      ...throughLauncher,
    });
    expect(killed.killGroup('SIGUSR1')).toBe(true);
    expect(await killed.exited).toMatchObject({ code: null, signal: 'SIGUSR1', lost: false });
  });
});
