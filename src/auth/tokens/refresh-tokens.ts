import { constantTimeEqual, hmacSha256Hex, newUuid, randomAlnum } from '../../kernel/index.ts';
import type { SessionRecord } from '../../store/ports/index.ts';
import type { SessionKeys } from './session-keys.ts';

/** The two halves of a refresh token `<sid>.<secret>`. */
export type RefreshToken = { sid: string; secret: string };

export interface RefreshTokens {
  /** The first token of a new session, with the digest that the store keeps. */
  create(): RefreshToken & { hash: string };
  /** Which generation of the session's token `secret` is. */
  generation(session: SessionRecord, secret: string): 'current' | 'previous' | 'unknown';
  /**
   * The next token. The same input gives the same successor on every node, so that concurrent
   * refreshes agree.
   */
  successor(token: RefreshToken): RefreshToken & { hash: string };
  /**
   * For a token that was already rotated: the successor that the session actually has, derived
   * under the current secret or, while `SESSION_SECRET` is being rotated, under a former one.
   * `undefined` when none of them yields the session's token.
   */
  takenSuccessor(session: SessionRecord, token: RefreshToken): RefreshToken | undefined;
}

const SID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** First secrets have 64 letters and digits (380 bits), later ones 64 hex digits. */
const SECRET = /^[A-Za-z0-9]{64}$/;

/** `undefined` for anything but exactly a session id and a secret. */
export function parseRefreshToken(value: string | undefined): RefreshToken | undefined {
  const [sid, secret, ...rest] = value?.split('.') ?? [];
  if (!sid || !secret || rest.length > 0 || !SID.test(sid) || !SECRET.test(secret)) return undefined;
  return { sid, secret };
}

export const formatRefreshToken = (token: RefreshToken): string => `${token.sid}.${token.secret}`;

export function createRefreshTokens(keys: Pick<SessionKeys, 'refreshDigest' | 'refreshSuccessor'>): RefreshTokens {
  const digest = (secret: string) => hmacSha256Hex(keys.refreshDigest[0], secret);
  // A fixed-width column pads its values, so the stored digest is trimmed.
  const matchesDigest = (stored: string | null, secret: string) =>
    stored !== null && keys.refreshDigest.some((key) => constantTimeEqual(stored.trim(), hmacSha256Hex(key, secret)));
  const derive = (key: Uint8Array, { sid, secret }: RefreshToken): RefreshToken => ({
    sid,
    secret: hmacSha256Hex(key, `${sid}.${secret}`),
  });

  return {
    create() {
      const secret = randomAlnum(64);
      return { sid: newUuid(), secret, hash: digest(secret) };
    },
    generation(session, secret) {
      if (matchesDigest(session.refreshHash, secret)) return 'current';
      return matchesDigest(session.previousRefreshHash, secret) ? 'previous' : 'unknown';
    },
    successor(token) {
      const next = derive(keys.refreshSuccessor[0], token);
      return { ...next, hash: digest(next.secret) };
    },
    takenSuccessor(session, token) {
      return keys.refreshSuccessor
        .map((key) => derive(key, token))
        .find((candidate) => matchesDigest(session.refreshHash, candidate.secret));
    },
  };
}
