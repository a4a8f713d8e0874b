// Names that look like those of credentials. For a report only: nothing passes or stays out by them.
import { flagName } from '../plan/flagged-names.js';

type Rule = readonly [pattern: RegExp, what: string];

const RULES: readonly Rule[] = [
  [/^(AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|SECURITY_TOKEN))$/, 'a key of AWS'],
  [/^(ACTIONS_|CI_|BUILDKITE_|CIRCLE_|SYSTEM_).*(TOKEN|JWT|PASSWORD)/, 'a token of the CI system'],
  [
    /^(DATABASE|DB|PG|POSTGRES|POSTGRESQL|MYSQL|MONGO(DB)?|REDIS|AMQP|RABBITMQ|CLICKHOUSE)_?(URL|URI|DSN)$/,
    'the address of a database, often with a password',
  ],
  [/(^|_)CONNECTION_?STRING$/, 'a connection string, often with a password'],
  [/(^|_)(TOKEN|TOKENS|ACCESSTOKEN|AUTHTOKEN|JWT|PAT)(_|$)/, 'a token'],
  [
    /(^|_)(PASSWORD|PASSWD|PASSPHRASE|PASSWORDS|PASS|PGPASSWORD)$|^(PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH)$/,
    'a password',
  ],
  [/(^|_)(SECRET|SECRETS)(_|$)/, 'a secret'],
  [
    /(^|_)(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|LICENSE_?KEY|SSH_?KEY|AUTH_?KEY|ACCOUNT_?KEY|MASTER_?KEY|DEPLOY_?KEY)(_ID|_BASE64|_PEM)?$/,
    'a key',
  ],
  [/(^|_)(CREDENTIALS?|CREDS?)(_|$)/, 'credentials'],
  [/(^|_)(AUTH|AUTHORIZATION|AUTH_CONFIG|BASIC_AUTH)$/, 'something to authenticate with'],
  [/(^|_)(COOKIE|COOKIES|SESSION_ID)$/, 'a session'],
  [/(^|_)(DSN|WEBHOOK(_URL)?)$/, 'an address that is itself the permission'],
];

/** As one clause, or undefined. */
export function judgeName(name: string): string | undefined {
  const upper = name.toUpperCase();
  const found = RULES.find(([pattern]) => pattern.test(upper));
  if (found !== undefined) return found[1];
  const flag = flagName(name);
  return flag?.kind === 'credentials' ? flag.why : undefined;
}
