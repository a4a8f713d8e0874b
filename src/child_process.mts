// The ES module face: the same instances as require() gives, and the default of node:child_process.
import * as all from './child_process.js';

export * from './child_process.js';
export default {
  ChildProcess: all.ChildProcess,
  exec: all.exec,
  execFile: all.execFile,
  execFileSync: all.execFileSync,
  execSync: all.execSync,
  fork: all.fork,
  spawn: all.spawn,
  spawnSync: all.spawnSync,
};
