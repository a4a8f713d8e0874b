// A host with an agent, credentials, a docker.sock and a metadata service, all made up, in mount and
// network namespaces of its own; prints what `sallyport gaps` says there as each of several users.
//
//   unshare --mount --net node world.cjs CLI SCRATCH OWNER OTHER '["FILE"]'
'use strict';
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');

const [cli, scratch, owner, other, secret] = process.argv.slice(2);
const home = `${scratch}/home`;
const SECRET = JSON.parse(secret);
// Where ssh-agent(1) has its own; looked for there, whatever variables say.
const agents = fs.mkdtempSync('/tmp/ssh-');
const agent = `${agents}/agent.7`;

function prepare() {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=0755', 'none', '/run']);
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  execFileSync('ip', ['address', 'add', '169.254.169.254/32', 'dev', 'lo']);
}

function own(path, mode) {
  fs.chmodSync(path, mode);
  fs.chownSync(path, Number(owner), Number(owner));
}

const listening = (server, ...where) =>
  new Promise((resolve) => server.listen(...where, () => resolve(server)));

/** Two keys: of SSH_AGENT_IDENTITIES_ANSWER only the count is looked at. */
function answerAsAgent(socket) {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end(Buffer.from([0, 0, 0, 5, 12, 0, 0, 0, 2])));
}

/** Asynchronously: the services are here. */
function gaps(uid, ...options) {
  const command = ['--reuid', uid, '--regid', uid, '--clear-groups', process.execPath, cli];
  const child = spawn('setpriv', [...command, 'gaps', '--json', ...options], {
    env: { HOME: home, PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (piece) => (text += piece));
  return new Promise((resolve) =>
    child.on('close', (code) => resolve({ code, text, report: JSON.parse(text || 'null') })),
  );
}

async function main() {
  prepare();
  const folders = ['.aws', '.ssh', '.docker', '.kube', '.config', '.config/gh', '.rustup'];
  for (const folder of folders) {
    fs.mkdirSync(`${home}/${folder}`, { recursive: true });
    own(`${home}/${folder}`, 0o755);
  }
  own(home, 0o755);
  for (const file of SECRET) {
    fs.writeFileSync(`${home}/${file}`, 'made-up-secret-1b9e');
    own(`${home}/${file}`, 0o600);
  }
  fs.writeFileSync(`${home}/.npmrc`, 'made-up-secret-1b9e');
  own(`${home}/.npmrc`, 0o644);

  const servers = [
    await listening(net.createServer(answerAsAgent), agent),
    await listening(
      net.createServer((socket) => socket.destroy()),
      '/run/docker.sock',
    ),
  ];
  own(agent, 0o600);
  own(agents, 0o755);
  own('/run/docker.sock', 0o660);
  const before = await gaps(owner, '--probe-metadata');
  const requests = [];
  const metadata = http.createServer((request, response) => {
    requests.push(request.url);
    response.writeHead(401).end();
  });
  servers.push(await listening(metadata, 80, '169.254.169.254'));
  const results = {
    before,
    unasked: await gaps(owner),
    quiet: requests.length,
    owner: await gaps(owner, '--probe-metadata', '--cache', 'rustup'),
    unshielded: await gaps(owner, '--no-shield'),
    other: await gaps(other, '--probe-metadata', '--cache', 'rustup'),
    planned: await gaps('0', '--user', other),
    requests,
  };
  for (const server of servers) server.close();
  process.stdout.write(JSON.stringify(results));
}

main()
  .then(
    () => 0,
    (error) => {
      console.error(error);
      return 1;
    },
  )
  .then((code) => {
    fs.rmSync(agents, { recursive: true });
    process.exit(code);
  });
