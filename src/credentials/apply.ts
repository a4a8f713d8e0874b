// Puts what a broker delivers into an environment.
import { isOurs } from '../copies.js';
import { Environment } from '../plan/create-environment.js';
import {
  mergeCredentials,
  mergeVariables,
  takeCredentials,
  type CredentialVariables,
} from '../plan/credential-variables.js';
import {
  recordEnvironment,
  resolveEnvironment,
  type ResolvedEnvironment,
} from '../plan/environment.js';
import { takeVariables } from '../plan/variables.js';

/**
 * The variables with those of the broker, and without those that would win over them. An environment
 * keeps its record. Configuration that git is given by GIT_CONFIG_COUNT already comes first.
 *
 * @throws {SallyportTypeError} what was delivered has not the form that `open` of a broker gives; a variable
 *   is malformed
 */
export function applyCredentials(
  environment: Environment,
  delivered: CredentialVariables,
): Environment;
export function applyCredentials(
  variables: Readonly<Record<string, string>>,
  delivered: CredentialVariables,
): Record<string, string>;
export function applyCredentials(
  variables: Environment | Readonly<Record<string, string>>,
  delivered: CredentialVariables,
): Environment | Record<string, string> {
  if (isOurs(variables, Environment, 'variables')) {
    return addTo(resolveEnvironment(variables), delivered);
  }
  const made = takeCredentials(delivered, 'delivered');
  return mergeVariables(takeVariables(variables, 'variables'), made).variables;
}

/** The same, to what a run is given as `env`. */
export function addTo(
  { variables, source, record }: ResolvedEnvironment,
  delivered: CredentialVariables,
): Environment {
  const merged = mergeCredentials(
    { variables, record: recordEnvironment(variables, source, record) },
    takeCredentials(delivered, 'delivered'),
  );
  return Environment.of(merged.variables, merged.record);
}
