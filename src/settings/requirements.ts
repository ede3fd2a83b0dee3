import type { KeyOf, OptionKey } from './catalogue/option-catalogue.ts';
import type { OptionValues } from './read-options.ts';

type Requirement = (options: OptionValues) => readonly OptionKey[];

const always =
  (...keys: OptionKey[]): Requirement =>
  () =>
    keys;

/** What must be set before mail can be sent. */
const mailNeeds: Requirement = (options) =>
  options.isSet('SMTPAccount') ? ['SMTPServer', 'SMTPFrom', 'SMTPToken'] : ['SMTPServer', 'SMTPFrom'];

/** What must be set before a feature is switched on, and stay set while it is on. */
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
} satisfies Partial<Record<KeyOf<'boolean'>, Requirement>>;

export type Feature = keyof typeof REQUIREMENTS;
export const FEATURES = Object.keys(REQUIREMENTS) as Feature[];

/** The options a feature needs that are not set. A secret that cannot be decrypted is not set. */
export const missingFor = (feature: Feature, options: OptionValues): OptionKey[] =>
  REQUIREMENTS[feature](options).filter((key) => !options.isSet(key));

/** Whether a feature is on and nothing that it needs is missing. */
export const isUsable = (options: OptionValues, feature: Feature): boolean =>
  options.flag(feature) && missingFor(feature, options).length === 0;

export const canMail = (options: OptionValues): boolean => missingFor('EmailVerificationEnabled', options).length === 0;
