import { randomBytes, scrypt } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { chacha20poly1305 } from '@noble/ciphers/chacha.js';
import type { Identity, Recipient } from 'age-encryption';
import { isObject, OperatorError, parseJson, unreadable } from '../../kernel/index.ts';
import type { Secrets } from '../secrets/load-secrets.ts';
import type { BackupConfig, Seal, Unseal } from './types.ts';

const MIN_PASSPHRASE = 12;
const MAX_FILE_BYTES = 64 * 1024;

/** The plain text of `secrets.age`. It names its backup, so that it cannot stand in another. */
type SealedSecrets = { backup: string; database_sha256: string; session: string[]; crypto: string[] };

/** What the configuration says about sealing; undefined: nothing. Files are read at each use. */
export async function configuredSeal(config: BackupConfig): Promise<Seal | undefined> {
  if (config.backupRecipients !== '') return sealForRecipients(config.backupRecipients);
  const passphrase = configuredPassphrase(config);
  return passphrase === undefined ? undefined : sealWithPassphrase(passphrase);
}

export function configuredPassphrase(config: BackupConfig): string | undefined {
  if (config.backupPassphraseFile !== '') return readPassphraseFile(config.backupPassphraseFile);
  return config.backupPassphrase || undefined;
}

/** @throws `OperatorError` when it cannot be read or its first line is too short */
export function readPassphraseFile(path: string): string {
  const [line = ''] = readSmallFile(path).split(/\r?\n/);
  if (line.length < MIN_PASSPHRASE) {
    throw new OperatorError(
      `the first line of ${path} is not a passphrase: it has fewer than ${MIN_PASSPHRASE} characters`,
    );
  }
  return line;
}

export function requirePassphrase(text: string): string {
  if (text.length >= MIN_PASSPHRASE) return text;
  throw new OperatorError(`a passphrase has at least ${MIN_PASSPHRASE} characters`);
}

export function sealWithPassphrase(passphrase: string): Seal {
  return {
    with: 'passphrase',
    async encrypt(text) {
      const { Encrypter } = await import('age-encryption');
      const encrypter = new Encrypter();
      encrypter.addRecipient(passphraseRecipient(passphrase));
      return encrypter.encrypt(text);
    },
  };
}

/** @throws `OperatorError` for an invalid key */
export async function sealForRecipients(list: string): Promise<Seal> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  const keys = list.split(',').map((key) => key.trim());
  for (const [at, key] of keys.entries()) {
    try {
      encrypter.addRecipient(key);
    } catch {
      // Not repeated: it may be a secret key.
      throw new OperatorError(`number ${at + 1} of the recipients is not a public key of age (age1…)`);
    }
  }
  return { with: 'recipients', encrypt: (text) => encrypter.encrypt(text) };
}

export function unsealWithPassphrase(passphrase: string): Unseal {
  return (sealed) => open(sealed, (decrypter) => decrypter.addIdentity(passphraseIdentity(passphrase)));
}

/** `path`: a file of secret keys, as `age-keygen` writes it. */
export function unsealWithIdentities(path: string): Unseal {
  const keys = readSmallFile(path)
    .split(/\r?\n/)
    .filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  if (keys.length === 0) throw new OperatorError(`${path} has no secret key of age (AGE-SECRET-KEY-…)`);
  return (sealed) =>
    open(sealed, (decrypter) => {
      for (const key of keys) decrypter.addIdentity(key);
    });
}

type AgeDecrypter = import('age-encryption').Decrypter;

async function open(sealed: Uint8Array, add: (decrypter: AgeDecrypter) => void): Promise<string | undefined> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    add(decrypter);
    return await decrypter.decrypt(sealed, 'text');
  } catch {
    return undefined;
  }
}

function readSmallFile(path: string): string {
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new OperatorError(`${path} is too large`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw unreadable(path, error);
  }
}

export const writeSecrets = (
  { session, crypto }: Pick<Secrets, 'session' | 'crypto'>,
  of: { backup: string; database_sha256: string },
): string => JSON.stringify({ ...of, session: [...session], crypto: [...crypto] } satisfies SealedSecrets);

/** The secrets in an opened `secrets.age`; undefined: they are not those of this backup. */
export function unsealSecrets(
  text: string,
  of: { backup: string; database_sha256: string },
): Pick<SealedSecrets, 'session' | 'crypto'> | undefined {
  const value = parseJson(text);
  if (!isObject(value) || value.backup !== of.backup || value.database_sha256 !== of.database_sha256) return undefined;
  const { session, crypto } = value;
  return isChain(session) && isChain(crypto) ? { session, crypto } : undefined;
}

const isChain = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((secret) => typeof secret === 'string' && secret !== '');

/**
 * The exponent of scrypt's N, as `age` itself chooses it: 256 MB and most of a second for each try.
 * `age` opens nothing above 22; more than 20 would take a gigabyte.
 */
const WORK_FACTOR = 18;
const MAX_WORK_FACTOR = 20;

/**
 * The passphrase of an `age` file (https://age-encryption.org/v1, "The scrypt recipient type").
 * The library computes scrypt in JavaScript, for seconds in which a gateway answers nobody;
 * this is the runtime's own, beside the event loop.
 */
export function passphraseRecipient(passphrase: string, workFactor = WORK_FACTOR): Recipient {
  return {
    async wrapFileKey(fileKey) {
      const { Stanza } = await import('age-encryption');
      const salt = randomBytes(16);
      const key = await deriveKey(passphrase, salt, workFactor);
      const body = chacha20poly1305(key, new Uint8Array(12)).encrypt(fileKey);
      return [new Stanza(['scrypt', toBase64(salt), String(workFactor)], body)];
    },
  };
}

/** Opens files that `passphraseRecipient`, or `age -p`, has sealed. */
export function passphraseIdentity(passphrase: string): Identity {
  return {
    async unwrapFileKey(stanzas) {
      const stanza = stanzas.find(({ args }) => args[0] === 'scrypt');
      if (!stanza) return null;
      const salt = Buffer.from(stanza.args[1] ?? '', 'base64');
      const factor = stanza.args[2] ?? '';
      const isSound =
        stanzas.length === 1 &&
        stanza.args.length === 3 &&
        toBase64(salt) === stanza.args[1] &&
        salt.length === 16 &&
        /^[1-9][0-9]?$/.test(factor) &&
        Number(factor) <= MAX_WORK_FACTOR &&
        stanza.body.length === 32;
      if (!isSound) throw new Error('the file is not sealed by a passphrase as age does it');
      const key = await deriveKey(passphrase, salt, Number(factor));
      try {
        return chacha20poly1305(key, new Uint8Array(12)).decrypt(stanza.body);
      } catch {
        return null;
      }
    },
  };
}

function deriveKey(passphrase: string, salt: Uint8Array, workFactor: number): Promise<Uint8Array> {
  const N = 2 ** workFactor;
  const r = 8;
  const labelled = Buffer.concat([Buffer.from('age-encryption.org/v1/scrypt'), salt]);
  return new Promise((resolve, reject) => {
    // `maxmem` has to be above 128 * N * r, which the algorithm needs.
    scrypt(passphrase, labelled, 32, { N, r, p: 1, maxmem: 128 * (N + 1024) * r }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replaceAll('=', '');
