/** Passwords that another gateway hashed with bcrypt. */
import { describe, expect, test } from 'bun:test';
import { createPasswordHashes, isImportableHash } from '../../src/auth/credentials/password-hashes.ts';
import { silentLogger } from '../../src/kernel/index.ts';

const hashes = createPasswordHashes(silentLogger, { memoryCost: 8, timeCost: 1 });
const bcrypt = (password: string, cost = 4) => Bun.password.hash(password, { algorithm: 'bcrypt', cost });
const verify = (password: string, passwordHash: string) => hashes.verify(password, { id: 1, passwordHash });

describe('an imported bcrypt hash', () => {
  test('is that of its password in each spelling of its version', async () => {
    const hash = await bcrypt('Alice-pass-0001');
    for (const version of ['$2a$', '$2b$', '$2y$']) {
      const own = `${version}${hash.slice(4)}`;
      expect([await verify('Alice-pass-0001', own), await verify('alice-pass-0001', own)]).toEqual([true, false]);
    }
  });

  test('counts every byte as it was typed', async () => {
    const composed = await bcrypt('pässword-1');
    expect([await verify('pässword-1', composed), await verify('pa\u0308ssword-1', composed)]).toEqual([true, false]);
  });

  test('truncation: nothing longer than 72 bytes matches, whatever it begins with', async () => {
    const full = 'x'.repeat(72);
    const hash = await bcrypt(full);
    expect([await verify(full, hash), await verify(`${full}y`, hash)]).toEqual([true, false]);
    // What Bun makes of a longer password is not a hash of another program.
    expect(await verify('y'.repeat(73), await bcrypt('y'.repeat(73)))).toBe(false);
    expect(await verify('long\0er', await bcrypt('long'))).toBe(false);
  });

  test('denial of service: a cost above 14 is never computed', async () => {
    const costly = (await bcrypt('password-1')).replace('$04$', '$31$');
    expect(isImportableHash(costly)).toBe(false);
    // It would take days.
    expect(await verify('password-1', costly)).toBe(false);
    expect(['', '$2a$03$', 'md5', '$2a$10$short'].some(isImportableHash)).toBe(false);
  });
});
