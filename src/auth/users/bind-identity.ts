import { sentence } from '../../kernel/index.ts';
import type { FlowRecord, Repositories, Store } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { notifyOwner } from '../mail/notify-owner.ts';
import type { SessionPrincipal } from '../require-session.ts';
import { recheckSession } from '../sessions/recheck-session.ts';
import type { RequestOrigin } from '../types.ts';

export type IdentityBinding = {
  provider: string;
  subject: string;
  /** Consumes the flow, which began in a session and stores it (`rememberSession`). */
  consume: (tx: Repositories) => Promise<FlowRecord>;
  /** Of the request that ends the flow. */
  origin?: RequestOrigin | undefined;
  /** Whatever else the binding uses up. */
  within?: (tx: Repositories) => Promise<void>;
};

/**
 * Binds an identity to the user in whose session a flow began, and gives that session. Flow and
 * binding are one transaction: a refusal leaves the flow unused.
 *
 * @throws `auth.identity_taken` when the identity belongs to another account or the user has one of
 * this provider already; what `recheckSession`, `consume` and `within` throw.
 */
export async function bindIdentity(
  ctx: AuthContext,
  { provider, subject, consume, origin, within }: IdentityBinding,
): Promise<SessionPrincipal> {
  const { store, clock, logger, config } = ctx;
  const now = clock.unix();
  const principal = await store.transaction(async (tx) => {
    const flow = await consume(tx);
    const had = await hasIdentity(tx, flow.userId, provider);
    // The claim locks the user's row, so that what is read of the user afterwards stays true until
    // the commit.
    const verdict = await tx.identities.claim({ provider, subject, userId: flow.userId, createdAt: now });
    const session = await recheckSession(tx, flow, { now, idleSeconds: config.sessionIdleSeconds });
    if (had || verdict === 'user_has_one') throw boundAlready();
    if (verdict === 'taken') throw authErrors.identity_taken();
    await within?.(tx);
    return session;
  });
  logger.info({ userId: principal.user.id, sid: principal.sid, provider }, 'identity bound');
  await notifyOwner(ctx, principal.user, { about: 'identity_bound', provider, origin });
  return principal;
}

/**
 * Checks before a binding begins, so that nobody is sent to a provider in vain.
 *
 * @throws `auth.identity_taken`
 */
export async function requireUnbound(store: Store, userId: number, provider: string): Promise<void> {
  if (await hasIdentity(store, userId, provider)) throw boundAlready();
}

const hasIdentity = async (tx: Repositories, userId: number, provider: string): Promise<boolean> =>
  (await tx.identities.list(userId)).some((identity) => identity.provider === provider);

const boundAlready = () =>
  authErrors.identity_taken({
    message: sentence('auth.identity_bound_already'),
  });
