import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** A provider that an administrator added, as the sign-in page shows it. */
export type PublicProvider = {
  id: number;
  name: string;
  slug: string;
  icon: string;
  client_id: string;
  authorization_endpoint: string;
  scopes: string;
};

/**
 * What the options say to everybody. A way in is true while it is switched on and has all that it
 * needs; ids and names are empty otherwise.
 */
export type PublicSettings = {
  system_name: string;
  server_address: string;
  email_verification: boolean;
  register_enabled: boolean;
  password_login_enabled: boolean;
  password_register_enabled: boolean;
  /** A forgotten password can be reset by a mailed link. */
  password_reset: boolean;
  turnstile_check: boolean;
  turnstile_site_key: string;
  github_oauth: boolean;
  github_client_id: string;
  discord_oauth: boolean;
  discord_client_id: string;
  linuxdo_oauth: boolean;
  linuxdo_client_id: string;
  linuxdo_minimum_trust_level: number;
  oidc_enabled: boolean;
  oidc_client_id: string;
  oidc_authorization_endpoint: string;
  oidc_display_name: string;
  telegram_oauth: boolean;
  telegram_bot_name: string;
  wechat_login: boolean;
  wechat_qrcode: string;
  passkey_login: boolean;
  passkey_display_name: string;
  passkey_rp_id: string;
  passkey_origins: string;
  passkey_allow_insecure: boolean;
  passkey_user_verification: 'required' | 'preferred' | 'discouraged';
  passkey_attachment: '' | 'platform' | 'cross-platform';
  user_agreement_enabled: boolean;
  privacy_policy_enabled: boolean;
};

export type OperationDeps = {
  auth: Auth;
  publicSettings: () => PublicSettings;
  /** The added providers that can be used now. */
  publicProviders: () => Promise<PublicProvider[]>;
  /** What people agree to, empty where there is nothing. */
  legalTexts: () => { user_agreement: string; privacy_policy: string };
  version: string;
  /** Unix seconds. */
  startedAt: number;
};

/** What the panel needs before sign-in. */
export function operationRoutes(kit: Kit, deps: OperationDeps) {
  const { auth } = deps;
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get(
      '/api/status',
      async () => {
        const [needed, providers] = await Promise.all([auth.setup.needed(), deps.publicProviders()]);
        return ok({
          version: deps.version,
          start_time: deps.startedAt,
          setup: !needed,
          ...deps.publicSettings(),
          custom_oauth_providers: providers,
        });
      },
      { public: true, detail: { summary: 'What the panel needs to know before sign-in' } },
    )
    .get('/api/legal', () => ok(deps.legalTexts()), {
      public: true,
      detail: { summary: 'User agreement and privacy policy' },
    });
}
