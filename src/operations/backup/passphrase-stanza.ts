import { randomBytes, scrypt } from 'node:crypto';
import { chacha20poly1305 } from '@noble/ciphers/chacha.js';
import type { Identity, Recipient } from 'age-encryption';

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
