// Where the numbers come from: a speed means nothing without it.
import { readFileSync } from 'node:fs';
import os from 'node:os';

function readText(file) {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

export function describeMachine() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  const limits = /^Max open files\s+(\d+)\s+(\d+)/m.exec(readText('/proc/self/limits'));
  return {
    processor: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: os.release(),
    libc: glibcVersionRuntime ? `glibc ${glibcVersionRuntime}` : 'not glibc',
    node: process.versions.node,
    // Decides how many page-table entries a fork copies.
    transparentHugePages: /\[(\w+)\]/.exec(
      readText('/sys/kernel/mm/transparent_hugepage/enabled'),
    )?.[1],
    openFilesLimit: limits ? Number(limits[1]) : undefined,
    // A machine at work measures its other work too.
    loadAverage: os.loadavg()[0],
  };
}

export function availableMemory() {
  const match = /^MemAvailable:\s+(\d+) kB/m.exec(readText('/proc/meminfo'));
  return match ? Number(match[1]) * 1024 : os.freemem();
}
