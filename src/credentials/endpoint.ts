// The endpoint on 127.0.0.1: who asks, with which token, for what; and an answer at once.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import type { Verification } from './caller.js';

/** One answer that may be had. */
export interface Route {
  readonly source: string;
  /** Whether the caller must show the token. */
  readonly token: boolean;
  /** The body, or a refusal to be said to the caller. */
  answer(): Promise<object | Refusal>;
}

/** As AWS's SDKs read it from a 4xx: `Code` and `Message`. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly message: string,
  ) {}
}

/** A request for a credential, and what became of it. */
export interface CredentialFetch {
  /** ISO 8601. */
  readonly at: string;
  /** Null where it asked for nothing that there is. */
  readonly source: string | null;
  /** `served` or `refused`. */
  readonly outcome: 'served' | 'refused';
  /** Why it was refused; null where it was not. */
  readonly why: string | null;
  /** Null where it was not found. */
  readonly pid: number | null;
  /** Its path, or null. */
  readonly executable: string | null;
  /** What started it: of a helper, the tool that wanted the credential. */
  readonly parentPid: number | null;
  /** Its path, or null. */
  readonly parentExecutable: string | null;
}

export interface EndpointWish {
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>;
  verify(port: number, endpoint: number): Verification | Promise<Verification>;
  record(fetch: CredentialFetch): void;
}

/** A request has no body, few headers, and comes at once. */
const REQUEST_TIME = 5_000;
const HEADER_BYTES = 8_192;
/** In which nothing was asked yet: of more the oldest goes, so that nobody keeps the run out by waiting. */
const WAITING_CONNECTIONS = 128;
const CONNECTIONS = 256;

export class Endpoint {
  /** 32 random bytes in base64url. */
  readonly token = randomBytes(32).toString('base64url');
  readonly port: number;
  readonly #server: Server;
  readonly #digest = sha256(this.token);

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(wish: EndpointWish): Promise<Endpoint> {
    // Late: runs without an endpoint do not load it.
    const { createServer } = await import('node:http');
    const server = createServer({
      headersTimeout: REQUEST_TIME,
      requestTimeout: REQUEST_TIME,
      // How often it is looked for those that are late; Node's own 30 s are long for a caller that waits.
      connectionsCheckingInterval: REQUEST_TIME,
      maxHeaderSize: HEADER_BYTES,
    });
    server.maxConnections = CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      // Stays: a connection that cannot be accepted later (EMFILE) is told by it as well, and must not
      // end this process. Whoever asked asks again.
      server.on('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const endpoint = new Endpoint(server);
    const waiting = new Set<Socket>();
    server.on('connection', (socket) => {
      waiting.add(socket);
      socket.once('close', () => waiting.delete(socket));
      const [oldest] = waiting;
      if (waiting.size > WAITING_CONNECTIONS) oldest?.destroy();
    });
    server.on('request', (request, response) => {
      waiting.delete(request.socket);
      endpoint.#respond(wish, request, response).catch(() => response.destroy());
    });
    // The run keeps its parent alive, and its endpoint does not.
    server.unref();
    return endpoint;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #respond(
    wish: EndpointWish,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const path = request.url ?? '';
    const route = wish.routes.get(path);
    // Also of those that are refused anyway: whoever tries is worth knowing.
    const { remotePort = 0 } = request.socket;
    const verification = await wish.verify(remotePort, this.port);
    const { caller } = verification;
    const record = (why: string | null): void => {
      wish.record({
        at: new Date().toISOString(),
        source: route?.source ?? null,
        outcome: why === null ? 'served' : 'refused',
        why,
        pid: caller?.pid ?? null,
        executable: caller?.executable ?? null,
        parentPid: caller?.parentPid ?? null,
        parentExecutable: caller?.parentExecutable ?? null,
      });
    };
    const result =
      this.#refuse(request, route, verification) ?? (await route?.answer()) ?? NOT_FOUND;
    if (result instanceof Refusal) {
      record(`${result.code}: ${result.message}`);
      send(response, result.status, { Code: result.code, Message: result.message });
    } else {
      record(null);
      send(response, 200, result);
    }
  }

  #refuse(
    request: IncomingMessage,
    route: Route | undefined,
    verification: Verification,
  ): Refusal | undefined {
    // A page in a browser that has its name point to 127.0.0.1 still sends that name.
    if (request.headers.host !== `127.0.0.1:${this.port}`) {
      return new Refusal(403, 'WrongHost', `this endpoint is called 127.0.0.1:${this.port} only`);
    }
    if (request.method !== 'GET') return new Refusal(405, 'WrongMethod', 'only GET is answered');
    if (!verification.admitted) {
      return new Refusal(403, 'NotInRun', `the caller was refused: ${verification.why}`);
    }
    if (route?.token === true && !this.#isToken(request.headers.authorization ?? '')) {
      return new Refusal(401, 'WrongToken', 'the request has no token of this run, or a wrong one');
    }
    return undefined;
  }

  /** In a time that tells nothing: what is compared are digests of one length. */
  #isToken(shown: string): boolean {
    return timingSafeEqual(sha256(shown), this.#digest);
  }
}

const NOT_FOUND = new Refusal(404, 'NotFound', 'there is no such credential in this run');

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    // One request each: who asks is looked up for each.
    connection: 'close',
  });
  response.end(text);
}
