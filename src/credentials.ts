// `sallyport/credentials`: what this entry of the package offers. Only re-exports.
export {
  createCredentialBroker,
  CredentialBroker,
  type CredentialBrokerEvents,
  type DeliveredCredentials,
  type OpenCredentialsOptions,
} from './credentials/broker.js';
export type { CredentialBrokerOptions } from './credentials/options.js';
export { applyCredentials } from './credentials/apply.js';
export {
  runWithCredentials,
  type CredentialedReport,
  type CredentialedRun,
} from './credentials/run.js';
export type { CredentialSource, Minted, MintContext } from './credentials/source.js';
export { assumeRole, type AssumeRole } from './credentials/assume-role.js';
export {
  commandSource,
  fileSource,
  parseCredential,
  type CommandSource,
  type FileSource,
  type SourceOptions,
} from './credentials/programs.js';
export type {
  AwsProcessDelivery,
  Delivery,
  EndpointDelivery,
  EnvDelivery,
  FileDelivery,
  GitProcessDelivery,
} from './credentials/delivery.js';
export {
  netrcFile,
  npmrcFile,
  pgpassFile,
  templateFile,
  type NetrcFile,
  type NpmrcFile,
  type PgpassFile,
  type TemplateFile,
} from './credentials/formats.js';
export type { CredentialOutage, CredentialState, CredentialStatus } from './credentials/status.js';
export type { CredentialFetch } from './credentials/endpoint.js';
export type {
  CredentialEnd,
  CredentialGrant,
  CredentialReport,
  CredentialRevocation,
} from './credentials/report.js';
export type { OutputMask } from './run/output-options.js';
