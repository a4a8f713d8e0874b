// git's own http-backend on loopback, for whoever shows a user and a password that hold.
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { GIT_HTTP_BACKEND } from '../../support/tools.js';

export class GitServer {
  readonly url: string;
  /** Of each request: its user's password, or null; and whether it was let in. */
  readonly requests: Array<{ password: string | null; admitted: boolean }> = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param root a directory with bare repositories */
  static async start(
    root: string,
    isGood: (user: string, password: string) => boolean,
  ): Promise<GitServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const git = new GitServer(server);
    server.on('request', (request, response) => {
      const { authorization = '' } = request.headers;
      const [user = '', password = ''] = Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
        .toString()
        .split(':');
      const admitted = authorization !== '' && isGood(user, password);
      git.requests.push({ password: authorization === '' ? null : password, admitted });
      if (admitted) {
        serve(root, user, request, response);
        return;
      }
      response.writeHead(401, { 'www-authenticate': 'Basic realm="made up"' });
      response.end();
    });
    return git;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** One CGI request, RFC 3875. */
function serve(
  root: string,
  user: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? '', 'http://none');
  const cgi = spawn(GIT_HTTP_BACKEND, [], {
    env: {
      PATH: '/usr/bin:/bin',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: user,
      REQUEST_METHOD: request.method,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  request.pipe(cgi.stdin);
  const chunks: Buffer[] = [];
  cgi.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  cgi.stdout.on('end', () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf('\r\n\r\n');
    for (const line of answer.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(': ');
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(answer.subarray(end + 4));
  });
}
