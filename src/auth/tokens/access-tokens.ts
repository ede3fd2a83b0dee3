import type { Clock, WatchCache } from '../../kernel/index.ts';
import type { PurposeKeys } from '../derive-keys.ts';
import { authErrors } from '../errors.ts';
import { createPanelJwt, LEEWAY_SECONDS, type TokenClaims, type TokenSubject } from './panel-jwt.ts';
import { createVerifiedTokenCache } from './verified-token-cache.ts';

/**
 * What an access token says. It names versions only: role, status and group are read from the store
 * at every request.
 */
export type AccessClaims = Omit<TokenClaims, 'extra'>;

export interface AccessTokens {
  /**
   * A new token and the Unix second at which it ends: 15 minutes from now, never later than
   * `notAfter`.
   */
  sign(subject: TokenSubject, notAfter: number): Promise<{ token: string; expiresAt: number }>;
  /**
   * The claims of a valid token. Rejects with `auth.token_expired` for one that was valid once,
   * `auth.unauthorized` for everything else. Says nothing about the session behind it.
   */
  verify(token: string): Promise<AccessClaims>;
}

/** Fifteen minutes, as in new-api. */
const LIFETIME_SECONDS = 15 * 60;
/** About 4 MB when full. */
const REMEMBERED_TOKENS = 10_000;

export function createAccessTokens(keys: PurposeKeys, clock: Clock, watchCache?: WatchCache): AccessTokens {
  const jwt = createPanelJwt('access', keys, clock);
  const remembered = createVerifiedTokenCache(REMEMBERED_TOKENS);
  watchCache?.('verified_tokens', remembered.size);

  return {
    async sign(subject, notAfter) {
      const expiresAt = Math.min(clock.unix() + LIFETIME_SECONDS, notAfter);
      return { token: await jwt.sign(subject, expiresAt), expiresAt };
    },

    async verify(token) {
      const known = remembered.get(token);
      if (known) {
        if (clock.unix() >= known.expiresAt + LEEWAY_SECONDS) throw authErrors.token_expired();
        return known;
      }
      const result = await jwt.verify(token);
      if (result.verdict === 'expired') throw authErrors.token_expired();
      if (result.verdict === 'invalid') throw authErrors.unauthorized();
      const { extra: _extra, ...claims } = result.claims;
      remembered.put(token, claims);
      return claims;
    },
  };
}
