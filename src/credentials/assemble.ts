// What the deliveries come to: variables, files and the answers of the endpoint.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { invalid } from '../errors.js';
import type { AwsProcessDelivery, Delivery, FileDelivery } from './delivery.js';
import { Refusal, type Endpoint, type Route } from './endpoint.js';
import type { CredentialFiles } from './files.js';
import { OWN_FOLDER } from './formats.js';
import type { Freshness } from './freshness.js';
import type { Minted } from './source.js';

/** These win over an endpoint in the SDKs, or lead elsewhere. */
const AWS_NAMES = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_PROFILE',
  'AWS_DEFAULT_PROFILE',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
];

/** An SDK asks again within this time where the credential itself does not expire. */
const UNLIMITED = 3_600_000;

/** Where files go: those of a run, or nowhere in a preview. */
export type Places = Pick<CredentialFiles, 'home' | 'place' | 'write' | 'withdraw'>;
export type Served = Pick<Endpoint, 'origin' | 'token'>;

interface Part {
  readonly fresh: Freshness;
  readonly render: FileDelivery['render'];
}

export class Assembly {
  readonly environment = Object.create(null) as Record<string, string>;
  readonly remove = new Set<string>();
  readonly routes = new Map<string, Route>();
  readonly #files: Places;
  readonly #parts = new Map<string, Part[]>();
  readonly #written = new Map<string, string>();
  readonly #gitConfig: Array<readonly [key: string, value: string]> = [];
  readonly #awsProfiles: string[] = [];
  #tokenPath: string | undefined;

  constructor(files: Places) {
    this.#files = files;
    // A hint: whoever does not ask for it is stopped by the network alone.
    this.#set('AWS_EC2_METADATA_DISABLED', 'true');
  }

  add(fresh: Freshness, delivery: Delivery, endpoint: Served | undefined): void {
    switch (delivery.by) {
      case 'endpoint':
        this.#addEndpoint(fresh, endpoint as Served, delivery.token !== 'none');
        this.#setRegion(delivery.region);
        break;
      case 'process':
        if (delivery.for === 'aws') {
          this.#addAwsProcess(fresh, endpoint as Served, delivery);
          this.#setRegion(delivery.region);
        } else this.#addGit(fresh, endpoint as Served, delivery.url);
        break;
      case 'file':
        if (delivery.variable !== undefined) {
          this.#set(delivery.variable, join(this.#files.home, delivery.path));
        }
        this.#addPart(delivery.path, { fresh, render: delivery.render });
        break;
      case 'env':
        for (const [name, from] of Object.entries(delivery.variables)) {
          this.#set(name, fresh.current?.values[from] ?? '');
        }
    }
  }

  /** After the last `add`: what stands in several variables together. */
  finish(): void {
    this.#finishAws();
    if (this.#gitConfig.length === 0) return;
    // An empty name forgets every helper that was configured before: the host's, the repository's.
    const entries = [['credential.helper', ''] as const, ...this.#gitConfig];
    this.#set('GIT_CONFIG_COUNT', String(entries.length));
    entries.forEach(([key, value], index) => {
      this.#set(`GIT_CONFIG_KEY_${index}`, key);
      this.#set(`GIT_CONFIG_VALUE_${index}`, value);
    });
  }

  #finishAws(): void {
    if (this.#awsProfiles.length > 0) {
      const path = `${OWN_FOLDER}/aws-config`;
      this.#set('AWS_CONFIG_FILE', this.#files.place(path));
      this.#files.write(path, this.#awsProfiles.join('\n'));
    } else if (this.remove.size > 0) {
      // A profile in a file of the home would be asked before the endpoint.
      this.#set('AWS_CONFIG_FILE', '/dev/null');
    }
  }

  /**
   * Where a credential does not hold any more its text goes: what is left would be refused late.
   *
   * @throws the first error, after all have been tried
   */
  writeFiles(): void {
    const errors: unknown[] = [];
    for (const [path, parts] of this.#parts) {
      const texts = parts.flatMap(({ fresh, render }) =>
        fresh.current === undefined ? [] : render(fresh.current),
      );
      const text = texts.join('');
      if (this.#written.get(path) === text) continue;
      try {
        if (texts.length === 0) this.#files.withdraw(path);
        else this.#files.write(path, text);
        this.#written.set(path, text);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  #addEndpoint(fresh: Freshness, endpoint: Served, token: boolean): void {
    this.#closeAwsNames();
    const path = this.#addRoute(fresh, token, toContainerAnswer);
    this.#set('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${endpoint.origin}${path}`);
    if (token) {
      this.#set('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', this.#placeToken(endpoint));
    }
  }

  #addAwsProcess(
    fresh: Freshness,
    endpoint: Served,
    { profile = 'default', region }: AwsProcessDelivery,
  ): void {
    this.#closeAwsNames();
    const path = this.#addRoute(fresh, true, toContainerAnswer);
    const lines = [
      `[${profile === 'default' ? profile : `profile ${profile}`}]`,
      `credential_process = ${this.#helperCommand('aws', endpoint, path)}`,
      ...(region === undefined ? [] : [`region = ${region}`]),
    ];
    this.#awsProfiles.push(`${lines.join('\n')}\n`);
  }

  #addGit(fresh: Freshness, endpoint: Served, url: string): void {
    const path = this.#addRoute(fresh, true, toGitAnswer);
    const command = `!${this.#helperCommand('git', endpoint, path)}`;
    this.#gitConfig.push([`credential.${url}.helper`, command]);
  }

  #addPart(path: string, part: Part): void {
    this.#files.place(path);
    this.#parts.set(path, [...(this.#parts.get(path) ?? []), part]);
  }

  #addRoute(fresh: Freshness, token: boolean, render: (minted: Minted) => object): string {
    const { name } = fresh.source;
    const path = `/${name}/${this.routes.size}`;
    const answer = async (): Promise<object> => {
      const minted = await fresh.obtain();
      return minted === undefined ? explain(fresh) : render(minted);
    };
    this.routes.set(path, { source: name, token, answer });
    return path;
  }

  #helperCommand(kind: 'aws' | 'git', endpoint: Served, path: string): string {
    const url = `${endpoint.origin}${path}`;
    const words = [process.execPath, findHelper(), kind, url, this.#placeToken(endpoint)];
    return words.map(quote).join(' ');
  }

  #placeToken(endpoint: Served): string {
    if (this.#tokenPath === undefined) {
      const path = `${OWN_FOLDER}/endpoint-token`;
      this.#tokenPath = this.#files.place(path);
      // Without a line end: it is sent as it stands.
      this.#files.write(path, endpoint.token);
    }
    return this.#tokenPath;
  }

  #closeAwsNames(): void {
    for (const name of AWS_NAMES) this.remove.add(name);
    this.#set('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
  }

  #setRegion(region: string | undefined): void {
    if (region !== undefined) this.#set('AWS_REGION', region);
  }

  #set(name: string, value: string): void {
    const before = this.environment[name];
    if (before === undefined) this.environment[name] = value;
    else if (before !== value) {
      throw invalid(
        'ERR_SALLYPORT_INVALID_ARGUMENT',
        'sources',
        `two deliveries set ${name}: only one of them can be seen by the run`,
      );
    }
  }
}

/** What the caller is told where there is nothing that holds. */
function explain({ status: { name, lastError, outages } }: Freshness): Refusal {
  const since = outages.at(-1)?.since;
  const why =
    lastError === null
      ? 'it is being minted: try again'
      : `it could not be minted since ${since ?? '?'}: ${lastError}`;
  return new Refusal(400, 'CredentialExpired', `credential ${name} has expired, and ${why}`);
}

function toContainerAnswer({ values, expiresAt }: Minted): object {
  const { AccessKeyId, SecretAccessKey, SessionToken } = values;
  const until = expiresAt ?? new Date(Date.now() + UNLIMITED);
  return { AccessKeyId, SecretAccessKey, Token: SessionToken, Expiration: until.toISOString() };
}

function toGitAnswer({ values, expiresAt }: Minted): object {
  const { username, password } = values;
  return {
    username,
    password,
    ...(expiresAt === null
      ? undefined
      : { password_expiry_utc: String(Math.floor(expiresAt.getTime() / 1000)) }),
  };
}

/** For sh, and for the splitting of words that botocore does itself. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Built beside the bundle; where the sources are run it is that of the last build. */
function findHelper(): string {
  const name = 'credential-helper.js';
  const places = [join(__dirname, name), join(__dirname, '../../dist', name)];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`${name} is missing from this installation`);
  return found;
}
