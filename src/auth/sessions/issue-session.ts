import { CLOCK_LEEWAY_SECONDS, type Clock } from '../../kernel/index.ts';
import { type Repositories, type SessionRecord, STATUS, type UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import { addressKey } from '../limits/limit-requests.ts';
import type { RequestOrigin } from '../principals.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import { formatRefreshToken } from '../tokens/refresh-tokens.ts';
import { idleUntil } from './check-session.ts';

/** `password`, `2fa`, `passkey`, `oauth:<provider>`, `wechat`, `telegram`. */
export type SignInMethod = string;

export type IssuedSession = { session: SessionRecord; user: UserRecord; refreshToken: string };

/** Widths of the columns of a session's row, in bytes. */
const IP_BYTES = 64;
const USER_AGENT_BYTES = 512;
const SECONDS_PER_DAY = 86_400;

/**
 * Writes a new session in the caller's transaction, after both limits. Whatever else belongs to the
 * login (such as consuming a flow) commits with it or not at all. `proven` is the user as the login
 * proved it.
 *
 * @throws `auth.session_revoked` when the user was disabled or its `auth_version` advanced since,
 * `auth.session_limit` or `auth.session_issuance_limit` at a limit. A count that fails rejects too:
 * no session is issued uncounted.
 */
export async function issueSession(
  { clock, config, tokens }: { clock: Clock; config: AuthConfig; tokens: SessionTokens },
  tx: Repositories,
  signIn: { proven: Pick<UserRecord, 'id' | 'authVersion'>; method: SignInMethod; origin: RequestOrigin },
): Promise<IssuedSession> {
  const now = clock.unix();
  // Sign-ins of one user at once are counted one after the other.
  await tx.users.lock([signIn.proven.id]);
  const user = await tx.users.byId(signIn.proven.id);
  if (user?.status !== STATUS.enabled || user.authVersion !== signIn.proven.authVersion)
    throw authErrors.session_revoked();

  const active = await tx.sessions.countActive(user.id, now, idleUntil(config, now));
  if (active >= config.activeSessionLimit) throw authErrors.session_limit();
  const since = now - config.sessionIssuanceWindowSeconds;
  // Sessions from the future do not count: they were issued before the clock was set back.
  const issued = await tx.sessions.countIssued(user.id, since, now + CLOCK_LEEWAY_SECONDS);
  if (issued >= config.sessionIssuanceLimit) {
    throw authErrors.session_issuance_limit({ retryAfterSeconds: config.sessionIssuanceWindowSeconds });
  }

  const token = tokens.refresh.create();
  const session: SessionRecord = {
    sid: token.sid,
    userId: user.id,
    version: 1,
    userAuthVersion: user.authVersion,
    status: 'active',
    refreshHash: token.hash,
    previousRefreshHash: null,
    previousValidUntil: 0,
    loginMethod: signIn.method,
    ...clipOrigin(signIn.origin),
    createdAt: now,
    lastActiveAt: now,
    expiresAt: now + config.refreshDays * SECONDS_PER_DAY,
    revokedAt: 0,
    revokedReason: '',
  };
  await tx.sessions.insert(session);
  await tx.users.recordSignIn(user.id, now);
  return { session, user, refreshToken: formatRefreshToken(token) };
}

export const clipIp = (ip: string): string => clipBytes(ip, IP_BYTES);

/** An origin cut to the widths of the session's columns. */
export const clipOrigin = (origin: RequestOrigin): Pick<SessionRecord, 'ip' | 'addressKey' | 'userAgent'> => ({
  ip: clipIp(origin.ip),
  addressKey: clipIp(addressKey(origin.decidingIp)),
  userAgent: clipBytes(origin.userAgent, USER_AGENT_BYTES),
});

function clipBytes(text: string, max: number): string {
  // SQLite stores NUL, PostgreSQL rejects it; no address or user agent needs one.
  const bytes = Buffer.from(text.replaceAll('\0', ''));
  if (bytes.length <= max) return bytes.toString();
  // A cut inside a character leaves a replacement character at the end.
  return bytes
    .subarray(0, max)
    .toString()
    .replace(/\uFFFD$/, '');
}
