import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { deriveKey, hmacSha256Hex, isObject, OperatorError, parseJson, randomToken } from '../../kernel/index.ts';
import { createFileOnce, flushFolder } from '../../store/index.ts';
import { SEALED_COLUMNS, type Store } from '../../store/ports/index.ts';
import { replaceFile } from './replace-file.ts';

/** The secrets of the environment; an empty one is not set. */
export type SecretsConfig = {
  sessionSecret: string;
  sessionSecretPrevious: readonly string[];
  cryptoSecret: string;
  cryptoSecretPrevious: readonly string[];
};

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
const LEFT_COPY = /^secrets\.json\.[\w-]{1,40}\.tmp$/;

/**
 * The secrets of the configuration. On SQLite, unset ones come from `secrets.json` in the data
 * directory, which the first process creates with mode 0600.
 *
 * @throws `OperatorError` if the file cannot be created or read
 */
export function loadSecrets(config: SecretsConfig, dataDir: string): Secrets {
  const complete = config.sessionSecret !== '' && config.cryptoSecret !== '';
  const stored = complete ? undefined : readOrCreate(join(dataDir, SECRETS_FILE));
  return {
    session: [
      config.sessionSecret || (stored?.session ?? ''),
      ...config.sessionSecretPrevious,
      ...(stored?.sessionPrevious ?? []),
    ],
    crypto: [
      config.cryptoSecret || (stored?.crypto ?? ''),
      ...config.cryptoSecretPrevious,
      ...(stored?.cryptoPrevious ?? []),
    ],
    created: stored?.created ?? false,
    warnings: stored?.warnings ?? [],
  };
}

type OpenedSecrets = SecretsConfig & { replaceLostSecrets: boolean };
type SecretsPlace = { store: Pick<Store, 'sealed'>; dataDir: string };

/**
 * `loadSecrets` for a database that may be in use.
 * @throws `OperatorError`, also as `refuseLostSecrets` does
 */
export async function openSecrets(config: OpenedSecrets, place: SecretsPlace): Promise<Secrets> {
  await refuseLostSecrets(config, place);
  return loadSecrets(config, place.dataDir);
}

/**
 * No new secrets are created while the database holds values that only the lost ones decrypt,
 * unless REPLACE_LOST_SECRETS says so.
 * @throws `OperatorError`
 */
export async function refuseLostSecrets(config: OpenedSecrets, { store, dataDir }: SecretsPlace): Promise<void> {
  if (config.cryptoSecret === '' && !config.replaceLostSecrets && !existsSync(join(dataDir, SECRETS_FILE))) {
    for (const column of SEALED_COLUMNS) {
      if ((await store.sealed.page(column, '', 1)).length === 0) continue;
      throw new OperatorError(
        `${join(dataDir, SECRETS_FILE)} is missing, and the database holds values that only its secrets decrypt (${column}): restore the file from a backup, or set CRYPTO_SECRET and SESSION_SECRET to what they were. To go on without them, start once with REPLACE_LOST_SECRETS=true: everybody must sign in again, and channels' keys and other stored credentials must be entered again`,
      );
    }
  }
}

/** Whether `loadSecrets` would create none. */
export const hasSecrets = (config: Pick<SecretsConfig, 'sessionSecret' | 'cryptoSecret'>, dataDir: string): boolean =>
  (config.sessionSecret !== '' && config.cryptoSecret !== '') || existsSync(join(dataDir, SECRETS_FILE));

export const describeMissingSecrets = (dataDir: string): string =>
  `${resolve(dataDir, SECRETS_FILE)} is missing, and SESSION_SECRET and CRYPTO_SECRET are not set: restore the file from a backup, or set both to what they were. A gateway that was never started creates it at its start`;

/**
 * Reads the gateway's secrets; never creates any, since new ones could decrypt nothing.
 * @throws `OperatorError` when there are none
 */
export function readSecrets(config: SecretsConfig & { dataDir: string }): Secrets {
  if (!hasSecrets(config, config.dataDir)) throw new OperatorError(describeMissingSecrets(config.dataDir));
  return loadSecrets(config, resolve(config.dataDir));
}

type StoredSecrets = {
  session: string;
  crypto: string;
  sessionPrevious: string[];
  cryptoPrevious: string[];
  created: boolean;
  warnings: string[];
};

function readOrCreate(path: string): StoredSecrets {
  try {
    const found = read(path);
    if (found) return { ...found, created: false };
    const created = createFileOnce(path, newSecrets());
    // Before anything is sealed by them.
    if (created) flushFolder(dirname(path));
    const stored = read(path);
    if (!stored) throw new OperatorError(`${path} was removed while it was created`);
    return { ...stored, created };
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new OperatorError(`the secrets in ${path} cannot be stored (${code}): the data directory must be writable`);
  }
}

const newSecrets = (): Uint8Array =>
  Buffer.from(formatSecrets({ session: [randomToken(48)], crypto: [randomToken(48)] }));

/** The text of `secrets.json`: of each kind the current secret, then the former ones. */
export function formatSecrets({ session, crypto }: { session: readonly string[]; crypto: readonly string[] }): string {
  const [[session_secret, ...formerSession], [crypto_secret, ...formerCrypto]] = [session, crypto];
  const former = {
    ...(formerSession.length > 0 ? { session_secret_previous: formerSession } : {}),
    ...(formerCrypto.length > 0 ? { crypto_secret_previous: formerCrypto } : {}),
  };
  return `${JSON.stringify({ session_secret, crypto_secret, ...former })}\n`;
}

function read(path: string): Omit<StoredSecrets, 'created'> | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return undefined;
    throw new OperatorError(
      `${path} cannot be read (${code ?? 'unknown reason'}): give it to the user that runs taskgate`,
    );
  }
  const value = parseJson(content);
  const session = isObject(value) ? value.session_secret : undefined;
  const crypto = isObject(value) ? value.crypto_secret : undefined;
  const sessionPrevious = readFormer(value, 'session_secret_previous');
  const cryptoPrevious = readFormer(value, 'crypto_secret_previous');
  const isWhole = typeof session === 'string' && typeof crypto === 'string' && session !== '' && crypto !== '';
  if (!isWhole || sessionPrevious === undefined || cryptoPrevious === undefined) {
    throw new OperatorError(
      `${path} is damaged: restore it from a backup. Without it the next start creates new secrets: everybody must sign in again and stored credentials must be entered again`,
    );
  }
  // Permission bits have no meaning on Windows.
  const isOpen = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  return {
    session,
    crypto,
    sessionPrevious,
    cryptoPrevious,
    warnings: isOpen ? [`${path} can be read by other users: chmod 600 ${path}`] : [],
  };
}

/** A list that may be absent; `undefined` for anything else. */
function readFormer(value: unknown, name: string): string[] | undefined {
  const list = isObject(value) ? ((value as Record<string, unknown>)[name] ?? []) : [];
  return Array.isArray(list) && list.every((item) => typeof item === 'string' && item !== '') ? list : undefined;
}

/**
 * Puts new secrets into `secrets.json` and keeps the former ones there. The file is replaced as a
 * whole, so that an end at any moment leaves one of the two.
 *
 * @throws `OperatorError` where the secrets are configured and not in the file
 */
export function generateSecrets(config: Pick<SecretsConfig, 'sessionSecret' | 'cryptoSecret'>, dataDir: string): void {
  if (config.sessionSecret !== '' || config.cryptoSecret !== '') {
    throw new OperatorError(
      'SESSION_SECRET or CRYPTO_SECRET is set: put a new value there yourself (openssl rand -hex 32), and the former one into …_PREVIOUS',
    );
  }
  const path = join(dataDir, SECRETS_FILE);
  // A copy of a killed run is one that nobody guards or rotates.
  for (const name of readdirSync(dataDir).filter((each) => LEFT_COPY.test(each))) rmSync(join(dataDir, name));
  const stored = readOrCreate(path);
  const next = formatSecrets({
    session: [randomToken(48), stored.session, ...stored.sessionPrevious],
    crypto: [randomToken(48), stored.crypto, ...stored.cryptoPrevious],
  });
  if (!replaceFile(path, readFileSync(path, 'utf8'), next)) {
    throw new OperatorError(`${path} was changed while this ran: run it again`);
  }
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
