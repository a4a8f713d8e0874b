// docs/kernel-features.md has each system call and function of the C library that is newer than what
// the addon can count on, and the gate is drawn as its script draws it.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { drawGate } from '../../scripts/gate-picture.mjs';
import { root } from '../support/fixtures.js';
import { readDocument } from './markdown.js';

const { text } = readDocument('docs/kernel-features.md');

function readNative(): string {
  return ['native/core', 'native/launcher', 'native/probe']
    .flatMap((folder) =>
      readdirSync(path.join(root, folder)).map((name) => path.join(root, folder, name)),
    )
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

describe('docs/kernel-features.md', () => {
  const native = readNative();

  it('names the system calls that are made by their number, since headers may lack them', () => {
    const calls = new Set(
      [...native.matchAll(/#ifndef (?:SYS_|__NR_)(\w+)/g)].map(([, name = '']) => name),
    );
    expect(calls.size).toBeGreaterThan(4);
    expect([...calls].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it('names the functions that are looked up at run time', () => {
    const functions = new Set(native.match(/posix_spawn_file_actions_add\w+_np/g));
    expect(functions.size).toBe(3);
    expect([...functions].filter((name) => !text.includes(name))).toEqual([]);
  });

  it('has no version that the sources contradict', () => {
    const told = [...native.matchAll(/(pidfd_\w+|openat2|close_range)\(2\), kernel (\d+\.\d+)/g)];
    expect(told.length).toBeGreaterThan(3);
    for (const [, name = '', version = ''] of told) {
      const row = text.split('\n').find((line) => line.includes(`\`${name}\``));
      expect(row, name).toContain(version);
    }
  });
});

it('docs/gate.svg is what scripts/gate-picture.mjs draws', () => {
  expect(readFileSync(path.join(root, 'docs/gate.svg'), 'utf8')).toBe(drawGate());
});
