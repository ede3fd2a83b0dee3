import { isIP } from 'node:net';
import type { AuthSettings, ModelRequestSettings, WindowLimits } from '../auth/index.ts';
import { isDomain } from './catalogue/option-rule.ts';
import { configuredAddress, type NodeAddress, serverAddress, withoutSlash } from './public-address.ts';
import type { OptionValues } from './read-options.ts';
import { canMail, type Feature, isUsable } from './requirements.ts';

/**
 * The settings of the auth room that follow from the options. Those of all other rooms, and what
 * auth takes from the configuration: `app/config/room-settings.ts`.
 */
export function authSettings(options: OptionValues, node: NodeAddress): AuthSettings {
  const systemName = options.text('SystemName').trim();
  const mail = mailSettings(options, configuredAddress(options, node));
  const challenge = challengeSettings(options);
  // A verification or challenge that is on but cannot work closes registration; it is not skipped.
  const canVerify = mail !== undefined || !options.flag('EmailVerificationEnabled');
  const canChallenge = challenge !== 'unusable';
  return {
    systemName,
    serverAddress: serverAddress(options, node),
    passkeys: {
      enabled: options.flag('passkey.enabled'),
      rpDisplayName: options.text('passkey.rp_display_name').trim(),
      rpId: options.text('passkey.rp_id'),
      origins: options.list('passkey.origins'),
      allowInsecureOrigin: options.flag('passkey.allow_insecure_origin'),
      userVerification: options.choice('passkey.user_verification'),
      attachment: options.choice('passkey.attachment_preference'),
    },
    timezone: options.text('billing.timezone'),
    passwordSignIn: options.flag('PasswordLoginEnabled'),
    registration: {
      enabled: options.flag('RegisterEnabled') && canVerify && canChallenge,
      byPassword: options.flag('PasswordRegisterEnabled'),
      verifyEmail: options.flag('EmailVerificationEnabled'),
      quotaForNewUser: options.number('QuotaForNewUser'),
      quotaForInviter: options.number('QuotaForInviter'),
      quotaForInvitee: options.number('QuotaForInvitee'),
    },
    emails: {
      domains: options.flag('EmailDomainRestrictionEnabled') ? options.list('EmailDomainWhitelist') : undefined,
      refuseAliases: options.flag('EmailAliasRestrictionEnabled'),
    },
    balanceAlerts: {
      offered: options.flag('alerts.low_balance'),
      fallback: options.number('alerts.low_balance_default'),
    },
    mail,
    challenge,
    providers: providerSettings(options),
  };
}

export const modelRequestSettings = (options: OptionValues): ModelRequestSettings => ({
  window: options.flag('ModelRequestRateLimitEnabled')
    ? {
        seconds: options.number('ModelRequestRateLimitDurationMinutes') * 60,
        total: options.number('ModelRequestRateLimitCount'),
        success: options.number('ModelRequestRateLimitSuccessCount'),
        groups: groupLimits(options),
      }
    : undefined,
  requestsPerMinute: (group) => findGroupLimits(options, group).requests_per_minute,
});

function mailSettings(options: OptionValues, address: string): AuthSettings['mail'] {
  if (!canMail(options)) return undefined;
  const account = options.text('SMTPAccount');
  return {
    host: options.text('SMTPServer'),
    port: options.number('SMTPPort'),
    account,
    password: account === '' ? '' : options.secret('SMTPToken'),
    from: options.text('SMTPFrom'),
    tls: options.flag('SMTPSSLEnabled')
      ? 'implicit'
      : options.flag('SMTPStartTLSEnabled')
        ? 'starttls'
        : 'opportunistic',
    skipVerify: options.flag('SMTPInsecureSkipVerify'),
    forceAuthLogin: options.flag('SMTPForceAuthLogin'),
    ...chooseOwnName({ chosen: options.text('SMTPHelloName'), address, from: options.text('SMTPFrom') }),
  };
}

/**
 * What the gateway calls itself to mail servers: what root has chosen, else the host at which
 * people reach it, or the domain that it sends emails of. The name of a container says nothing, and
 * many servers refuse it.
 */
function chooseOwnName(names: { chosen: string; address: string; from: string }): { ownName?: string } {
  const { chosen, address, from } = names;
  if (chosen !== '' && isIP(chosen) === 0) return { ownName: chosen };
  const named = chosen.includes(':') ? `[${chosen}]` : chosen;
  const host = named || (URL.canParse(address) ? new URL(address).hostname : '');
  if (isIP(host) === 4) return { ownName: `[${host}]` };
  if (host.startsWith('[')) return { ownName: `[IPv6:${host.slice(1)}` };
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/>\s*$/, '');
  const name = [host, domain].find((each) => isDomain(each) && each.includes('.'));
  return name === undefined ? {} : { ownName: name };
}

function challengeSettings(options: OptionValues): AuthSettings['challenge'] {
  if (!options.flag('TurnstileCheckEnabled')) return undefined;
  if (!isUsable(options, 'TurnstileCheckEnabled')) return 'unusable';
  return {
    siteKey: options.text('TurnstileSiteKey'),
    secretKey: options.secret('TurnstileSecretKey'),
    verifyUrl: options.text('TurnstileVerifyUrl'),
  };
}

function providerSettings(options: OptionValues): AuthSettings['providers'] {
  /** Reads a provider's settings if it can be used. */
  const usable = <T>(feature: Feature, read: () => T): T | undefined =>
    isUsable(options, feature) ? read() : undefined;
  return {
    github: usable('GitHubOAuthEnabled', () => ({
      clientId: options.text('GitHubClientId'),
      clientSecret: options.secret('GitHubClientSecret'),
      baseUrl: withoutSlash(options.text('GitHubBaseUrl')),
      apiUrl: withoutSlash(options.text('GitHubApiUrl')),
    })),
    discord: usable('discord.enabled', () => ({
      clientId: options.text('discord.client_id'),
      clientSecret: options.secret('discord.client_secret'),
      baseUrl: withoutSlash(options.text('discord.base_url')),
    })),
    linuxdo: usable('LinuxDOOAuthEnabled', () => ({
      clientId: options.text('LinuxDOClientId'),
      clientSecret: options.secret('LinuxDOClientSecret'),
      baseUrl: withoutSlash(options.text('LinuxDOBaseUrl')),
      minimumTrustLevel: options.number('LinuxDOMinimumTrustLevel'),
    })),
    oidc: usable('oidc.enabled', () => oidcSettings(options)),
    telegram: usable('TelegramOAuthEnabled', () => ({
      botName: options.text('TelegramBotName'),
      botToken: options.secret('TelegramBotToken'),
    })),
    wechat: usable('WeChatAuthEnabled', () => ({
      serverAddress: withoutSlash(options.text('WeChatServerAddress')),
      serverToken: options.secret('WeChatServerToken'),
      qrCodeUrl: options.text('WeChatAccountQRCodeImageURL'),
    })),
  };
}

/** The settings as stored, complete and switched on or not. */
export const oidcSettings = (options: OptionValues): NonNullable<AuthSettings['providers']['oidc']> => ({
  displayName: options.text('oidc.display_name').trim() || 'OIDC',
  clientId: options.text('oidc.client_id'),
  clientSecret: options.secret('oidc.client_secret'),
  wellKnown: options.text('oidc.well_known'),
  authorizationEndpoint: options.text('oidc.authorization_endpoint'),
  tokenEndpoint: options.text('oidc.token_endpoint'),
  userInfoEndpoint: options.text('oidc.user_info_endpoint'),
});

/** Reads `{"group":[all, successful]}`; the catalogue has checked its shape. */
function groupLimits(options: OptionValues): WindowLimits['groups'] {
  const groups = options.json('ModelRequestRateLimitGroup') as Record<string, [total: number, success: number]>;
  return new Map(Object.entries(groups).map(([group, [total, success]]) => [group, { total, success }]));
}

/** What each user of a group may do; the catalogue has checked its shape. */
export function findGroupLimits(
  options: OptionValues,
  group: string,
): { requests_per_minute?: number; max_running?: number } {
  const groups = options.json('limits.groups') as Record<string, Record<string, number>>;
  return Object.hasOwn(groups, group) ? (groups[group] ?? {}) : {};
}
