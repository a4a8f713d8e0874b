'use strict';
// Calls that fail, each at its stage: whatever they need is made when one is asked for.

const fs = require('node:fs');

/** Each with the stage that its error names. */
const FAILURES = {
  'plan: a TypeError': 'plan',
  'plan: a wrong signal': 'plan',
  'lookup: missing': 'lookup',
  'lookup: a missing path': 'lookup',
  'lookup: a missing path in cwd': 'lookup',
  'lookup: below a file': 'lookup',
  'lookup: a directory': 'lookup',
  'lookup: not executable': 'lookup',
  'cwd: missing': 'cwd',
  'cwd: not a directory': 'cwd',
  'descriptor: not open': 'descriptor',
  'descriptor: above the limit': 'plan',
  'descriptor: unexpected': 'descriptor',
  'descriptor: EMFILE': 'descriptor',
  'terminal: none': 'terminal',
  'exec: missing interpreter': 'exec',
  'exec: no #!': 'exec',
  'exec: too big': 'exec',
  // Tried again for 100 ms.
  'exec: busy': 'exec',
};

/** Those of a process that has no privileges. */
const UNPRIVILEGED = { 'cwd: not permitted': 'cwd', 'process: EAGAIN': 'process' };

const prepareFailure = (kind, { storm, scratch, source, all }) => {
  const writeProgram = (text) => {
    fs.writeFileSync(`${scratch}/program`, text, { mode: 0o755 });
    return `${scratch}/program`;
  };
  /** Opens all that may be opened, but for five. */
  const fill = () => {
    const opened = [];
    try {
      for (;;) opened.push(storm.openInheritable('/etc/hosts'));
    } catch {
      for (const fd of opened.slice(-5)) storm.closeFd(fd);
    }
  };
  const withPass = (entry) => ['true', [], { ...all, pass: [source, entry] }];
  const calls = {
    'plan: a TypeError': () => ['true', [], { ...all, env: { 'A=B': 'x' } }],
    'plan: a wrong signal': () => ['true', [], { ...all, killSignal: 'SIGNONE' }],
    'lookup: missing': () => ['no-such-program', [], all],
    'lookup: a missing path': () => ['/no/such/program', [], all],
    'lookup: a missing path in cwd': () => ['./no-such-program', [], { ...all, cwd: '/etc' }],
    'lookup: below a file': () => ['/etc/hosts/program', [], all],
    'lookup: a directory': () => ['/etc', [], all],
    'lookup: not executable': () => {
      fs.writeFileSync(`${scratch}/data`, '', { mode: 0o644 });
      return [`${scratch}/data`, [], all];
    },
    'cwd: missing': () => ['true', [], { ...all, cwd: '/no/such/directory' }],
    'cwd: not a directory': () => ['true', [], { ...all, cwd: '/etc/hosts' }],
    'cwd: not permitted': () => {
      fs.mkdirSync(`${scratch}/locked`, { mode: 0 });
      return ['true', [], { ...all, cwd: `${scratch}/locked` }];
    },
    'descriptor: not open': () => withPass({ fd: 4000, as: 4 }),
    'descriptor: above the limit': () => withPass({ fd: source, as: 1_000_000 }),
    'descriptor: unexpected': () =>
      withPass({ fd: source, as: 4, expect: { kind: 'pipe', access: 'read' } }),
    'descriptor: EMFILE': () => {
      storm.setSoftLimit('nofile', 64);
      fill();
      return ['true', [], all];
    },
    'terminal: none': () => ['true', [], { ...all, session: 'group', foreground: 0 }],
    'exec: missing interpreter': () => [writeProgram('#!/no/such/interpreter\n'), [], all],
    'exec: no #!': () => [writeProgram('echo\n'), [], all],
    'exec: too big': () => ['true', ['x'.repeat(200_000)], all],
    'exec: busy': () => {
      const program = writeProgram('#!/bin/sh\n');
      fs.openSync(program, 'r+');
      return [program, [], all];
    },
    'process: EAGAIN': () => {
      storm.setSoftLimit('nproc', 1);
      return ['true', [], all];
    },
  };
  return calls[kind]();
};

module.exports = { FAILURES, prepareFailure, UNPRIVILEGED };
