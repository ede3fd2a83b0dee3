import { type Clock, randomAlnum, sha256Hex } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { requireSession } from '../require-session.ts';
import { isLive, isStillTrusted } from '../sessions/check-session.ts';
import type { PanelPrincipal } from '../types.ts';

/**
 * A personal access token as its owner sees it. Both are empty for a token of an earlier layout.
 */
export type PersonalTokenView = { prefix: string /** Unix seconds */; created_at: number };

/** `token` is the clear text: in this answer and never again. */
export type CreatedPersonalToken = PersonalTokenView & { token: string };

/**
 * A user has at most one personal access token. It outlives changes of password and factors, and
 * ends with the account.
 */
export interface PersonalTokens {
  /**
   * Makes a token in place of the former one, which is refused from now on. Rejects with
   * `auth.session_required` or `auth.session_revoked`.
   */
  create(principal: PanelPrincipal): Promise<CreatedPersonalToken>;
  /** Takes it away; nothing happens where there is none. Rejects with `auth.session_required`. */
  revoke(principal: PanelPrincipal): Promise<void>;
  /** `null` when the caller has none. */
  describe(principal: PanelPrincipal): Promise<PersonalTokenView | null>;
}

const SCHEME = 'tgp_';
/** 190 random bits, so that a plain SHA-256 in the database is enough. */
const TOKEN_LENGTH = 32;
/** The scheme and four characters stay readable; 166 bits stay secret. */
const PREFIX_LENGTH = SCHEME.length + 4;

export function createPersonalTokens(deps: { store: Store; clock: Clock; notifyOwner: NotifyOwner }): PersonalTokens {
  const { store, clock, notifyOwner } = deps;
  return {
    async create(principal) {
      const { user, sid, sessionVersion } = requireSession(principal);
      const token = `${SCHEME}${randomAlnum(TOKEN_LENGTH)}`;
      const kept = { prefix: token.slice(0, PREFIX_LENGTH), createdAt: clock.unix() };
      await store.transaction(async (tx) => {
        // The token outlives the session, so both are looked at again. The user is held: a reset or
        // deletion at the same time has happened before and shows, or comes after and takes the
        // token away.
        const [present] = await tx.users.hold([user.id]);
        const session = await tx.sessions.bySid(sid);
        const holds =
          session !== undefined &&
          session.version === sessionVersion &&
          isLive(session, clock.unix()) &&
          isStillTrusted(present, session);
        if (!holds) throw authErrors.session_revoked();
        await tx.users.setAccessToken(user.id, { ...kept, hash: sha256Hex(token) });
      });
      await notifyOwner(user, { about: 'personal_token_made', origin: principal.origin });
      return { token, prefix: kept.prefix, created_at: kept.createdAt };
    },
    async revoke(principal) {
      const { user } = requireSession(principal);
      await store.users.setAccessToken(user.id, null);
    },
    async describe({ user }) {
      const kept = await store.users.accessTokenOf(user.id);
      return kept ? { prefix: kept.prefix, created_at: kept.createdAt } : null;
    },
  };
}
