'use strict';
// A server with things to leak starts one program twice, and looks at what each child really got.
// Run by `npm run demo`, which makes the folder and has hand_over.py open the descriptors.
//
// Exit status: 0 as promised, 1 sallyport's child differs from its plan, 2 the demo proves nothing.

const childProcess = require('node:child_process');
const { once } = require('node:events');
const { existsSync } = require('node:fs');
const net = require('node:net');
const sallyport = require('../..');
const { inspectOwnDescriptor, scanDescriptors, scanVariableNames } = require('./observe.cjs');
const { createPainter, renderSideBySide } = require('./table.cjs');

const [folder, program, question, ...args] = process.argv.slice(2);

const LISTENER = 20;
const HANDED_OVER = [LISTENER, 24, 30];
const CREDENTIALS = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'DATABASE_URL',
  'GITHUB_TOKEN',
  'STRIPE_API_KEY',
];

// What sallyport's child is given, written out here: asking the library would prove nothing.
const GIVEN_DESCRIPTORS = [0, 1, 2];
const GIVEN_VARIABLES = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TERM'].filter((n) => n in process.env);

const width = Math.min(Math.max(process.stdout.columns ?? 80, 80), 100);
const painter = createPainter(process.stdout);
const print = (text = '') => console.log(text);
// A reader that went away (`| head`) is no reason to leave the children unattended.
process.stdout.on('error', () => {});

async function startServer() {
  const server = net.createServer((client) => client.end('served\n'));
  server.listen({ fd: LISTENER });
  await once(server, 'listening');

  const { port } = server.address();
  const client = net.connect(port, '127.0.0.1').setEncoding('utf8');
  const [answer] = await once(client, 'data');
  client.destroy();
  if (answer !== 'served\n') throw new Error('the demo server did not answer its own request');
  return { server, port };
}

/** Answered means: it has become the program, opened what it wanted and now waits for more. */
async function waitForAnswer(child) {
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${program} ended before it answered`);
  });
  child.stdin.write(`${question}\n`);
  await Promise.race([once(child.stdout, 'data'), ended]);
}

async function end(child) {
  const exited = once(child, 'exit');
  child.stdin.end();
  await exited;
}

/** 'free', or the code of the error. */
function tryPort(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', (error) => resolve(error.code));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve('free')));
  });
}

function union(left, right, compare) {
  return [...new Set([...left, ...right])].sort(compare);
}

function compareChildren(left, right) {
  const descriptors = union(left.descriptors.keys(), right.descriptors.keys(), (a, b) => a - b);
  const variables = union(left.variables, right.variables);
  const short = (what) => what?.replace(folder, 'file …');
  // HOME and USER were not asked for either, but only the credentials would hurt: they are marked.
  const hurts = (name) => CREDENTIALS.includes(name);
  return [
    {
      title: 'descriptors, from /proc/<pid>/fd',
      rows: descriptors.map((fd) => ({
        label: String(fd),
        left: short(left.descriptors.get(fd)),
        leftLeaks: left.descriptors.has(fd) && !GIVEN_DESCRIPTORS.includes(fd),
        right: short(right.descriptors.get(fd)),
        rightLeaks: right.descriptors.has(fd) && !GIVEN_DESCRIPTORS.includes(fd),
      })),
    },
    {
      title: 'variables, from /proc/<pid>/environ (names only)',
      rows: variables.map((name) => ({
        label: '',
        left: left.variables.includes(name) ? name : undefined,
        leftLeaks: left.variables.includes(name) && hurts(name),
        right: right.variables.includes(name) ? name : undefined,
        rightLeaks: right.variables.includes(name) && !GIVEN_VARIABLES.includes(name),
      })),
    },
  ];
}

function differences(child) {
  const found = [];
  for (const [fd, what] of child.descriptors) {
    if (!GIVEN_DESCRIPTORS.includes(fd)) found.push(`descriptor ${fd} (${what}) was not given`);
  }
  for (const fd of GIVEN_DESCRIPTORS) {
    if (!child.descriptors.has(fd)) found.push(`descriptor ${fd} is missing`);
  }
  for (const name of child.variables) {
    if (!GIVEN_VARIABLES.includes(name)) found.push(`variable ${name} was not given`);
  }
  for (const name of GIVEN_VARIABLES) {
    if (!child.variables.includes(name)) found.push(`variable ${name} is missing`);
  }
  return found;
}

async function main() {
  const { server, port } = await startServer();
  const handedOver = HANDED_OVER.map(inspectOwnDescriptor);

  print(painter.bold('What does a child process really get?'));
  print();
  print(`This server (node, pid ${process.pid}) holds, without close-on-exec:`);
  for (const { fd, what, inheritable } of handedOver) {
    if (!inheritable) {
      print(`descriptor ${fd} (${what}) cannot be inherited, so this run proves nothing`);
      return 2;
    }
    print(`  ${String(fd).padStart(4)}  ${what}`);
  }
  print(`and ${CREDENTIALS.length} credentials in its environment (made up, all of it).`);
  print();
  const options = { cwd: folder, stdio: 'pipe' };
  const quotedArgs = args.map((arg) => `'${arg}'`).join(', ');
  print("It starts one program twice, by child_process's spawn and by sallyport's:");
  print(`  spawn('${program}', [${quotedArgs}], { cwd, stdio: 'pipe' })`);
  print();

  const theirs = childProcess.spawn(program, args, options);
  const ours = sallyport.spawn(program, args, options);
  await Promise.all([waitForAnswer(theirs), waitForAnswer(ours)]);

  const [left, right] = [theirs, ours].map(({ pid }) => ({
    descriptors: scanDescriptors(pid),
    variables: scanVariableNames(pid),
  }));
  print(
    renderSideBySide({
      headings: [`by node:child_process, pid ${theirs.pid}`, `by sallyport, pid ${ours.pid}`],
      sections: compareChildren(left, right),
      width,
      painter,
    }),
  );
  print();

  // Both children are alive. Whoever holds a copy of the listener keeps the port.
  server.close();
  await once(server, 'close');
  const whileBothLive = await tryPort(port);
  await end(theirs);
  const whileOursLives = await tryPort(port);
  await end(ours);

  print(`Then the server closes its listener and wants port ${port} again, as in a restart:`);
  print(`  while child_process's child lives   ${whileBothLive}`);
  print(`  while only sallyport's child lives  ${whileOursLives}`);
  print();

  const leaked = {
    descriptors: HANDED_OVER.filter((fd) => left.descriptors.has(fd)),
    variables: CREDENTIALS.filter((name) => left.variables.includes(name)),
  };
  if (leaked.descriptors.length < HANDED_OVER.length || leaked.variables.length === 0) {
    print("child_process's child did not get what it usually gets: this run proves nothing.");
    return 2;
  }
  const wrong = differences(right);
  if (whileOursLives !== 'free') wrong.push(`port ${port} was not free: ${whileOursLives}`);
  for (const { pid } of [theirs, ours]) {
    if (existsSync(`/proc/${pid}`)) wrong.push(`process ${pid} was left behind`);
  }
  if (wrong.length > 0) {
    print(painter.red(`sallyport's child is not as promised: ${wrong.join('; ')}`));
    return 1;
  }
  const { descriptors, variables } = leaked;
  print(
    `${painter.red('child_process')}  leaked ${descriptors.length} descriptors ` +
      `and ${variables.length} credentials that nobody had named`,
  );
  print(
    `${painter.green('sallyport')}      handed over descriptors ${GIVEN_DESCRIPTORS.join(', ')} ` +
      `and ${GIVEN_VARIABLES.length} variables, and nothing else`,
  );
  return 0;
}

// Until the end is reached, nothing is proved.
process.exitCode = 2;
main().then(
  // At once, whatever is still open: a child of ours ends with its stdin.
  (status) => process.exit(status),
  (error) => {
    console.error(error);
    process.exit(2);
  },
);
