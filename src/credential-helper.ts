// The program behind credential_process and git's credential.helper: asks the endpoint of its run.
//
// A file of its own, which loads nothing but Node's own modules: it is started for each question.
// node credential-helper.js aws|git <url> <token file> [get|store|erase]
import { readFileSync } from 'node:fs';
import { get } from 'node:http';

/** The endpoint answers at once; this is for one that hangs. */
const PATIENCE = 5_000;

const isForGit = process.argv[2] === 'git';

function main([, url = '', tokenFile = '', operation]: string[]): void {
  // git also says which password was good and which was not: nothing is kept here.
  if (isForGit && operation !== 'get') return;
  let token: string;
  try {
    token = readFileSync(tokenFile, 'latin1');
  } catch {
    fail('the credentials of this run have ended: there is no token any more');
    return;
  }
  const failed = ({ message }: Error): void => {
    fail(`the credentials of this run cannot be had: ${message}`);
  };
  const request = get(
    url,
    { headers: { Authorization: token }, timeout: PATIENCE, agent: false },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      // Cut off in the middle.
      response.on('error', failed);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) print(text);
        else fail(readRefusal(text));
      });
    },
  );
  request.on('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE} ms`)));
  request.on('error', failed);
}

function print(text: string): void {
  if (isForGit) {
    const answer = JSON.parse(text) as Record<string, string>;
    const lines = Object.entries(answer).map(([name, value]) => `${name}=${value}\n`);
    process.stdout.write(lines.join(''));
    return;
  }
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text) as Record<
    string,
    string
  >;
  const answer = { Version: 1, AccessKeyId, SecretAccessKey, SessionToken: Token, Expiration };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

function readRefusal(text: string): string {
  try {
    const { Code, Message } = JSON.parse(text) as { Code?: unknown; Message?: unknown };
    return `${String(Code)}: ${String(Message)}`;
  } catch {
    return 'the endpoint refused, and did not say why';
  }
}

function fail(why: string): void {
  // So that git asks nobody else, and the terminal neither.
  if (isForGit) process.stdout.write('quit=1\n');
  process.stderr.write(`sallyport: ${why}\n`);
  process.exitCode = 1;
}

main(process.argv.slice(2));
