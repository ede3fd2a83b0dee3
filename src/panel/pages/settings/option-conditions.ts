import type { Option } from '../../api/types.ts';
import type { OptionDrafts } from './use-option-drafts.ts';

/** What must be set or on before an option is of use, as the gateway requires it. */
const needs: Readonly<Record<string, readonly string[]>> = {
  TurnstileCheckEnabled: ['TurnstileSiteKey', 'TurnstileSecretKey'],
  GitHubOAuthEnabled: ['GitHubClientId', 'GitHubClientSecret'],
  'discord.enabled': ['discord.client_id', 'discord.client_secret'],
  LinuxDOOAuthEnabled: ['LinuxDOClientId', 'LinuxDOClientSecret'],
  'oidc.enabled': ['oidc.client_id', 'oidc.client_secret', 'oidc.well_known'],
  TelegramOAuthEnabled: ['TelegramBotName', 'TelegramBotToken'],
  WeChatAuthEnabled: ['WeChatServerAddress', 'WeChatServerToken'],
  'alerts.low_balance_default': ['alerts.low_balance'],
  'alerts.webhook_balances': ['alerts.low_balance', 'alerts.webhook_url'],
  EmailDomainWhitelist: ['EmailDomainRestrictionEnabled'],
  // Webhook deliveries are deleted in any case, at these hours too.
  'retention.webhook_days': [],
  'retention.start_hour': [],
  'retention.hours': [],
};

const byPrefix: readonly (readonly [prefix: string, needed: string])[] = [
  ['ModelRequestRateLimit', 'ModelRequestRateLimitEnabled'],
  ['backup.', 'backup.daily'],
  ['passkey.', 'passkey.enabled'],
  ['retention.', 'retention.enabled'],
];

const readNeeds = (key: string): readonly string[] =>
  needs[key] ?? byPrefix.flatMap(([prefix, needed]) => (key.startsWith(prefix) && key !== needed ? [needed] : []));

/** Few need them, so they are folded away while they are as delivered. */
const advanced: readonly string[] = [
  'billing.memory_hold_quota',
  ...['SMTPInsecureSkipVerify', 'SMTPForceAuthLogin', 'SMTPHelloName'],
  'TurnstileVerifyUrl',
  ...['GitHubBaseUrl', 'GitHubApiUrl', 'discord.base_url', 'LinuxDOBaseUrl'],
  ...['oidc.authorization_endpoint', 'oidc.token_endpoint', 'oidc.user_info_endpoint'],
  ...['passkey.rp_id', 'passkey.origins', 'passkey.allow_insecure_origin'],
];

export const isAdvanced = ({ key }: Option): boolean => advanced.includes(key);

/** Whether what an option needs is off or missing. One that is on can always be switched off. */
export function isIdle(option: Option, own: readonly Option[], drafts: Pick<OptionDrafts, 'valueFor'>): boolean {
  const isSet = (key: string): boolean => {
    const needed = own.find((each) => each.key === key);
    return needed === undefined || !['', 'false'].includes(drafts.valueFor(needed));
  };
  return drafts.valueFor(option) !== 'true' && !readNeeds(option.key).every(isSet);
}

/** Whether neither results nor input files are kept from now on. */
export const keepsNothing = (options: readonly Option[], drafts: Pick<OptionDrafts, 'valueFor'>): boolean =>
  options
    .filter(({ key }) => key === 'results.keep' || key === 'results.keep_inputs')
    .every((option) => ['off', 'false'].includes(drafts.valueFor(option)));

/** The switch of a way to sign in stands below what it needs. */
export const withSwitchLast = (options: readonly Option[]): readonly Option[] => {
  const isLast = ({ key, type }: Option): boolean => type === 'boolean' && (needs[key]?.length ?? 0) > 1;
  return [...options.filter((option) => !isLast(option)), ...options.filter(isLast)];
};
