// simple-git: a repository made, committed to and read.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { simpleGit } from 'simple-git';

const folder = mkdtempSync('/tmp/compat-');
const git = simpleGit(folder);
await git.init(['--initial-branch=main']);
await git.addConfig('user.name', 'a').addConfig('user.email', 'a@b');
writeFileSync(path.join(folder, 'file'), 'text\n');
console.log((await git.status()).not_added);
await git.add('file');
console.log((await git.commit('the message', { '--date': '2020-01-01T00:00:00Z' })).summary);
const { latest, total } = await git.log();
console.log(latest.message, latest.author_name, total, (await git.branch()).current);
writeFileSync(path.join(folder, 'file'), 'other\n');
console.log((await git.diff()).replace(/^index .*$/m, ''));
await git.checkout('nowhere').catch((error) => console.log(error.constructor.name, error.message));
rmSync(folder, { recursive: true });
