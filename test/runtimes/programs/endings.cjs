'use strict';
// The end of this process, in the way that its argument names, while children run.
const { readdirSync, writeSync } = require('node:fs');

const { launch, run, spawn } = require('sallyport');

const { TREE } = process.env;
const members = ['plain', 'ignore', 'setsid', 'daemon'];

/** Calls once all members of a run say that they are there, having printed their pids. */
function whileRunning(call) {
  let lines = 0;
  const to = (line) => {
    process.stdout.write(`${line}\n`);
    lines += 1;
    if (lines === members.length + 1) setTimeout(call, 1);
  };
  run(TREE, ['mark', ...members], { output: { stdout: { to } } });
}

/** Nobody hears of these children before the end; where somebody does all the same, it is said. */
function launchMany() {
  const mark = process.argv[3];
  const hear = ({ pid }) => writeSync(1, `heard ${pid}\n`);
  for (let count = 0; count < 20; count += 1) {
    launch(TREE, [mark, 'plain'], { stdio: 'null' }).then(hear, () => undefined);
  }
}

const ways = {
  // Nothing keeps it.
  unref() {
    const child = spawn('sleep', ['60'], { stdio: 'null' });
    child.unref();
    process.stdout.write(`child ${child.pid}\n`);
  },
  // A child keeps it.
  ref() {
    const child = spawn('sh', ['-c', 'sleep 0.3; exit 7'], { stdio: 'null' });
    child.once('exit', (code) => process.stdout.write(`code ${code}\n`));
  },
  // Open pipes keep it.
  pipes() {
    const child = spawn('sh', ['-c', 'sleep 0.3; echo last']);
    child.unref();
    child.stdout.on('data', (text) => process.stdout.write(String(text)));
  },
  // A launch keeps it until it is known what became of it.
  async launch() {
    const child = await launch('sh', ['-c', 'exit 3'], { stdio: 'null' });
    process.stdout.write(`code ${(await child.exited).code}\n`);
  },
  // Credentials are in files that this process takes along.
  async credentials() {
    const { createCredentialBroker } = require('sallyport/credentials');
    const home = process.argv[3];
    const broker = createCredentialBroker({
      runId: 'b71e04',
      home,
      sources: [
        {
          name: 'aws',
          reason: 'a test',
          delivery: { by: 'endpoint' },
          mint: () => ({
            values: { AccessKeyId: 'a', SecretAccessKey: 'b', SessionToken: 'c' },
            expiresAt: new Date(Date.now() + 60_000),
          }),
        },
      ],
    });
    await broker.open();
    writeSync(1, readdirSync(`${home}/.credentials`).join());
    process.exit(8);
  },
  exit: () => whileRunning(() => process.exit(5)),
  uncaught: () =>
    whileRunning(() => {
      throw new Error('on purpose');
    }),
  killed: () => whileRunning(() => process.kill(process.pid, 'SIGKILL')),
  unheard() {
    launchMany();
    process.exit(6);
  },
  'unheard-uncaught'() {
    launchMany();
    throw new Error('on purpose');
  },
};

void ways[process.argv[2]]();
