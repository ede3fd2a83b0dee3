import type { KeyOf, OptionKey } from './catalogue/option-catalogue.ts';
import type { OptionValues } from './read-options.ts';

type Needs = (options: OptionValues) => readonly OptionKey[];

const always =
  (...keys: OptionKey[]): Needs =>
  () =>
    keys;

/** What must be set for mails to be sent. */
const mailNeeds: Needs = (options) =>
  options.isSet('SMTPAccount') ? ['SMTPServer', 'SMTPFrom', 'SMTPToken'] : ['SMTPServer', 'SMTPFrom'];

/** What must be set before something is switched on, and stay set while it is on. */
const REQUIREMENTS = {
  EmailVerificationEnabled: mailNeeds,
  EmailDomainRestrictionEnabled: always('EmailDomainWhitelist'),
  TurnstileCheckEnabled: always('TurnstileSiteKey', 'TurnstileSecretKey'),
  GitHubOAuthEnabled: always('GitHubClientId', 'GitHubClientSecret'),
  'discord.enabled': always('discord.client_id', 'discord.client_secret'),
  LinuxDOOAuthEnabled: always('LinuxDOClientId', 'LinuxDOClientSecret'),
  'oidc.enabled': always('oidc.client_id', 'oidc.client_secret', 'oidc.well_known'),
  TelegramOAuthEnabled: always('TelegramBotName', 'TelegramBotToken'),
  WeChatAuthEnabled: always('WeChatServerAddress', 'WeChatServerToken'),
} satisfies Partial<Record<KeyOf<'boolean'>, Needs>>;

export type Feature = keyof typeof REQUIREMENTS;
export const FEATURES = Object.keys(REQUIREMENTS) as Feature[];

/** What a feature needs and does not have; a secret that cannot be read counts as missing. */
export const missingFor = (feature: Feature, options: OptionValues): OptionKey[] =>
  REQUIREMENTS[feature](options).filter((key) => !options.isSet(key));

/** Whether a feature is switched on and has all that it needs. */
export const isUsable = (options: OptionValues, feature: Feature): boolean =>
  options.flag(feature) && missingFor(feature, options).length === 0;

export const canMail = (options: OptionValues): boolean => missingFor('EmailVerificationEnabled', options).length === 0;
