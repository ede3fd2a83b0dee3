import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CommandError } from '../cli/command.ts';
import type { Config } from './config-variables.ts';
import { loadSecrets, SECRETS_FILE, type Secrets } from './load-secrets.ts';

/**
 * Reads the gateway's secrets; never creates any, since new ones could decrypt nothing.
 * @throws `CommandError` when there are none
 */
export function readSecrets(config: Config): Secrets {
  const complete = config.sessionSecret !== '' && config.cryptoSecret !== '';
  if (!complete && !existsSync(resolve(config.dataDir, SECRETS_FILE))) {
    throw new CommandError(`there is no ${SECRETS_FILE} in the data directory and the secrets are not configured`);
  }
  return loadSecrets(config, resolve(config.dataDir));
}
