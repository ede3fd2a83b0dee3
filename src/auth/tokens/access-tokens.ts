import { decodeJwt, errors, jwtVerify, SignJWT } from 'jose';
import { type Clock, newUuid } from '../../kernel/index.ts';
import type { PurposeKeys } from '../derive-keys.ts';
import { authErrors } from '../errors.ts';
import { createVerifiedMemory } from './remember-verified.ts';

/** What an access token says. It names versions only: role, status and group are read from the store at every request. */
export type AccessClaims = {
  userId: number;
  sid: string;
  userAuthVersion: number;
  sessionVersion: number;
  issuedAt: number;
  expiresAt: number;
};

export interface AccessTokens {
  /** A new token and the Unix second at which it ends: 15 minutes from now, never later than `notAfter`. */
  sign(
    subject: Pick<AccessClaims, 'userId' | 'sid' | 'userAuthVersion' | 'sessionVersion'>,
    notAfter: number,
  ): Promise<{ token: string; expiresAt: number }>;
  /**
   * The claims of a valid token. Rejects with `auth.token_expired` for one that was valid once, `auth.unauthorized` for
   * everything else. Says nothing about the session behind it.
   */
  verify(token: string): Promise<AccessClaims>;
}

const ISSUER = 'taskgate';
const AUDIENCE = 'taskgate-panel';
/** The kinds of JWT that this issuer makes for the panel; each has its own signing key. */
const TOKEN_USES: readonly unknown[] = ['access', 'security_proof'];

/** Specification, "Limits": an access token is valid for 15 minutes. */
const LIFETIME_SECONDS = 15 * 60;
/** What two nodes' clocks may differ. */
const LEEWAY_SECONDS = 5;
/** About 4 MB when full. */
const REMEMBERED_TOKENS = 10_000;

/**
 * True for a JWT that claims to be one of ours, valid or not. Such a string is judged as a JWT alone and never looked up as a
 * personal access token or an API key.
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

export function createAccessTokens(keys: PurposeKeys, clock: Clock): AccessTokens {
  const remembered = createVerifiedMemory(REMEMBERED_TOKENS);

  async function verifySignature(token: string): Promise<AccessClaims> {
    for (const key of keys) {
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          audience: AUDIENCE,
          clockTolerance: LEEWAY_SECONDS,
          currentDate: new Date(clock.nowMs()),
          requiredClaims: ['exp', 'nbf', 'iat', 'jti', 'sub'],
        });
        return readClaims(payload, clock.unix());
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        // jose checks the claims after the signature: an expired token is one that we made.
        if (error instanceof errors.JWTExpired) throw authErrors.token_expired();
        throw authErrors.unauthorized();
      }
    }
    throw authErrors.unauthorized();
  }

  return {
    async sign(subject, notAfter) {
      const now = clock.unix();
      const expiresAt = Math.min(now + LIFETIME_SECONDS, notAfter);
      const token = await new SignJWT({
        token_use: 'access',
        sid: subject.sid,
        uv: subject.userAuthVersion,
        sv: subject.sessionVersion,
      })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(String(subject.userId))
        .setIssuedAt(now)
        .setNotBefore(now - LEEWAY_SECONDS)
        .setExpirationTime(expiresAt)
        .setJti(newUuid())
        .sign(keys[0]);
      return { token, expiresAt };
    },

    async verify(token) {
      const known = remembered.get(token);
      if (known) {
        if (clock.unix() >= known.expiresAt + LEEWAY_SECONDS) throw authErrors.token_expired();
        return known;
      }
      const claims = await verifySignature(token);
      remembered.put(token, claims);
      return claims;
    },
  };
}

function readClaims(payload: Record<string, unknown>, now: number): AccessClaims {
  const { token_use, sub, sid, uv, sv, iat, exp, aud, jti } = payload;
  const valid =
    token_use === 'access' &&
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
  if (!valid) throw authErrors.unauthorized();
  return { userId: Number(sub), sid, userAuthVersion: uv, sessionVersion: sv, issuedAt: iat, expiresAt: exp };
}

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;
