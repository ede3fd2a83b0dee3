import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey, hmacSha256Hex, isObject, parseJson, randomToken } from '../../kernel/index.ts';
import { createFileOnce } from '../../store/index.ts';
import { CommandError } from '../cli/command.ts';
import type { Config } from './config-variables.ts';

/** The current secret, then the former ones, which still verify and decrypt. */
type SecretChain = readonly [string, ...string[]];

export type Secrets = {
  session: SecretChain;
  crypto: SecretChain;
  /** Whether this call created the file. */
  created: boolean;
  warnings: string[];
};

export const SECRETS_FILE = 'secrets.json';

/**
 * The secrets of the configuration. On SQLite, unset ones come from `secrets.json` in the data
 * directory, which the first process creates with mode 0600.
 *
 * @throws `CommandError` if the file cannot be created or read
 */
export function loadSecrets(
  config: Pick<Config, 'sessionSecret' | 'sessionSecretPrevious' | 'cryptoSecret' | 'cryptoSecretPrevious'>,
  dataDir: string,
): Secrets {
  const complete = config.sessionSecret !== '' && config.cryptoSecret !== '';
  const stored = complete ? undefined : readOrCreate(join(dataDir, SECRETS_FILE));
  return {
    session: [config.sessionSecret || (stored?.session ?? ''), ...config.sessionSecretPrevious],
    crypto: [config.cryptoSecret || (stored?.crypto ?? ''), ...config.cryptoSecretPrevious],
    created: stored?.created ?? false,
    warnings: stored?.warnings ?? [],
  };
}

/** Whether `loadSecrets` would create none. */
export const hasSecrets = (config: Pick<Config, 'sessionSecret' | 'cryptoSecret'>, dataDir: string): boolean =>
  (config.sessionSecret !== '' && config.cryptoSecret !== '') || existsSync(join(dataDir, SECRETS_FILE));

type StoredSecrets = { session: string; crypto: string; created: boolean; warnings: string[] };

function readOrCreate(path: string): StoredSecrets {
  try {
    const found = read(path);
    if (found) return { ...found, created: false };
    const created = createFileOnce(path, newSecrets());
    const stored = read(path);
    if (!stored) throw new CommandError(`${path} was removed while it was created`);
    return { ...stored, created };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new CommandError(`the secrets in ${path} cannot be stored (${code}): the data directory must be writable`);
  }
}

function newSecrets(): Uint8Array {
  return Buffer.from(`${JSON.stringify({ session_secret: randomToken(48), crypto_secret: randomToken(48) })}\n`);
}

function read(path: string): Omit<StoredSecrets, 'created'> | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return undefined;
    throw new CommandError(
      `${path} cannot be read (${code ?? 'unknown reason'}): give it to the user that runs taskgate`,
    );
  }
  const value = parseJson(content);
  const session = isObject(value) ? value.session_secret : undefined;
  const crypto = isObject(value) ? value.crypto_secret : undefined;
  if (typeof session !== 'string' || typeof crypto !== 'string' || session === '' || crypto === '') {
    throw new CommandError(
      `${path} is damaged: restore it from a back-up. Without it the next start creates new secrets: everybody must sign in again and stored credentials must be entered again`,
    );
  }
  // Permission bits have no meaning on Windows.
  const isOpen = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  return { session, crypto, warnings: isOpen ? [`${path} can be read by other users: chmod 600 ${path}`] : [] };
}

/**
 * What a node publishes about its secrets: a keyed digest of each, current and former. Two nodes
 * see that they share a secret; nobody can derive it.
 */
export function fingerprintSecrets(secrets: Pick<Secrets, 'session' | 'crypto'>): string[] {
  const fingerprint = (kind: string) => (secret: string) =>
    `${kind}:${hmacSha256Hex(deriveKey(secret, 'node-fingerprint.v1'), kind).slice(0, 32)}`;
  return [...secrets.session.map(fingerprint('session')), ...secrets.crypto.map(fingerprint('crypto'))];
}
