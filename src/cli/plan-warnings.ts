// What is planned as asked for, and will hardly work so: told however the program is run.
import { complain } from './output.js';

export function tellWarnings({ warnings }: { readonly warnings: readonly string[] }): void {
  for (const warning of warnings) complain(`run: ${warning}`);
}
