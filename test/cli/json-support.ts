// Checks a value against a published schema, more strictly than its users need to: nothing beyond it.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { fromJSONSchema } from 'zod';

import { root } from '../support/fixtures.js';

type Schema = Record<string, unknown>;

const folder = path.join(root, 'schema');

/** Without that of profiles, which is read and not printed. */
export const schemaNames = readdirSync(folder)
  .map((file) => file.replace(/\.v1\.json$/, ''))
  .filter((name) => name !== 'profile');

export const readSchema = (name: string): Schema =>
  JSON.parse(readFileSync(path.join(folder, `${name}.v1.json`), 'utf8')) as Schema;

/** A published schema allows for what later versions add; here nothing may be there that it lacks. */
function close(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(close);
  if (typeof schema !== 'object' || schema === null) return schema;
  const own = schema as Schema;
  const isOpen = own['type'] === 'object' && own['additionalProperties'] === undefined;
  const closed = isOpen ? { ...own, additionalProperties: false } : own;
  return Object.fromEntries(Object.entries(closed).map(([name, value]) => [name, close(value)]));
}

/** Those that a value was checked against. */
export const checked = new Set<string>();

/** What does not fit; empty where all of it does. */
export function findMisfits(name: string, value: unknown): string[] {
  const result = fromJSONSchema(close(readSchema(name)) as Schema).safeParse(value);
  return (result.error?.issues ?? []).map((each) => `${each.path.join('.')}: ${each.message}`);
}

export function expectFits(name: string, value: unknown): void {
  checked.add(name);
  expect(findMisfits(name, value)).toEqual([]);
}

/** What a command has printed, which must be one value. */
export function expectPrinted(name: string, text: string): unknown {
  // Whatever names are in it, a terminal is told nothing.
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/);
  const value: unknown = JSON.parse(text);
  expectFits(name, value);
  return value;
}
