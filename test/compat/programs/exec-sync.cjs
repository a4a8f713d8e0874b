// execSync and execFileSync: what they give and what they throw.
const { execFileSync, execSync } = require('node:child_process');
const { inspect } = require('node:util');

const show = (error) => {
  // Numbers that differ from run to run.
  const text = inspect({ ...error, message: error.message, name: error.name });
  return text.replace(/pid: [1-9]\d*/g, 'pid').replace(/<Buffer 00.*>/g, 'much');
};
function run(name, call) {
  try {
    console.log(name, call());
  } catch (error) {
    console.log(name, show(error));
  }
}

run('success', () => execSync('echo $((6 * 7))', { encoding: 'utf8' }));
run('failure', () => execSync('echo told; echo wrong >&2; exit 3', { stdio: 'pipe' }));
run('stderr is shown', () => execSync('echo seen >&2'));
run('timeout', () => execSync('exec sleep 20', { timeout: 50 }));
run('maxBuffer', () => execSync('head -c 5000 /dev/zero; sleep 20', { maxBuffer: 100 }).length);
run('input', () => execSync('cat', { input: 'given', encoding: 'utf8' }));
run('signal', () => execSync('kill -9 $$'));
run('inherit', () => execSync('echo inherited', { stdio: 'inherit' }));
run('file', () => execFileSync('echo', ['a  b'], { encoding: 'utf8' }));
run('file missing', () => execFileSync('no-such-program-anywhere', ['x']));
run('file failure', () => execFileSync('sh', ['-c', 'exit 6'], { encoding: 'utf8' }));
run('file, directory', () => execFileSync('pwd', { cwd: '/', encoding: 'utf8' }));
run('buffer', () => execFileSync('printf', ['\\001\\377']));
