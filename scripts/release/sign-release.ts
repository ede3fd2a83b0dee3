import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseComment } from '../../src/operations/upgrade/fetch-release.ts';
import { readSecretKeyFile, type SigningKey, signData } from '../../src/plugins/index.ts';
import type { Release } from './describe-release.ts';
import { CHECKSUMS } from './write-checksums.ts';

/**
 * The key that signs the release: the secret key of minisign in the file `RELEASE_KEY_FILE`, whose
 * password is in `RELEASE_KEY_PASSWORD`.
 *
 * @throws when it cannot be opened
 */
export function openReleaseKey(): SigningKey | undefined {
  const { RELEASE_KEY_FILE: file = '', RELEASE_KEY_PASSWORD: password = '' } = process.env;
  // What the build starts needs no password.
  delete process.env.RELEASE_KEY_PASSWORD;
  if (file === '') return undefined;
  const key = readSecretKeyFile(readFileSync(file, 'utf8'), password);
  if (!key.ok) throw new Error(`${file} cannot be used: ${key.error}`);
  return key.value;
}

/** Signs the checksums. Says the signature's name. */
export function signRelease(release: Release, key: SigningKey, out: string): string {
  const name = `${CHECKSUMS}.minisig`;
  const checksums = readFileSync(join(out, CHECKSUMS));
  writeFileSync(join(out, name), signData(key, checksums, releaseComment(release.version)));
  return name;
}
