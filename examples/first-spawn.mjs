// Starts a program, reads what it prints and waits for its end.
import { createEnvironment, spawn } from 'sallyport';

// Complete and explicit: a safe PATH, locale and terminal, and what is named here.
const env = createEnvironment({ set: { GREETING: 'hello from the parent' } });

const child = spawn('sh', ['-c', 'echo "$GREETING"; exit 3'], { env });

for await (const chunk of child.stdout) process.stdout.write(chunk);

const { code, resourceUsage } = await child.exited;
console.log(`exit code ${code}, as asked; ${resourceUsage.userCPUTime} µs of processor time`);
