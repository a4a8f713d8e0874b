// Which test files belong to which part of a test run: by the folder of test/ that they are in.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { failure } from './counts.mjs';
import { root } from './tools.mjs';

/** @typedef {import('./counts.mjs').Counts} Counts */

/** Folders of test/, and files in it. What is named nowhere is in `process`: it starts processes. */
const folders = {
  unit: ['bench', 'objects', 'plan', 'review', 'scripts'],
  process: [],
  package: ['package', 'package.test.ts'],
  runtimes: ['runtimes'],
};

/** Run by a runner of their own, under sanitizers. */
const NATIVE = 'native';

export const partNames = [...Object.keys(folders), NATIVE];

const isTestFile = (name) => name.endsWith('.test.ts');

/** Below a folder, and by paths from there. What is installed there is never entered: it is much. */
export function listTestFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return isTestFile(entry.name) ? [entry.name] : [];
    if (entry.name === 'node_modules') return [];
    return listTestFiles(path.join(folder, entry.name)).map((name) => path.join(entry.name, name));
  });
}

/** @returns {string[]} folders of test/ that have test files somewhere in them, and such files */
function listEntries() {
  const files = listTestFiles(path.join(root, 'test'));
  return [...new Set(files.map((name) => name.split(path.sep)[0]))];
}

/**
 * What vitest is to be told: it takes what has such a text in its path, hence the slashes.
 *
 * @returns {string[]} empty where there is nothing of this part
 */
export function filtersOf(part) {
  const named = new Set(Object.values(folders).flat());
  return listEntries()
    .filter((name) => (part === 'process' ? !named.has(name) : folders[part].includes(name)))
    .map((name) => (isTestFile(name) ? `test/${name}` : `test/${name}/`));
}

const reports = path.join(root, 'reports/parts');
const reportOf = (part) => path.join(reports, `${part}.json`);

/** @param {Counts} counts */
export function writeReport(part, counts) {
  mkdirSync(reports, { recursive: true });
  writeFileSync(reportOf(part), JSON.stringify(counts));
}

/** What an earlier run left must not be taken for this one's. */
export function forgetReports() {
  rmSync(reports, { recursive: true, force: true });
}

/**
 * A part that ended without a report has failed.
 *
 * @returns {Counts}
 */
export function readReport(part) {
  const file = reportOf(part);
  if (!existsSync(file)) return failure(`${part}: ended without a report`);
  return JSON.parse(readFileSync(file, 'utf8'));
}
