// spawn: the environment that a child receives.
const { execFileSync, spawnSync } = require('node:child_process');

const print = (env) =>
  execFileSync('/usr/bin/env', ['-0'], env === undefined ? {} : { env })
    .toString()
    .split('\0')
    .filter((entry) => entry !== '' && !/^(NODE_OPTIONS|SALLYPORT)/.test(entry))
    .sort();

process.env.COMPAT_OWN = 'x=y';
console.log(print().filter((entry) => entry.startsWith('COMPAT')));
console.log(print().length === Object.keys(process.env).length || 'filtered');
console.log(print({}));
console.log(print({ A: 'b', EMPTY: '', UNDEFINED: undefined, NUMBER: 5, NULL: null, B: true }));
console.log(print({ 'odd name': 'ü€😀', 'a.b': 'line\nbreak' }));
console.log(print(Object.create({ INHERITED: 'by prototype' })));
console.log(print({ ...process.env, COMPAT_OWN: 'changed' }).filter((e) => e.startsWith('COMPAT')));
console.log(spawnSync('sh', ['-c', 'echo $HOME:$COMPAT_OWN'], { env: { HOME: '/h' } }).stdout + '');
try {
  print({ A: 'b\0c' });
} catch (error) {
  console.log(error.code, error.message);
}
