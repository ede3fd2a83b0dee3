import { deriveKey, hmacSha256Hex, randomBelow } from '../../kernel/index.ts';
import type { AuthConfig } from '../config.ts';

/** Codes for when the authenticator app is lost. The store holds only their digests. */
export interface BackupCodes {
  /** Ten new codes as people read them: `XXXX-XXXX`. */
  create(): string[];
  /** The digests to store for new codes. */
  digests(userId: number, codes: readonly string[]): string[];
  /**
   * The digests that could be stored for `code` (as `readCode` gives it): one per secret, the
   * current one first.
   */
  candidates(userId: number, code: string): string[];
}

const COUNT = 10;
const LENGTH = 8;
/** Capital letters and digits without those that look alike: 40 bits per code. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';

export function createBackupCodes({ cryptoSecrets }: Pick<AuthConfig, 'cryptoSecrets'>): BackupCodes {
  const keys = cryptoSecrets.map((secret) => deriveKey(secret, 'backup-code.v1'));
  // The digest includes the user id, so that a row copied to another account is worthless there.
  const candidates = (userId: number, code: string) => keys.map((key) => hmacSha256Hex(key, `${userId}:${code}`));

  return {
    create() {
      const codes = new Set<string>();
      while (codes.size < COUNT) codes.add(randomCode());
      return [...codes];
    },
    digests: (userId, codes) => codes.flatMap((code) => candidates(userId, code.replace('-', '')).slice(0, 1)),
    candidates,
  };
}

function randomCode(): string {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomBelow(ALPHABET.length))).join('');
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
