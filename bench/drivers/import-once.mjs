// Prints how many milliseconds it took to load one package, in this process that loaded no other.
import { createRequire } from 'node:module';
import { findPeer } from './peer.mjs';

const [name, folder] = process.argv.slice(2);

function chooseLoader() {
  if (name === 'empty') return () => import('data:text/javascript,');
  if (name === 'child_process') return () => import('node:child_process');
  if (name === 'sallyport') return () => import('sallyport');
  const require = createRequire(import.meta.url);
  if (name === 'sallyport-require') return () => require('sallyport');
  const { url } = findPeer(folder, name);
  return () => import(url);
}

const load = chooseLoader();
const start = performance.now();
await load();
console.log(performance.now() - start);
