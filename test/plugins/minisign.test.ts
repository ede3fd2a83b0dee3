/**
 * Keys and signatures in minisign's form: what minisign 0.11 wrote is read, what is written here is
 * read back, and everything else is refused.
 */
import { describe, expect, test } from 'bun:test';
import { hashData, readSignature, signData, verifySignature } from '../../src/plugins/signing/signature.ts';
import {
  generateSigningKey,
  needsPassword,
  parsePublicKey,
  parsePublicKeyFile,
  readSecretKeyFile,
  writeSecretKeyFile,
} from '../../src/plugins/signing/signing-keys.ts';

/** Written by `minisign -G -W` and `minisign -S -W`, for this test alone. */
const THEIRS = {
  publicKey: 'RWTkQjzVbKoobJuwYer8imlYwkA3DwIo6gJxP2+XXAmq/kPmtod9l9B0',
  secretKey: `untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA5EI81WyqKGyYLcumLL3btcydR0UyjZu9Lwf32LgLK2O+sW/waLP40puwYer8imlYwkA3DwIo6gJxP2+XXAmq/kPmtod9l9B0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
`,
  data: 'a marketplace\n',
  signature: `untrusted comment: signature from minisign secret key
RUTkQjzVbKoobDagGmx778hqzIEscNy8xDFNcg70llmxwD6g5qSRzMJKwfDg9/ibZEFLOjfkdyaErAv4f1ckX8Cw14Ux/0ZjRg0=
trusted comment: signed by minisign
vMyZGvAWSZBHpmHVJZ5QU0YvLOOeiGDTBv854wbS+AnhAdl7UogphOyGcFnR8b5vP+YfXM2lPAQfOHNuQwtkAw==
`,
  /** A signature of the file itself and not of its hash, as minisign makes them no longer. */
  older: `untrusted comment: signature from minisign secret key
RWTkQjzVbKoobPsIhvzvLBnTSt8FKEMKDkEeykl25enGJydBQqG1eg0imLvVnkOaTJBEieIwS+ynipMtKORPr0VkdPtLRoRAHwg=
trusted comment: timestamp:1795634138\tfile:v.txt
ucmiI2+Y0gzOnOpiiIncziuqgdSKkVbMfMQ24zN99H0I/ROqmu7KfOxGUFRD1MWv3CcE4zW4D3AUuMpQ0KujBw==
`,
};
const key = parsePublicKey(THEIRS.publicKey);
if (!key) throw new Error('the key was not read');

function verifies(signature: string, data = THEIRS.data): boolean {
  const read = readSignature(signature);
  return read !== undefined && key !== undefined && verifySignature(key, hashData(Buffer.from(data)), read);
}

describe('what minisign wrote', () => {
  test('a key and a signature are read, and the id is the one that it prints', () => {
    expect(key.id).toBe('6C28AA6CD53C42E4');
    expect(verifies(THEIRS.signature)).toBe(true);
    expect(verifies(THEIRS.signature.replaceAll('\n', '\r\n'))).toBe(true);
    expect(parsePublicKeyFile(`untrusted comment: ours\n${THEIRS.publicKey}\n`)).toEqual(key);
    const secret = readSecretKeyFile(THEIRS.secretKey, '');
    expect(secret.ok && secret.value.publicKey).toEqual(key);
    expect(secret.ok && verifies(signData(secret.value, Buffer.from('x'), 'y'), 'x')).toBe(true);
  });

  test.each<[name: string, signature: string, data: string]>([
    ['other data', THEIRS.signature, 'a marketplace'],
    ['another trusted comment', THEIRS.signature.replace('by minisign', 'by Minisign'), THEIRS.data],
    ['a signature of the older kind', THEIRS.older, THEIRS.data],
    ['the older kind renamed', THEIRS.older.replace('\nRWTk', '\nRUTk'), THEIRS.data],
    ['another key id', THEIRS.signature.replace('RUTkQjz', 'RUTkQjy'), THEIRS.data],
    ['a line more', `${THEIRS.signature}x\n`, THEIRS.data],
    ['a line less', THEIRS.signature.split('\n').slice(0, 3).join('\n'), THEIRS.data],
    ['another spelling in Base64', THEIRS.signature.replace('Rg0=', 'Rg1='), THEIRS.data],
  ])('%s is refused', (_name, signature, data) => {
    expect(verifies(signature, data)).toBe(false);
  });
});

describe('a secret key', () => {
  const mine = generateSigningKey();
  const file = writeSecretKeyFile(mine, 'open sesame');

  test('is read with its password only', () => {
    expect(needsPassword(file)).toBe(true);
    const read = readSecretKeyFile(file, 'open sesame');
    expect(read.ok && read.value.publicKey).toEqual(mine.publicKey);
    for (const password of ['', 'Open sesame'])
      expect(readSecretKeyFile(file, password)).toEqual({ ok: false, error: 'password' });
  });

  test('that asks for more memory than 1 GiB, was changed, or is none, is refused', () => {
    const change = (text: string, at: number, bytes: readonly number[]): string => {
      const [comment, line = ''] = text.split('\n');
      const changed = Buffer.from(line, 'base64');
      changed.set(bytes, at);
      return `${comment}\n${changed.toString('base64')}\n`;
    };
    const MEMORY_AT = 6 + 32 + 8;
    const costly = change(file, MEMORY_AT, [0, 0, 0, 0, 1]);
    expect(readSecretKeyFile(costly, 'open sesame')).toEqual({ ok: false, error: 'too_costly' });
    const open = writeSecretKeyFile(mine, '');
    expect(needsPassword(open)).toBe(false);
    expect(readSecretKeyFile(open, '').ok).toBe(true);
    for (const text of [change(open, 70, [1, 2, 3]), change(THEIRS.secretKey, 100, [1, 2, 3]), 'no key', '']) {
      expect(readSecretKeyFile(text, '')).toEqual({ ok: false, error: 'format' });
    }
  });
});

test.each(['', 'RWQ', `RWQ${'a'.repeat(54)}`, `${THEIRS.publicKey}=`, THEIRS.publicKey.replace('RWT', 'RUT')])(
  '%p is not a public key',
  (text) => {
    expect(parsePublicKey(text)).toBeUndefined();
  },
);
