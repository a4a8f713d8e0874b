// ES modules: named, default and namespace imports are one and the same.
import all, { execFileSync, spawn, spawnSync as renamed } from 'node:child_process';
import * as namespace from 'child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

const required = createRequire(import.meta.url)('child_process');
console.log(all.spawn === spawn, namespace.spawn === spawn, required.spawn === spawn);
console.log(Object.keys(namespace).sort());
console.log(renamed('echo', ['sync'], { encoding: 'utf8' }).stdout);
console.log(execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }));
const child = spawn('ls', ['/proc/self/fd']);
console.log(await text(child.stdout), await once(child, 'close'));
console.log(spawn.name, spawn.length, renamed.name, Object.getOwnPropertyNames(child).length);
