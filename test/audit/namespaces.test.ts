// Processes in a network namespace of their own, with 100 000 connections; and a /proc that hides.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from 'vitest';

import { auditProcess, explainPort, findHolders } from '../../src/index.js';
import { startCrowd, type Crowd } from '../support/crowd.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

// Both ends of each are in the table; each of the dozen processes has one end of its pairs.
const CROWDS = 6;
const PAIRS = 8_400;
const MEBIBYTE = 2 ** 20;

describe('in another network namespace', () => {
  needs('unshare', 'ss').describe('with 100 000 connections in its table', () => {
    const crowds: Crowd[] = [];
    let enter: string[];

    beforeAll(async () => {
      const pairs = ['--pairs', String(PAIRS)];
      const first = await startCrowd(['--lo', '--kinds', ...pairs], ['unshare', '--net']);
      crowds.push(first);
      enter = ['nsenter', `--net=/proc/${first.pid}/ns/net`];
      for (let i = 1; i < CROWDS; i++) crowds.push(await startCrowd(pairs, enter));
    }, 120_000);
    afterAll(() => crowds.forEach((crowd) => crowd.end()));

    const { it } = needs();

    it('sockets have the addresses that ss has there', () => {
      const rows = execFileSync('nsenter', [...enter.slice(1), 'ss', '-Htane'], {
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      }).split('\n');
      expect(rows.length).toBeGreaterThan(100_000);
      const table = new Map<string, string>();
      for (const row of rows) {
        const [state, , , local, remote] = row.trim().split(/\s+/);
        const inode = /\bino:(\d+)/.exec(row)?.[1];
        if (inode !== undefined) table.set(inode, `${state ?? ''} ${local ?? ''} ${remote ?? ''}`);
      }
      const before = process.memoryUsage.rss();
      const audit = auditProcess(crowds[0]?.pid ?? 0, { otherEnds: false });
      const grown = (process.memoryUsage.rss() - before) / MEBIBYTE;
      const connected = audit.descriptors.filter(
        ({ socket }) => socket?.state === 'ESTABLISHED' && socket.type === 1 && socket.family === 2,
      );
      expect(connected).toHaveLength(PAIRS);
      const different = connected.filter(
        ({ inode, socket }) =>
          table.get(inode) !== `ESTAB ${socket?.local ?? ''} ${socket?.remote ?? ''}`,
      );
      expect(different.slice(0, 3)).toEqual([]);
      // What the table has beside this process's own costs nothing: 100 000 rows would be some 60.
      expect(grown).toBeLessThan(50);
    });

    it('Unix sockets and listeners are found there', () => {
      const audit = auditProcess(crowds[0]?.pid ?? 0);
      const listeners = audit.descriptors.filter(({ kind }) => kind === 'listener');
      expect(listeners.map(({ socket }) => socket?.state)).toEqual(listeners.map(() => 'LISTEN'));
      expect(listeners.length).toBeGreaterThanOrEqual(3);
      const networks = [...new Set(listeners.map(({ socket }) => socket?.network))];
      expect(networks).toEqual([statSync(`/proc/${String(crowds[0]?.pid)}/ns/net`).ino]);
    });

    it('a port that is taken only there is free here, and is said to be', () => {
      const audit = auditProcess(crowds[0]?.pid ?? 0, { origins: false, otherEnds: false });
      const listener = audit.descriptors.find(
        ({ kind, socket }) => kind === 'listener' && socket?.family === 2,
      );
      const port = Number(listener?.socket?.local.split(':')[1]);
      const explained = explainPort(port);
      expect(explained.free).toBe(true);
      expect(explained.causes).toContainEqual(
        expect.objectContaining({ kind: 'other-namespace', blocks: 'never' }),
      );
      const holders = findHolders({ port }).holders.filter(
        ({ record }) => record.kind === 'listener',
      );
      expect(holders.map(({ pid }) => pid)).toContain(crowds[0]?.pid);
    });
  });
});

needs('unshare', 'another uid').it(
  'whoever may not enter a namespace reads what /proc has of it',
  async () => {
    const seen = await inNode(
      async ({ sallyport, fixture, scratch, require }) => {
        const { spawn } = require('node:child_process') as typeof import('node:child_process');
        const events = require('node:events') as typeof import('node:events');
        const crowd = spawn(
          'unshare',
          ['--user', '--map-root-user', '--net', fixture('crowd'), '--lo', '--kinds', scratch],
          { stdio: ['pipe', 'pipe', 'inherit'] },
        );
        await events.once(crowd.stdout, 'data');
        const { unreadable, descriptors } = sallyport.auditProcess(crowd.pid ?? 0);
        crowd.stdin.end();
        const tcp = descriptors.filter(({ socket }) => socket?.family === 2 && socket.type === 1);
        const unix = descriptors.filter(
          ({ kind, socket }) => kind === 'listener' && socket?.family === 1,
        );
        return {
          uid: process.getuid?.(),
          unreadable,
          tcp: tcp.map(({ kind, socket }) => [kind, socket?.state, socket?.sendQueue]),
          local: tcp[0]?.socket?.local,
          unix: unix.length,
        };
      },
      null,
      { unprivileged: true },
    );
    expect(seen.uid).not.toBe(0);
    expect(seen.unreadable).toBeUndefined();
    expect(seen.local).toMatch(/^127\.0\.0\.1:\d+$/);
    // /proc/net/tcp does not tell a backlog.
    expect(seen.tcp).toEqual([
      ['listener', 'LISTEN', null],
      ['socket', 'CLOSE', null],
    ]);
    expect(seen.unix).toBe(2);
  },
);

needs('unshare', 'another uid').it(
  'where /proc hides other users, what is hidden is not gone',
  async () => {
    const seen = await inNode(
      ({ sallyport, require, scratch }) => {
        (require('node:fs') as typeof import('node:fs')).chmodSync(scratch, 0o777);
        // Loads the addon, which that user may not read where the checkout is in a private folder.
        sallyport.auditSelf();
        process.setgid?.(65534);
        process.setuid?.(65534);
        const { verdict, unreadable } = sallyport.auditProcess(1, { against: { descriptors: [] } });
        let gone: string | undefined;
        try {
          sallyport.auditProcess(2 ** 22);
        } catch (error) {
          gone = (error as NodeJS.ErrnoException).code;
        }
        const hidden = [sallyport.findHolders({ port: 1 }), sallyport.listListeners()];
        const first = hidden.map((report) => report.unreadable[0]);
        return { verdict, unreadable, gone, first };
      },
      null,
      {
        wrap: [
          'unshare',
          '--mount',
          'sh',
          '-c',
          'mount -t proc -o hidepid=2 proc /proc && exec "$@"',
          'sh',
        ],
      },
    );
    expect(seen).toMatchObject({ verdict: 'unknown', gone: 'ESRCH' });
    expect(seen.unreadable).toContain('/proc/1 cannot be read');
    const one = { pid: 1, reason: expect.stringContaining('hidepid') as string };
    expect(seen.first).toEqual([one, one]);
  },
);
