// Removes what the builds made. (The packages in node_modules stay.)
import { rmSync } from 'node:fs';
import path from 'node:path';

for (const name of ['dist', 'build', 'build-cmake', 'build-cmake-tsan', 'reports']) {
  rmSync(path.join(import.meta.dirname, '..', name), { recursive: true, force: true });
}
