import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import { notifyOwner } from '../mail/notify-owner.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { hasSignInMethod } from '../users/has-sign-in-method.ts';

export type BindingView = {
  /** Of a provider that an administrator added; null: built in. */
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

/** The caller's identities at providers. A mail address, stored as an identity too, is left out. */
export async function listBindings({ store, settings }: AuthContext, { user }: PanelPrincipal): Promise<BindingView[]> {
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
export async function unbindIdentity(ctx: AuthContext, principal: PanelPrincipal, provider: string): Promise<string> {
  const { store, logger, settingsIn } = ctx;
  const { user, sid } = requireSession(principal);
  const subject = await store.transaction(async (tx) => {
    // The lock orders two concurrent unbindings, so that together they cannot remove the last two
    // sign-in methods.
    const [holder] = await tx.users.lock([user.id]);
    const bound = (await tx.identities.list(user.id)).find((identity) => identity.provider === provider);
    if (!holder || !bound || provider === MAIL_PROVIDER) throw authErrors.binding_not_found();
    await tx.identities.release(user.id, provider);
    if (!(await hasSignInMethod(tx, holder, await settingsIn(tx)))) throw authErrors.last_way_in();
    return bound.subject;
  });
  logger.info({ userId: user.id, sid, provider }, 'identity unbound');
  await notifyOwner(ctx, user, { about: 'identity_unbound', provider, origin: principal.origin });
  return subject;
}
