import { closeSync, fsyncSync, linkSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey, hmacSha256Hex, isObject, parseJson, randomToken } from '../../kernel/index.ts';
import { CommandError } from '../cli/command.ts';
import type { Config } from './config-variables.ts';

/** The current secret first, then the former ones that still verify and decrypt. */
type SecretChain = readonly [string, ...string[]];

export type Secrets = {
  session: SecretChain;
  crypto: SecretChain;
  /** True when this call made the file. */
  created: boolean;
  warnings: string[];
};

export const SECRETS_FILE = 'secrets.json';

/**
 * The secrets of the configuration; on SQLite those that are unset come from `secrets.json` in the
 * data directory, made once with mode 0600 by whichever process comes first. Throws `CommandError`
 * when the file cannot be made or read.
 */
export function loadSecrets(
  config: Pick<Config, 'sessionSecret' | 'sessionSecretPrevious' | 'cryptoSecret' | 'cryptoSecretPrevious'>,
  dataDir: string,
): Secrets {
  const complete = config.sessionSecret !== '' && config.cryptoSecret !== '';
  const kept = complete ? undefined : readOrMake(join(dataDir, SECRETS_FILE));
  return {
    session: [config.sessionSecret || (kept?.session ?? ''), ...config.sessionSecretPrevious],
    crypto: [config.cryptoSecret || (kept?.crypto ?? ''), ...config.cryptoSecretPrevious],
    created: kept?.created ?? false,
    warnings: kept?.warnings ?? [],
  };
}

type Kept = { session: string; crypto: string; created: boolean; warnings: string[] };

function readOrMake(path: string): Kept {
  try {
    const found = read(path);
    if (found) return { ...found, created: false };
    const made = make(path);
    const stored = read(path);
    if (!stored) throw new CommandError(`${path} vanished while it was made`);
    return { ...stored, created: made };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new CommandError(`the secrets in ${path} cannot be kept (${code}): the data directory must be writable`);
  }
}

function read(path: string): Omit<Kept, 'created'> | undefined {
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
      `${path} is damaged: restore it from a back-up. Removing it makes new secrets: everybody signs in again and stored credentials must be entered again`,
    );
  }
  // Permission bits mean nothing on Windows.
  const open = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  return { session, crypto, warnings: open ? [`${path} can be read by other users: chmod 600 ${path}`] : [] };
}

/**
 * True when this process made the file; false when another was first. The file appears whole or not
 * at all.
 */
function make(path: string): boolean {
  const draft = `${path}.${randomToken(6)}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify({ session_secret: randomToken(48), crypto_secret: randomToken(48) })}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    // A link never replaces a file that is there, unlike a rename.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
}

/**
 * What a node publishes of its secrets: a keyed digest of each, current and former, by which two
 * nodes see that they share one and nobody sees which.
 */
export function fingerprintSecrets(secrets: Pick<Secrets, 'session' | 'crypto'>): string[] {
  const print = (kind: string) => (secret: string) =>
    `${kind}:${hmacSha256Hex(deriveKey(secret, 'node-fingerprint.v1'), kind).slice(0, 32)}`;
  return [...secrets.session.map(print('session')), ...secrets.crypto.map(print('crypto'))];
}
