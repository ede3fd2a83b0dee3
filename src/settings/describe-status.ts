import type { AuthSettings, RelyingParty } from '../auth/index.ts';
import type { Result } from '../kernel/index.ts';
import { readBranding } from './read-branding.ts';
import type { OptionValues } from './read-options.ts';
import type { PublicSettings } from './types.ts';

/**
 * What anybody may know of the options. `auth` holds the settings that follow from them; it lists
 * usable providers only. `address` is the gateway's configured address, or empty.
 */
export function describeStatus(
  options: OptionValues,
  {
    auth,
    relyingParty: party,
    address,
  }: { auth: AuthSettings; relyingParty: Result<RelyingParty, unknown>; address: string },
): PublicSettings {
  const { providers, passkeys } = auth;
  return {
    system_name: auth.systemName,
    server_address: address,
    ...readBranding(options),
    email_verification: auth.registration.verifyEmail,
    register_enabled: auth.registration.enabled,
    new_user_credit: auth.registration.quotaForNewUser,
    inviter_credit: auth.registration.quotaForInviter,
    invitee_credit: auth.registration.quotaForInvitee,
    password_login_enabled: auth.passwordSignIn,
    password_register_enabled: auth.registration.enabled && auth.registration.byPassword,
    password_reset: auth.passwordSignIn && auth.mail !== undefined,
    turnstile_check: auth.challenge !== undefined,
    turnstile_site_key: auth.challenge === undefined ? '' : options.text('TurnstileSiteKey'),
    github_oauth: providers.github !== undefined,
    github_client_id: providers.github?.clientId ?? '',
    discord_oauth: providers.discord !== undefined,
    discord_client_id: providers.discord?.clientId ?? '',
    linuxdo_oauth: providers.linuxdo !== undefined,
    linuxdo_client_id: providers.linuxdo?.clientId ?? '',
    linuxdo_minimum_trust_level: providers.linuxdo?.minimumTrustLevel ?? 0,
    oidc_enabled: providers.oidc !== undefined,
    oidc_client_id: providers.oidc?.clientId ?? '',
    oidc_authorization_endpoint: providers.oidc?.authorizationEndpoint ?? '',
    oidc_display_name: providers.oidc?.displayName ?? '',
    telegram_oauth: providers.telegram !== undefined,
    telegram_bot_name: providers.telegram?.botName ?? '',
    wechat_login: providers.wechat !== undefined,
    wechat_qrcode: providers.wechat?.qrCodeUrl ?? '',
    passkey_login: party.ok,
    passkey_display_name: party.ok ? party.value.name : '',
    passkey_rp_id: party.ok ? party.value.id : '',
    passkey_origins: party.ok ? party.value.origins.join(',') : '',
    passkey_allow_insecure: passkeys.allowInsecureOrigin,
    passkey_user_verification: passkeys.userVerification,
    passkey_attachment: passkeys.attachment,
    user_agreement_enabled: options.text('legal.user_agreement').trim() !== '',
    privacy_policy_enabled: options.text('legal.privacy_policy').trim() !== '',
  };
}
