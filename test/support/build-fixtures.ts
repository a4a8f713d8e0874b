// Compiles the fixtures once, before the first test file (vitest's globalSetup).
import { execFileSync } from 'node:child_process';
import path from 'node:path';

export default function setup(): void {
  const fixtures = path.join(import.meta.dirname, '../fixtures');
  execFileSync('make', ['--silent', '-C', fixtures], { stdio: ['ignore', 'inherit', 'inherit'] });
}
