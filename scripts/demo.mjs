// Starts the demo (examples/side-by-side): sets up what is missing, and leaves no file behind.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const example = path.join(root, 'examples/side-by-side');
const STANDARD_PATH = ['/usr/local/bin', '/usr/bin', '/bin'];

function fail(message) {
  console.error(`demo: ${message}`);
  process.exit(2);
}

function buildWhatIsMissing() {
  const missing = [];
  if (!existsSync(path.join(root, 'dist/index.js'))) missing.push('typescript');
  try {
    createRequire(import.meta.url)('node-gyp-build').path(root);
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') fail('dependencies are missing; run `npm ci` first');
    missing.push('addon');
  }
  if (missing.length === 0) return;
  console.log(`demo: building ${missing.join(' and ')} first`);
  const build = path.join(root, 'scripts/build.mjs');
  const { status } = spawnSync(process.execPath, [build, ...missing], { stdio: 'inherit' });
  if (status !== 0) fail('the build failed');
}

/** A real program that answers a question and then waits for the next: time to look at it. */
function prepareProgram(folder) {
  const hasGit = STANDARD_PATH.some((entry) => existsSync(path.join(entry, 'git')));
  if (!hasGit) return { program: 'cat', question: 'hello', args: [] };

  // The user's own configuration and templates stay out of it.
  const env = { PATH: STANDARD_PATH.join(':'), GIT_CONFIG_NOSYSTEM: '1', HOME: folder };
  const git = (args, input) => {
    const result = spawnSync('git', args, { cwd: folder, env, input, encoding: 'utf8' });
    if (result.status !== 0) fail(`git ${args[0]} failed: ${result.stderr}`);
    return result.stdout.trim();
  };
  git(['init', '--quiet', '--template=', '.']);
  const question = git(['hash-object', '-w', '--stdin'], 'a made-up file\n');
  return { program: 'git', question, args: ['cat-file', '--batch'] };
}

function runParent(folder) {
  writeFileSync(path.join(folder, 'customers.csv'), 'id,name,card\n1,Made Up,0000\n');
  writeFileSync(path.join(folder, 'audit.log'), '');
  const { program, question, args } = prepareProgram(folder);
  const child = spawn(
    'python3',
    [
      path.join(example, 'hand_over.py'),
      folder,
      process.execPath,
      path.join(example, 'parent.cjs'),
      folder,
      program,
      question,
      ...args,
    ],
    { stdio: 'inherit' },
  );
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`demo: cannot start python3 (${error.code}), which opens what is to leak`);
      resolve(2);
    });
    child.once('exit', (code) => resolve(code ?? 2));
  });
}

if (process.platform !== 'linux') fail('sallyport runs on Linux only');
buildWhatIsMissing();
// ^C reaches the parent too; we stay until it has ended, to remove the folder.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
const folder = mkdtempSync(path.join(tmpdir(), 'sallyport-demo-'));
try {
  process.exitCode = await runParent(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
