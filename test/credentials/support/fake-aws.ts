// A security token service and an object store on loopback that enforce expiry and check signatures.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const ACCOUNT = '111122223333';
export const ROLE = `arn:aws:iam::${ACCOUNT}:role/development`;

interface Session {
  name: string;
  secret: string;
  token: string;
  expires: number;
}

export interface ServiceCall {
  /** RoleSessionName of whoever signed it; null where nobody is known by that key. */
  session: string | null;
  /** Code of the refusal, or null. */
  refused: string | null;
}

export class FakeAws {
  readonly endpoint: string;
  /** Parameters of each AssumeRole. */
  readonly assumed: URLSearchParams[] = [];
  /** Calls to the object store. */
  readonly calls: ServiceCall[] = [];
  /** Every secret that was ever handed out. */
  readonly secrets: string[] = [];
  /** Set: AssumeRole is refused with this message. */
  refusal: string | null = null;
  /** The account that answers. */
  account = ACCOUNT;
  readonly #sessions = new Map<string, Session>();
  readonly #server: Server;
  readonly #life: number;

  private constructor(server: Server, life: number) {
    this.#server = server;
    this.#life = life;
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param life milliseconds that credentials hold */
  static async start(life: number): Promise<FakeAws> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const aws = new FakeAws(server, life);
    server.on('request', (request, response) => {
      void aws.#respond(request, response);
    });
    return aws;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (request.method === 'POST') this.#assumeRole(new URLSearchParams(body), response);
    else this.#serveObject(request, response);
  }

  #assumeRole(parameters: URLSearchParams, response: ServerResponse): void {
    this.assumed.push(parameters);
    response.setHeader('content-type', 'text/xml');
    if (this.refusal !== null) {
      response.statusCode = 403;
      response.end(
        `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${this.refusal}</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
      );
      return;
    }
    const name = parameters.get('RoleSessionName') ?? '';
    const key = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`;
    const secret = randomBytes(30).toString('base64');
    const token = randomBytes(300).toString('base64');
    const expires = Date.now() + this.#life;
    this.#sessions.set(key, { name, secret, token, expires });
    this.secrets.push(key, secret, token);
    response.end(
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
        <AssumedRoleUser><AssumedRoleId>AROA1:${name}</AssumedRoleId>
          <Arn>arn:aws:sts::${this.account}:assumed-role/development/${name}</Arn></AssumedRoleUser>
        <Credentials><AccessKeyId>${key}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey>
          <SessionToken>${token}</SessionToken>
          <Expiration>${new Date(expires).toISOString()}</Expiration></Credentials>
      </AssumeRoleResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleResponse>`,
    );
  }

  #serveObject(request: IncomingMessage, response: ServerResponse): void {
    const [session, refused] = this.#authenticate(request);
    this.calls.push({ session: session?.name ?? null, refused });
    if (refused !== null) {
      response.statusCode = refused === 'ExpiredToken' ? 400 : 403;
      response.setHeader('content-type', 'application/xml');
      response.end(`<Error><Code>${refused}</Code><Message>refused: ${refused}</Message></Error>`);
      return;
    }
    response.setHeader('content-type', 'text/plain');
    response.setHeader('etag', '"1"');
    response.end(`for ${session?.name ?? ''}`);
  }

  #authenticate(request: IncomingMessage): [Session | undefined, string | null] {
    const signed =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$/.exec(
        request.headers.authorization ?? '',
      );
    if (signed === null) return [undefined, 'AccessDenied'];
    const [, key = '', day = '', region = '', service = '', names = '', signature] = signed;
    const session = this.#sessions.get(key);
    if (session === undefined) return [undefined, 'InvalidAccessKeyId'];
    if (request.headers['x-amz-security-token'] !== session.token) return [session, 'InvalidToken'];
    const scope = [day, region, service];
    if (sign(request, session.secret, scope, names.split(';')) !== signature) {
      return [session, 'SignatureDoesNotMatch'];
    }
    return [session, Date.now() < session.expires ? null : 'ExpiredToken'];
  }
}

/** Signature version 4. */
function sign(
  request: IncomingMessage,
  secret: string,
  scope: readonly string[],
  names: readonly string[],
): string {
  const url = new URL(request.url ?? '', 'http://none');
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .sort()
    .join('&');
  const headers = names.map((name) => `${name}:${String(request.headers[name])}\n`).join('');
  const hash = String(request.headers['x-amz-content-sha256']);
  const canonical = [request.method, url.pathname, query, headers, names.join(';'), hash].join(
    '\n',
  );
  const text = [
    'AWS4-HMAC-SHA256',
    String(request.headers['x-amz-date']),
    [...scope, 'aws4_request'].join('/'),
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const hmac = (key: Buffer | string, data: string): Buffer =>
    createHmac('sha256', key).update(data).digest();
  const key = [...scope, 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secret}`);
  return createHmac('sha256', key).update(text).digest('hex');
}
