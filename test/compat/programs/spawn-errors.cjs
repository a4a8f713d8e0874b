// spawn: what cannot be started, and how that is told.
const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync, chmodSync } = require('node:fs');
const path = require('node:path');

const scratch = mkdtempSync('/tmp/compat-');
const show = (error) => ({ ...error, message: error.message, name: error.name });
const clean = (value) => JSON.stringify(value).replaceAll(scratch, '<scratch>');

function attempt(name, file, args, options) {
  return new Promise((resolve) => {
    const seen = [];
    let child;
    try {
      child = spawn(file, args, options);
    } catch (error) {
      console.log(name, 'thrown', clean(show(error)));
      resolve();
      return;
    }
    for (const event of ['spawn', 'exit', 'close']) {
      child.on(event, (...values) => seen.push([event, ...values]));
    }
    child.on('error', (error) => seen.push(['error', show(error)]));
    seen.push(['returned', child.pid, child.exitCode, child.stdin === null, child.killed]);
    child.stdout?.on('end', () => seen.push('end of stdout'));
    child.stdout?.resume();
    const finish = () => {
      console.log(name, clean(seen), child.exitCode, child.signalCode, child.kill());
      resolve();
    };
    child.on('close', finish);
  });
}

(async () => {
  const script = path.join(scratch, 'script');
  writeFileSync(script, '#!/no/such/interpreter\n');
  chmodSync(script, 0o755);
  const plain = path.join(scratch, 'plain');
  writeFileSync(plain, 'echo plain');
  await attempt('missing', 'no-such-program-anywhere', ['a', 'b']);
  await attempt('missing path', '/no/such/program', []);
  await attempt('missing, no pipes', '/no/such/program', [], { stdio: 'ignore' });
  await attempt('missing interpreter', script, []);
  await attempt('not executable', plain, ['x']);
  await attempt('directory', scratch, []);
  await attempt('below a file', '/etc/hosts/x', []);
  await attempt('missing directory', 'true', [], { cwd: '/no/such/directory' });
  await attempt('file as directory', 'true', [], { cwd: '/etc/hosts' });
  await attempt('too long', 'true', ['x'.repeat(200_000)]);
  await attempt('descriptor', 'true', [], { stdio: ['pipe', 'pipe', 'pipe', 1234] });
  await attempt('name too long', 'x'.repeat(300), []);
  await attempt('NUL', 'tr\0ue', []);
  await attempt('options', 'true', [], { uid: 'root' });
  await attempt('empty', '', []);
  await attempt('two channels', 'true', [], { stdio: ['ipc', 'ipc'] });
  rmSync(scratch, { recursive: true });
})();
