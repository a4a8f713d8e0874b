// The endpoint answers processes of its run, with the token, under its own name; and nobody else.
import { spawn as nodeSpawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once, type EventEmitter } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { run, spawn } from '../../src/index.js';
import {
  applyCredentials,
  createCredentialBroker,
  runWithCredentials,
  type CredentialBroker,
  type DeliveredCredentials,
} from '../../src/credentials.js';
import { launchTree } from '../../src/launch/tree.js';
import { contained } from '../run/support.js';
import { makeScratch } from '../support/fixtures.js';
import { readAll, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { FakeAws } from './support/fake-aws.js';
import { developmentRole, runId } from './support/scenes.js';

let aws: FakeAws;
beforeEach(async () => {
  aws = await FakeAws.start(60_000);
});
afterEach(async () => {
  await aws.stop();
});

/** Asks as an SDK does and prints status and body. */
const ASK = `
  const { readFileSync } = require('node:fs');
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = process.env;
  const headers = file ? { authorization: readFileSync(file, 'utf8') } : {};
  fetch(url, { headers }).then(async (it) => console.log(it.status, (await it.json()).Code ?? 'given'));`;

interface Answer {
  status: number | undefined;
  Code?: string;
  AccessKeyId?: string;
}

function ask(url: string, headers: Record<string, string>, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (response) => {
      void readAll(response).then((body) => {
        const parsed = body.length === 0 ? {} : (JSON.parse(body.toString()) as object);
        resolve({ status: response.statusCode, ...parsed });
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** The first line, whoever holds the pipe by then. */
async function readLine(stream: Readable | null): Promise<string | undefined> {
  for await (const line of createInterface({ input: stream as Readable })) return line;
  return undefined;
}

const urlOf = ({ environment }: DeliveredCredentials): string =>
  environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'] ?? '';
const tokenOf = ({ environment }: DeliveredCredentials): string =>
  readFileSync(environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'] ?? '', 'utf8');

async function withBroker(
  test: (broker: CredentialBroker, delivered: DeliveredCredentials) => Promise<void>,
  options: Parameters<typeof developmentRole>[1] = {},
): Promise<void> {
  const broker = createCredentialBroker({ runId, sources: [developmentRole(aws, options)] });
  try {
    await test(broker, await broker.open({}));
  } finally {
    await broker.close();
  }
}

describe('the endpoint', () => {
  it('is named by variables, none of which is a secret, and takes away those that would win', async () => {
    await withBroker(async (_, { environment, remove, files }) => {
      expect(Object.keys(environment).sort()).toEqual([
        'AWS_CONFIG_FILE',
        'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
        'AWS_CONTAINER_CREDENTIALS_FULL_URI',
        'AWS_EC2_METADATA_DISABLED',
        'AWS_REGION',
        'AWS_SHARED_CREDENTIALS_FILE',
      ]);
      expect(environment['AWS_CONTAINER_CREDENTIALS_FULL_URI']).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+\//,
      );
      expect(remove).toEqual(
        expect.arrayContaining(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']),
      );
      expect(files).toHaveLength(1);
      expect(statSync(files[0] ?? '').mode & 0o777).toBe(0o600);
      const merged = applyCredentials(
        { AWS_ACCESS_KEY_ID: 'x', PATH: '/bin' },
        { environment, remove, files },
      );
      expect(merged).toEqual({ ...environment, PATH: '/bin' });
    });
  });

  it('refuses a process outside of the run that has the token, and records it', async () => {
    await withBroker(async (broker, delivered) => {
      const child = spawn('sleep', ['60']);
      broker.admit(child.pid);
      // Our own, and another one that we started: same user, same token.
      const token = { authorization: tokenOf(delivered) };
      expect(await ask(urlOf(delivered), token)).toMatchObject({ status: 403, Code: 'NotInRun' });
      const outsider = nodeSpawn(process.execPath, ['-e', ASK], {
        env: { ...delivered.environment },
      });
      expect((await readAll(outsider.stdout)).toString()).toBe('403 NotInRun\n');
      child.kill('SIGKILL');
      await child.exited;
      const { fetches } = broker.report();
      expect(fetches).toMatchObject([
        { outcome: 'refused', source: 'aws', pid: process.pid },
        { outcome: 'refused', source: 'aws', pid: outsider.pid, executable: process.execPath },
      ]);
      expect(fetches.every(({ why }) => why?.includes('no process of the run') === true)).toBe(
        true,
      );
      for (const secret of aws.secrets) expect(JSON.stringify(fetches)).not.toContain(secret);
    });
  });

  it('serves the run while others hold as many connections as they like', async () => {
    await withBroker(async (broker, delivered) => {
      broker.admit(process.pid);
      const url = new URL(urlOf(delivered));
      // Each asks half a question, and stays.
      const held = Array.from({ length: 600 }, () => connect(Number(url.port), '127.0.0.1'));
      for (const socket of held) {
        socket.on('error', () => undefined);
        socket.write(`GET ${url.pathname} HTTP/1.1\r\nHost: `);
      }
      await Promise.all(held.map((socket) => once(socket, 'connect').catch(() => undefined)));
      const token = { authorization: tokenOf(delivered) };
      expect(await ask(url.href, token)).toMatchObject({ status: 200 });
      for (const socket of held) socket.destroy();
    });
  });

  it('confuses nobody where a stranger asks as often as it can beside the run', async () => {
    await withBroker(async (broker, delivered) => {
      const script = `
        const { readFileSync } = require('node:fs');
        const { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = process.env;
        const headers = { authorization: readFileSync(file, 'utf8') };
        (async () => {
          for (let i = 0; i < 40; i++) console.log((await fetch(url, { headers })).status);
        })();`;
      const child = spawn(process.execPath, ['-e', script], {
        env: applyCredentials({}, delivered),
      });
      broker.admit(child.pid);
      const token = { authorization: tokenOf(delivered) };
      let isOver = false;
      const strange: Array<number | undefined> = [];
      const racer = async (): Promise<void> => {
        while (!isOver) strange.push((await ask(urlOf(delivered), token)).status);
      };
      const racers = [racer(), racer(), racer()];
      const seen = (await readAll(child.stdout)).toString().trim().split('\n');
      isOver = true;
      await Promise.all(racers);
      await child.exited;
      expect(seen).toEqual(Array(40).fill('200'));
      expect(strange.length).toBeGreaterThan(3);
      expect(new Set(strange)).toEqual(new Set([403]));
    });
  });

  it('refuses what is no plain question', async () => {
    await withBroker(async (broker, delivered) => {
      broker.admit(process.pid);
      const { port, pathname, host } = new URL(urlOf(delivered));
      const authorization = `Authorization: ${tokenOf(delivered)}\r\n`;
      const say = async (text: string): Promise<string> => {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => undefined).end(text);
        return (await readAll(socket)).toString();
      };
      const line = `GET ${pathname} HTTP/1.1\r\n`;
      expect(await say(`${line}Host: ${host}\r\n${authorization}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
      const refused = [
        `${line}Host: ${host}\r\nX: ${'x'.repeat(9_000)}\r\n${authorization}\r\n`,
        `${line}Host: localhost:${port}\r\n${authorization}\r\n`,
        `${line}Host: ${host}.\r\n${authorization}\r\n`,
        `${line}Host: [::1]:${port}\r\n${authorization}\r\n`,
        `${line}Host: x\r\nHost: ${host}\r\n${authorization}\r\n`,
        `${line}${authorization}\r\n`,
        `GET http://${host}${pathname} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`,
        `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`,
        `GET //${pathname} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`,
        `GET ${pathname}?x HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`,
        'rubbish\r\n\r\n',
      ];
      for (const text of refused) {
        const answer = await say(text);
        expect(answer, text.slice(0, 99)).not.toMatch(/ 200 /);
        for (const secret of aws.secrets) expect(answer).not.toContain(secret);
      }
    });
  });

  it('outlives connections that cannot be accepted', async () => {
    let server: EventEmitter | undefined;
    const look = (message: unknown): void => {
      ({ server } = message as { server: EventEmitter });
    };
    await withBroker(async (_, delivered) => {
      subscribe('http.server.request.start', look);
      expect((await ask(urlOf(delivered), {})).status).toBe(403);
      unsubscribe('http.server.request.start', look);
      for (let i = 0; i < 3; i++) server?.emit('error', new Error('accept EMFILE'));
      expect((await ask(urlOf(delivered), {})).status).toBe(403);
    });
  });

  it('serves the run, and what comes from it: also in another session, and as an orphan', async () => {
    await withBroker(async (broker, delivered) => {
      const script = `node -e "$1"; setsid -w node -e "$1"; (node -e "$1" & ) ; wait; sleep 60`;
      const child = spawn('sh', ['-c', script.replaceAll('node', process.execPath), 'sh', ASK], {
        env: applyCredentials({ PATH: process.env['PATH'] ?? '' }, delivered),
      });
      broker.admit(child.pid);
      const lines: string[] = [];
      child.stdout?.setEncoding('utf8').on('data', (text: string) => lines.push(text));
      const answers = '200 given\n'.repeat(3);
      await waitFor('three answers', () => lines.join('') === answers, 20_000);
      child.killGroup('SIGKILL');
      await child.exited;
      const { fetches } = broker.report();
      expect(fetches.every(({ outcome }) => outcome === 'served')).toBe(true);
      expect(new Set(fetches.map(({ pid }) => pid)).size).toBe(3);
    });
  });

  // It left its session and lost its parents.
  const escape = ['-c', 'setsid sh -c \'"$0" -e "$1" &\' "$0" "$1"; exec sleep 60'];

  it('serves whatever comes from below an init', async () => {
    await withBroker(async (broker, delivered) => {
      const tree = await launchTree('sh', [...escape, process.execPath, ASK], {
        env: applyCredentials({ PATH: '/usr/bin:/bin' }, delivered),
      });
      broker.admit(tree.child.pid);
      expect(await readLine(tree.child.stdout)).toBe('200 given');
      tree.kill();
      await tree.ended;
      const [fetch] = broker.report().fetches;
      expect(fetch?.parentPid).toBe(tree.initPid);
    });
  });

  it('and without an init refuses what has nothing any more that ties it to the run', async () => {
    await withBroker(async (broker, delivered) => {
      const child = spawn('sh', [...escape, process.execPath, ASK], {
        env: applyCredentials({ PATH: '/usr/bin:/bin' }, delivered),
      });
      broker.admit(child.pid);
      expect(await readLine(child.stdout)).toBe('403 NotInRun');
      child.killGroup('SIGKILL');
      await child.exited;
    });
  });

  it('refuses the wrong token, name, method and path, to a process of the run too', async () => {
    await withBroker(async (broker, delivered) => {
      const child = spawn('true');
      // This process is the run: then it may ask.
      broker.admit(process.pid);
      await child.exited;
      const url = urlOf(delivered);
      const token = { authorization: tokenOf(delivered) };
      expect(await ask(url, token)).toMatchObject({ status: 200 });
      expect(await ask(url, {})).toMatchObject({ status: 401, Code: 'WrongToken' });
      const longer = { authorization: `${token.authorization}x` };
      expect(await ask(url, longer)).toMatchObject({ status: 401, Code: 'WrongToken' });
      const rebound = { ...token, host: 'attacker.example' };
      expect(await ask(url, rebound)).toMatchObject({ status: 403, Code: 'WrongHost' });
      expect(await ask(url, token, 'POST')).toMatchObject({ status: 405, Code: 'WrongMethod' });
      expect(await ask(`${url}x`, token)).toMatchObject({ status: 404, Code: 'NotFound' });
      const { fetches } = broker.report();
      expect(fetches.map(({ outcome }) => outcome)).toEqual([
        'served',
        ...Array(5).fill('refused'),
      ]);
    });
  });

  it('without a token goes by the check of the caller alone', async () => {
    const delivery = { by: 'endpoint', token: 'none', region: 'eu-west-1' } as const;
    await withBroker(
      async (broker, delivered) => {
        expect(delivered.files).toEqual([]);
        const outsider = await ask(urlOf(delivered), {});
        expect(outsider).toMatchObject({ status: 403, Code: 'NotInRun' });
        broker.admit(process.pid);
        expect(await ask(urlOf(delivered), {})).toMatchObject({ status: 200 });
      },
      { delivery },
    );
  });

  needs('boto3').it('without a token serves a boto3 that knows no token file', async () => {
    const delivery = { by: 'endpoint', token: 'none', region: 'eu-west-1' } as const;
    const sources = [developmentRole(aws, { delivery })];
    const script = `import boto3, sys
from botocore.config import Config
client = boto3.client("s3", endpoint_url=sys.argv[1], config=Config(s3={"addressing_style": "path"}))
print(client.get_object(Bucket="b", Key="k")["Body"].read().decode())`;
    const report = await runWithCredentials(
      createCredentialBroker({ runId, sources }),
      '/usr/bin/python3',
      ['-c', script, aws.endpoint],
      contained,
    );
    expect(report.output.stderr.text).toBe('');
    expect(report.output.stdout.text).toBe(`for agent-${runId}\n`);
  });

  it('is closed with the run, and its token gone', async () => {
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws)] });
    const report = await runWithCredentials(broker, process.execPath, ['-e', ASK], contained);
    expect(report.output.stdout.text).toBe('200 given\n');
    expect(report.credentials.end?.filesLeft).toEqual([]);
    const [file = ''] = report.credentials.files;
    expect(() => statSync(file)).toThrow('ENOENT');
    await expect(broker.open({})).rejects.toThrow('is for one run');
  });
});

describe('the program that asks for a tool', () => {
  it('says where an answer is cut off', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const token = path.join(makeScratch(), 'token');
    writeFileSync(token, 'made up');
    const helper = path.join(import.meta.dirname, '../../dist/credential-helper.js');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { outcome, output } = await run(
      process.execPath,
      [helper, 'git', url, token, 'get'],
      contained,
    );
    server.close();
    expect(outcome).toMatchObject({ kind: 'exited', code: 1 });
    expect(output.stdout.text).toBe('quit=1\n');
    expect(output.stderr.text).toBe(
      'sallyport: the credentials of this run cannot be had: aborted\n',
    );
  });
});
