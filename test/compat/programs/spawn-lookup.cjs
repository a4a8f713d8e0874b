// spawn: where a program is looked for.
const { spawnSync, spawn } = require('node:child_process');
const { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const scratch = mkdtempSync('/tmp/compat-');
const add = (name, text, mode) => {
  mkdirSync(path.dirname(path.join(scratch, name)), { recursive: true });
  writeFileSync(path.join(scratch, name), text);
  chmodSync(path.join(scratch, name), mode);
};
add('one/tool', '#!/bin/sh\necho one "$0" "$@"', 0o755);
add('two/tool', '#!/bin/sh\necho two "$0" "$@"', 0o755);
add('denied/tool', '#!/bin/sh\necho denied', 0o644);
add('plain/tool', 'echo plain "$0" "$@"', 0o755);
add('directory/tool/x', '', 0o644);
add('broken/tool', '#!/no/such/interpreter', 0o755);
add('empty/tool', '', 0o755);
const clean = (value) => String(value).replaceAll(scratch, '<scratch>');
const join = (...names) => names.map((name) => path.join(scratch, name)).join(':');

function look(name, file, options) {
  const { status, error, stdout } = spawnSync(file, ['a', 'b c'], { encoding: 'utf8', ...options });
  console.log(name, status, error?.code, error?.message, JSON.stringify(clean(stdout)));
}

look('first', 'tool', { env: { PATH: join('one', 'two') } });
look('missing first', 'tool', { env: { PATH: join('none', 'two') } });
look('denied first', 'tool', { env: { PATH: join('denied', 'two') } });
look('only denied', 'tool', { env: { PATH: join('denied', 'none') } });
look('directory first', 'tool', { env: { PATH: join('directory', 'one') } });
look('no format', 'tool', { env: { PATH: join('plain') } });
look('empty file', 'tool', { env: { PATH: join('empty') } });
look('broken first', 'tool', { env: { PATH: join('broken', 'one') } });
look('not in PATH', 'tool', { env: { PATH: join('none') } });
look('below a file', 'tool', { env: { PATH: '/etc/hosts' } });
look('empty PATH', 'tool', { env: { PATH: '' }, cwd: path.join(scratch, 'two') });
look('empty entry', 'tool', { env: { PATH: ':/nowhere' }, cwd: path.join(scratch, 'one') });
look('dot', 'tool', { env: { PATH: '.' }, cwd: path.join(scratch, 'one') });
look('relative entry', 'tool', { env: { PATH: 'one' }, cwd: scratch });
look('relative path', './one/tool', { cwd: scratch });
look('relative, no format', './plain/tool', { cwd: scratch });
look('absolute, no format', path.join(scratch, 'plain/tool'), {});
look('no PATH', 'tool', { env: {} });
look('no PATH, of the system', 'sh', { env: {} });
look('relative directory', './tool', { cwd: path.relative(process.cwd(), join('one')) });
look('URL', './tool', { cwd: new URL(`file://${join('two')}`) });
look('null environment', 'true', { env: null });
look('argv0', 'tool', { env: { PATH: join('one') }, argv0: 'other' });
look('shell', 'tool', { env: { PATH: join('one') + ':/bin:/usr/bin' }, shell: true });
look('other shell', 'echo $0', { shell: '/bin/bash' });

const child = spawn('tool', ['x'], { env: { PATH: join('two') }, argv0: 'named' });
console.log(child.spawnfile, child.spawnargs);
child.stdout.on('data', (data) => console.log(clean(data)));
child.on('close', () => rmSync(scratch, { recursive: true }));
