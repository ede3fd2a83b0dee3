import { type Clock, type Logger, type SecretBox, sentence } from '../../kernel/index.ts';
import type { FlowRecord, Repositories, Store } from '../../store/ports/index.ts';
import { requireSignInMethod } from '../accounts/last-sign-in-method.ts';
import type { AuthConfig, AuthSettings, SettingsIn } from '../config.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession, type SessionPrincipal } from '../principals.ts';
import { recheckSession } from '../sessions/check-session.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  secretBox: SecretBox;
  settingsIn: SettingsIn;
  notifyOwner: NotifyOwner;
};

export type BindingView = {
  /** The id of a provider that an administrator added; null: built in. */
  provider_id: number | null;
  provider_slug: string;
  provider_name: string;
  provider_icon: string;
  provider_user_id: string;
  /** Unix seconds. */
  created_at: number;
};

const BUILT_IN: Record<string, string> = {
  github: 'GitHub',
  discord: 'Discord',
  linuxdo: 'LinuxDO',
  oidc: 'OIDC',
  telegram: 'Telegram',
  wechat: 'WeChat',
};

/**
 * The caller's identities at providers. An email address, stored as an identity too, is left out.
 */
export async function listBindings(
  { store, settings }: { store: Store; settings: () => AuthSettings },
  { user }: PanelPrincipal,
): Promise<BindingView[]> {
  const [identities, added] = await Promise.all([store.identities.list(user.id), store.providers.all()]);
  return identities
    .filter(({ provider }) => provider !== MAIL_PROVIDER)
    .map(({ provider, subject, createdAt }) => {
      const custom = added.find(({ slug }) => slug === provider);
      const oidcName = provider === 'oidc' ? settings().providers.oidc?.displayName : undefined;
      return {
        provider_id: custom?.id ?? null,
        provider_slug: provider,
        provider_name: custom?.name ?? oidcName ?? BUILT_IN[provider] ?? provider,
        provider_icon: custom?.icon ?? '',
        provider_user_id: subject,
        created_at: createdAt,
      };
    });
}

/**
 * Unbinds the identity at a provider and gives its subject. No session ends.
 *
 * @throws `auth.session_required`, `auth.binding_not_found`, or `auth.last_way_in` when the account
 * would lose its last sign-in method.
 */
export async function unbindIdentity(
  ctx: Pick<Deps, 'store' | 'logger' | 'settingsIn' | 'secretBox' | 'notifyOwner'>,
  principal: PanelPrincipal,
  provider: string,
): Promise<string> {
  const { store, logger, settingsIn, secretBox } = ctx;
  const { user, sid } = requireSession(principal);
  const subject = await store.transaction(async (tx) => {
    // The lock orders two concurrent unbindings, so that together they cannot remove the last two
    // sign-in methods.
    const [holder] = await tx.users.lock([user.id]);
    const bound = (await tx.identities.list(user.id)).find((identity) => identity.provider === provider);
    if (!holder || !bound || provider === MAIL_PROVIDER) throw authErrors.binding_not_found();
    await tx.identities.release(user.id, provider);
    await requireSignInMethod(tx, holder, { settings: await settingsIn(tx), secretBox });
    return bound.subject;
  });
  logger.info({ userId: user.id, sid, provider }, 'identity unbound');
  await ctx.notifyOwner(user, { about: 'identity_unbound', provider, origin: principal.origin });
  return subject;
}

export type IdentityBinding = {
  provider: string;
  subject: string;
  /** Consumes the flow, which began in a session and stores it (`rememberSession`). */
  consume: (tx: Repositories) => Promise<FlowRecord>;
  /** The origin of the request that ends the flow. */
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
  ctx: Pick<Deps, 'store' | 'clock' | 'logger' | 'config' | 'notifyOwner'>,
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
  await ctx.notifyOwner(principal.user, { about: 'identity_bound', provider, origin });
  return principal;
}

/**
 * Checks before a binding begins, so that nobody is sent to a provider for nothing.
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
