import { type Clock, randomAlnum, sha256Hex } from '../../kernel/index.ts';
import { STATUS, type Store, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import { isLive, isStillTrusted } from '../sessions/check-session.ts';

/*
 * A user has at most one personal access token. It survives changes of password and factors, and
 * ends with the account.
 */

/** A personal access token as its owner sees it. A token of an earlier format has neither. */
export type PersonalTokenView = { prefix: string /** Unix seconds */; created_at: number };

/** `token` is the clear text, shown only in this answer. */
export type CreatedPersonalToken = PersonalTokenView & { token: string };

const SCHEME = 'tgp_';
/** 190 random bits, so that a plain SHA-256 in the database is enough. */
const TOKEN_LENGTH = 32;
/** The scheme and four characters stay readable; 166 bits stay secret. */
const PREFIX_LENGTH = SCHEME.length + 4;

/**
 * Creates a token and invalidates the former one.
 *
 * @throws `auth.session_required` or `auth.session_revoked`.
 */
export async function createPersonalToken(
  ctx: { store: Store; clock: Clock; notifyOwner: NotifyOwner },
  principal: PanelPrincipal,
): Promise<CreatedPersonalToken> {
  const { store, clock } = ctx;
  const { user, sid, sessionVersion } = requireSession(principal);
  const token = `${SCHEME}${randomAlnum(TOKEN_LENGTH)}`;
  const stored = { prefix: token.slice(0, PREFIX_LENGTH), createdAt: clock.unix() };
  await store.transaction(async (tx) => {
    // The token outlives the session, so user and session are checked again. The lock orders this
    // against a concurrent reset or deletion: that either came first and shows here, or comes later
    // and removes the token.
    const [present] = await tx.users.lock([user.id]);
    const session = await tx.sessions.bySid(sid);
    const holds =
      session !== undefined &&
      session.version === sessionVersion &&
      isLive(session, clock.unix()) &&
      isStillTrusted(present, session);
    if (!holds) throw authErrors.session_revoked();
    await tx.users.setAccessToken(user.id, { ...stored, hash: sha256Hex(token) });
  });
  await ctx.notifyOwner(user, { about: 'personal_token_made', origin: principal.origin });
  return { token, prefix: stored.prefix, created_at: stored.createdAt };
}

/**
 * Deletes the token, if there is one.
 *
 * @throws `auth.session_required`
 */
export async function revokePersonalToken({ store }: { store: Store }, principal: PanelPrincipal): Promise<void> {
  const { user } = requireSession(principal);
  await store.users.setAccessToken(user.id, null);
}

/** `null` when the caller has none. */
export async function describePersonalToken(
  { store }: { store: Store },
  { user }: PanelPrincipal,
): Promise<PersonalTokenView | null> {
  const stored = await store.users.findAccessToken(user.id);
  return stored ? { prefix: stored.prefix, created_at: stored.createdAt } : null;
}

/** No longer token exists: the column was narrower while it stored tokens in clear text. */
const MAX_LENGTH = 512;

/**
 * The user of a personal access token, and its digest. Tokens of an earlier format, which could be
 * any text, work too. The store is read every time, so that a replaced token is refused at once.
 *
 * @throws `auth.unauthorized` or `auth.user_disabled`.
 */
export async function authenticatePersonalToken(
  { store }: { store: Store },
  token: string,
): Promise<{ user: UserRecord; tokenHash: string }> {
  const tokenHash = token.length <= MAX_LENGTH ? sha256Hex(token) : undefined;
  const user = tokenHash === undefined ? undefined : await store.users.byAccessToken(tokenHash);
  if (tokenHash === undefined || !user) throw authErrors.unauthorized();
  if (user.status !== STATUS.enabled) throw authErrors.user_disabled();
  return { user, tokenHash };
}
