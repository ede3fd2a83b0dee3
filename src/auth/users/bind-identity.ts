import type { Clock, Logger } from '../../kernel/index.ts';
import type { FlowRecord, Repositories, Store } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { SessionPrincipal } from '../require-session.ts';
import { recheckSession } from '../sessions/origin-session.ts';
import type { RequestOrigin } from '../types.ts';

export type IdentityBinding = {
  provider: string;
  subject: string;
  /** Uses up the flow that began in a session and remembers it (`rememberSession`). */
  consume: (tx: Repositories) => Promise<FlowRecord>;
  /** Of the request that ends it. */
  origin?: RequestOrigin | undefined;
  /** What else is used up by the binding. */
  within?: (tx: Repositories) => Promise<void>;
};

/**
 * Gives an identity to the user in whose session a flow began, in one transaction with the flow: a
 * refusal leaves it unused. Gives the session. Rejects with `auth.identity_taken` when it is
 * another's or the user has one of this provider; as `recheckSession`, `consume` and `within` do.
 */
export type BindIdentity = (binding: IdentityBinding) => Promise<SessionPrincipal>;

export function createBindIdentity(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: Pick<AuthConfig, 'sessionIdleSeconds'>;
  notifyOwner: NotifyOwner;
}): BindIdentity {
  const { store, clock, logger, config, notifyOwner } = deps;

  return async ({ provider, subject, consume, origin, within }) => {
    const now = clock.unix();
    const principal = await store.transaction(async (tx) => {
      const flow = await consume(tx);
      const had = await hasIdentity(tx, flow.userId, provider);
      // The claim holds the user's row, so that what is read of him afterwards stays true until it
      // is committed.
      const verdict = await tx.identities.claim({ provider, subject, userId: flow.userId, createdAt: now });
      const session = await recheckSession(tx, flow, { now, idleSeconds: config.sessionIdleSeconds });
      if (had || verdict === 'user_has_one') throw boundAlready();
      if (verdict === 'taken') throw authErrors.identity_taken();
      await within?.(tx);
      return session;
    });
    logger.info({ userId: principal.user.id, sid: principal.sid, provider }, 'identity bound');
    await notifyOwner(principal.user, { about: 'identity_bound', provider, origin });
    return principal;
  };
}

/**
 * Before a binding begins, so that nobody goes to a provider in vain. Rejects with
 * `auth.identity_taken`.
 */
export async function requireUnbound(store: Store, userId: number, provider: string): Promise<void> {
  if (await hasIdentity(store, userId, provider)) throw boundAlready();
}

const hasIdentity = async (tx: Repositories, userId: number, provider: string): Promise<boolean> =>
  (await tx.identities.list(userId)).some((identity) => identity.provider === provider);

const boundAlready = () =>
  authErrors.identity_taken({
    message: 'Another identity of this provider is bound to this account already. Unbind it first.',
  });
