import { sha256Hex } from '../../kernel/index.ts';
import type { AccessClaims } from './access-tokens.ts';

/**
 * Remembers tokens whose signature was verified, by digest, so that the signature is checked once a
 * token and not once a request (about 0.13 ms). At most `capacity` of them: the least recently used
 * goes first. Expiry stays the caller's check.
 */
export function createVerifiedTokenCache(capacity: number): {
  get(token: string): AccessClaims | undefined;
  put(token: string, claims: AccessClaims): void;
  size(): number;
} {
  const byDigest = new Map<string, AccessClaims>();
  return {
    get(token) {
      const digest = sha256Hex(token);
      const claims = byDigest.get(digest);
      if (claims) {
        // A Map keeps the order of insertion: to the end with it, so that the first is always the
        // least recently used.
        byDigest.delete(digest);
        byDigest.set(digest, claims);
      }
      return claims;
    },
    put(token, claims) {
      byDigest.set(sha256Hex(token), claims);
      if (byDigest.size > capacity) {
        const [oldest] = byDigest.keys();
        if (oldest !== undefined) byDigest.delete(oldest);
      }
    },
    size: () => byDigest.size,
  };
}
