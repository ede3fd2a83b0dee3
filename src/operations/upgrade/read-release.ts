import { err, ok, type Result } from '../../kernel/index.ts';
import { hashData, type PublicKey, readSignature, verifySignature } from '../../plugins/index.ts';

/** What a release offers for this platform. */
export type OfferedRelease = {
  version: string;
  /** The archive with the executable, and its SHA-256 in hex. */
  file: string;
  sha256: string;
};

export const CHECKSUMS_FILE = 'SHA256SUMS';
export const SIGNATURE_FILE = 'SHA256SUMS.minisig';

/**
 * What a release's signature says beside the checksums: another file that the same key has signed
 * is none.
 */
export const releaseComment = (version: string): string => `taskgate release ${version}`;

type ReleaseFiles = {
  checksums: Uint8Array;
  /** `undefined`: there is none. */
  signature: Uint8Array | undefined;
  key: PublicKey;
  /** The platform, as in the archives' names. */
  target: string;
};

/** Reads a release's checksums, once its signature is found to be the key's. */
export function readRelease({ checksums, signature, key, target }: ReleaseFiles): Result<OfferedRelease, string> {
  if (signature === undefined) return err(`the release is not signed: it has no ${SIGNATURE_FILE}`);
  const signed = readSignature(Buffer.from(signature).toString('utf8'));
  if (signed === undefined) return err(`${SIGNATURE_FILE} is no signature of minisign`);
  if (signed.keyId !== key.id) return err(`the release is signed by another key: ${signed.keyId}, expected ${key.id}`);
  if (!verifySignature(key, hashData(checksums), signed)) {
    return err(`the signature does not fit ${CHECKSUMS_FILE}: one of them was changed`);
  }
  const lines = Buffer.from(checksums).toString('utf8').split('\n');
  for (const line of lines) {
    const [, sha256 = '', file = ''] = /^([0-9a-f]{64}) {2}(taskgate-[\w.+-]{1,100})$/.exec(line) ?? [];
    const ending = [`-${target}.tar.gz`, `-${target}.zip`].find((each) => file.endsWith(each));
    if (ending === undefined) continue;
    const version = file.slice('taskgate-'.length, -ending.length);
    // `linux-x64` is also the end of no other platform's name, and the comment names the version.
    if (signed.trustedComment !== releaseComment(version)) return err('the signature is not that of a release');
    return ok({ version, file, sha256 });
  }
  return err(`the release has no executable for ${target}`);
}
