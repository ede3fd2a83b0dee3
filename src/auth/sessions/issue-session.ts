import type { Clock } from '../../kernel/index.ts';
import type { Repositories, SessionRecord, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import { addressKey } from '../limits/address-key.ts';
import type { RequestOrigin } from '../types.ts';
import { USER_ENABLED } from './check-session.ts';
import { formatRefreshToken, type RefreshTokens } from './refresh-tokens.ts';

/** `password`, `2fa`, `passkey`, `oauth:<provider>`, `wechat`, `telegram`. */
export type LoginMethod = string;

export type IssuedSession = { session: SessionRecord; user: UserRecord; refreshToken: string };

/** As wide as the columns of a session's row; bytes. */
const IP_BYTES = 64;
const USER_AGENT_BYTES = 512;
const SECONDS_PER_DAY = 86_400;

/**
 * Writes a new session in the caller's transaction, after both limits: whatever else belongs to the
 * login (consuming a flow, say) commits with it or not at all. `proven` is the user as the login
 * proved it.
 *
 * Rejects with `auth.session_revoked` when the user was disabled or its `auth_version` moved since,
 * `auth.session_limit` or `auth.session_issuance_limit` at a limit. A count that fails rejects too:
 * nothing is issued uncounted.
 */
export async function issueSession(
  { clock, config, refreshTokens }: { clock: Clock; config: AuthConfig; refreshTokens: RefreshTokens },
  tx: Repositories,
  login: { proven: Pick<UserRecord, 'id' | 'authVersion'>; method: LoginMethod; origin: RequestOrigin },
): Promise<IssuedSession> {
  const now = clock.unix();
  const user = await tx.users.byId(login.proven.id);
  if (user?.status !== USER_ENABLED || user.authVersion !== login.proven.authVersion)
    throw authErrors.session_revoked();

  if ((await tx.sessions.countActive(user.id, now)) >= config.activeSessionLimit) throw authErrors.session_limit();
  const since = now - config.sessionIssuanceWindowSeconds;
  if ((await tx.sessions.countIssued(user.id, since)) >= config.sessionIssuanceLimit) {
    throw authErrors.session_issuance_limit({ retryAfterSeconds: config.sessionIssuanceWindowSeconds });
  }

  const token = refreshTokens.create();
  const session: SessionRecord = {
    sid: token.sid,
    userId: user.id,
    version: 1,
    userAuthVersion: user.authVersion,
    status: 'active',
    refreshHash: token.hash,
    previousRefreshHash: null,
    previousValidUntil: 0,
    loginMethod: login.method,
    ...clipOrigin(login.origin),
    createdAt: now,
    lastActiveAt: now,
    expiresAt: now + config.refreshDays * SECONDS_PER_DAY,
    revokedAt: 0,
    revokedReason: '',
  };
  await tx.sessions.insert(session);
  await tx.users.touchLogin(user.id, now);
  return { session, user, refreshToken: formatRefreshToken(token) };
}

/** An origin cut to what the session record holds. */
export const clipOrigin = (origin: RequestOrigin): Pick<SessionRecord, 'ip' | 'addressKey' | 'userAgent'> => ({
  ip: clipBytes(origin.ip, IP_BYTES),
  addressKey: clipBytes(addressKey(origin.decidingIp), IP_BYTES),
  userAgent: clipBytes(origin.userAgent, USER_AGENT_BYTES),
});

function clipBytes(text: string, max: number): string {
  // NUL is text to SQLite and an error to PostgreSQL; it has no place in an address or a user
  // agent.
  const bytes = Buffer.from(text.replaceAll('\0', ''));
  if (bytes.length <= max) return bytes.toString();
  // A cut through a character leaves a replacement character at the end.
  return bytes
    .subarray(0, max)
    .toString()
    .replace(/\uFFFD$/, '');
}
