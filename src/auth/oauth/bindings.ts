import type { Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings, SettingsIn } from '../config.ts';
import { authErrors } from '../errors.ts';
import { MAIL_PROVIDER } from '../mail/mail-address.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
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

/** A user's identities at providers. A mail address, though an identity too, is not among them. */
export interface Bindings {
  /** By provider. */
  list(principal: PanelPrincipal): Promise<BindingView[]>;
  /**
   * Lets go of the identity at a provider and gives its subject; no session ends for it. Rejects
   * with `auth.session_required`, `auth.binding_not_found`, or `auth.last_way_in` when the account
   * could not be signed in to any more.
   */
  unbind(principal: PanelPrincipal, provider: string): Promise<string>;
}

const BUILT_IN: Record<string, string> = {
  github: 'GitHub',
  discord: 'Discord',
  linuxdo: 'LinuxDO',
  oidc: 'OIDC',
  telegram: 'Telegram',
  wechat: 'WeChat',
};

export function createBindings(deps: {
  store: Store;
  logger: Logger;
  settings: () => AuthSettings;
  settingsIn: SettingsIn;
  notifyOwner: NotifyOwner;
}): Bindings {
  const { store, logger, settings, settingsIn, notifyOwner } = deps;

  return {
    async list({ user }) {
      const [identities, added] = await Promise.all([store.identities.list(user.id), store.providers.all()]);
      return identities
        .filter(({ provider }) => provider !== MAIL_PROVIDER)
        .map(({ provider, subject, createdAt }) => {
          const custom = added.find(({ slug }) => slug === provider);
          const builtIn = provider === 'oidc' ? settings().providers.oidc?.displayName : undefined;
          return {
            provider_id: custom?.id ?? null,
            provider_slug: provider,
            provider_name: custom?.name ?? builtIn ?? BUILT_IN[provider] ?? provider,
            provider_icon: custom?.icon ?? '',
            provider_user_id: subject,
            created_at: createdAt,
          };
        });
    },

    async unbind(principal, provider) {
      const { user, sid } = requireSession(principal);
      const subject = await store.transaction(async (tx) => {
        // Of two who let go of their last two ways in at once, the second sees what the first has
        // left.
        const [holder] = await tx.users.hold([user.id]);
        const bound = (await tx.identities.list(user.id)).find((identity) => identity.provider === provider);
        if (!holder || !bound || provider === MAIL_PROVIDER) throw authErrors.binding_not_found();
        await tx.identities.release(user.id, provider);
        if (!(await hasSignInMethod(tx, holder, await settingsIn(tx)))) throw authErrors.last_way_in();
        return bound.subject;
      });
      logger.info({ userId: user.id, sid, provider }, 'identity unbound');
      await notifyOwner(user, { about: 'identity_unbound', provider, origin: principal.origin });
      return subject;
    },
  };
}
