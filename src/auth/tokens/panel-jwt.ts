import { decodeJwt, errors, jwtVerify } from 'jose';
import { type Clock, hmacSha256Base64Url, newUuid } from '../../kernel/index.ts';
import type { PurposeKeys } from './session-keys.ts';

/** The kinds of JWT that we issue for the panel; each has its own signing key. */
type TokenUse = 'access' | 'security_proof';
const TOKEN_USES: readonly unknown[] = ['access', 'security_proof'] satisfies TokenUse[];

const ISSUER = 'taskgate';
const AUDIENCE = 'taskgate-panel';
/**
 * We sign by hand: jose imports the key and signs off-thread each time (28 µs instead of 3). jose
 * still verifies.
 */
const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
/** How far two nodes' clocks may differ. */
export const LEEWAY_SECONDS = 5;

/** The user and session that a token is for, with the versions that they had. */
export type TokenSubject = { userId: number; sid: string; userAuthVersion: number; sessionVersion: number };

export type TokenClaims = TokenSubject & {
  issuedAt: number;
  expiresAt: number;
  /** Further claims of this kind of token, unchecked. */
  extra: Record<string, unknown>;
};

/**
 * The claims of an access token. They name versions only: role, status and group are read from the
 * store at every request.
 */
export type AccessClaims = Omit<TokenClaims, 'extra'>;

export type TokenVerdict = { verdict: 'valid'; claims: TokenClaims } | { verdict: 'expired' } | { verdict: 'invalid' };

export interface PanelJwt {
  sign(subject: TokenSubject, expiresAt: number, extra?: Record<string, unknown>): string;
  /** `expired` only for a token that was valid once. Does not check the session behind it. */
  verify(token: string): Promise<TokenVerdict>;
}

/**
 * True for a JWT that claims to be one of ours, valid or not. Such a string is checked as a JWT
 * only and never looked up as a personal access token or an API key.
 */
export function claimsToBeOurs(credential: string): boolean {
  try {
    const { iss, aud, token_use } = decodeJwt(credential);
    const audiences = Array.isArray(aud) ? aud : [aud];
    return iss === ISSUER && audiences.includes(AUDIENCE) && TOKEN_USES.includes(token_use);
  } catch {
    return false;
  }
}

/**
 * Signs and verifies one kind of token with HS256 only, whatever the token's header says.
 */
export function createPanelJwt(use: TokenUse, keys: PurposeKeys, clock: Clock): PanelJwt {
  async function verifyWith(key: Uint8Array, token: string): Promise<TokenVerdict | undefined> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(clock.nowMs()),
        requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
      });
      const claims = readClaims(use, payload, clock.unix());
      return claims ? { verdict: 'valid', claims } : { verdict: 'invalid' };
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return undefined;
      // jose checks the claims after the signature, so an expired token is one that we signed.
      return { verdict: error instanceof errors.JWTExpired ? 'expired' : 'invalid' };
    }
  }

  return {
    sign(subject, expiresAt, extra = {}) {
      const now = clock.unix();
      const claims = {
        ...extra,
        token_use: use,
        sid: subject.sid,
        uv: subject.userAuthVersion,
        sv: subject.sessionVersion,
        iss: ISSUER,
        aud: AUDIENCE,
        sub: String(subject.userId),
        iat: now,
        nbf: now - LEEWAY_SECONDS,
        exp: expiresAt,
        jti: newUuid(),
      };
      const signed = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      return `${signed}.${hmacSha256Base64Url(keys[0], signed)}`;
    },

    async verify(token) {
      for (const key of keys) {
        const verdict = await verifyWith(key, token);
        if (verdict) return verdict;
      }
      return { verdict: 'invalid' };
    },
  };
}

function readClaims(use: TokenUse, payload: Record<string, unknown>, now: number): TokenClaims | undefined {
  const { token_use, sub, sid, uv, sv, iat, exp, aud, jti, iss: _iss, nbf: _nbf, ...extra } = payload;
  const valid =
    token_use === use &&
    aud === AUDIENCE &&
    typeof jti === 'string' &&
    typeof sub === 'string' &&
    /^[1-9]\d{0,15}$/.test(sub) &&
    typeof sid === 'string' &&
    isVersion(uv) &&
    isVersion(sv) &&
    typeof iat === 'number' &&
    iat <= now + LEEWAY_SECONDS &&
    typeof exp === 'number';
  if (!valid) return undefined;
  return { userId: Number(sub), sid, userAuthVersion: uv, sessionVersion: sv, issuedAt: iat, expiresAt: exp, extra };
}

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;
