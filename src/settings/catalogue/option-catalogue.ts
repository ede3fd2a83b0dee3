import {
  alertOptions,
  brandingOptions,
  gatewayOptions,
  legalOptions,
  mailOptions,
  maintenanceOptions,
} from './gateway.ts';
import { billingOptions, limitOptions, pluginOptions, queueOptions } from './limits.ts';
import type { OptionRule, OptionTrial, OptionType } from './option-rule.ts';
import { backupOptions, resultOptions, retentionOptions } from './retention.ts';
import {
  challengeOptions,
  discordOptions,
  githubOptions,
  linuxdoOptions,
  oidcOptions,
  passkeyOptions,
  signInOptions,
  telegramOptions,
  wechatOptions,
} from './sign-in.ts';

/** The groups in which the panel shows the options. */
const GROUPS = {
  gateway: gatewayOptions,
  maintenance: maintenanceOptions,
  branding: brandingOptions,
  sign_in: signInOptions,
  mail: mailOptions,
  alerts: alertOptions,
  challenge: challengeOptions,
  github: githubOptions,
  discord: discordOptions,
  linuxdo: linuxdoOptions,
  oidc: oidcOptions,
  telegram: telegramOptions,
  wechat: wechatOptions,
  passkey: passkeyOptions,
  limits: limitOptions,
  queue: queueOptions,
  billing: billingOptions,
  plugins: pluginOptions,
  results: resultOptions,
  retention: retentionOptions,
  backups: backupOptions,
  legal: legalOptions,
};

/** Every option. No other key can be written. */
const OPTION_CATALOGUE = {
  ...gatewayOptions,
  ...maintenanceOptions,
  ...brandingOptions,
  ...signInOptions,
  ...mailOptions,
  ...alertOptions,
  ...challengeOptions,
  ...githubOptions,
  ...discordOptions,
  ...linuxdoOptions,
  ...oidcOptions,
  ...telegramOptions,
  ...wechatOptions,
  ...passkeyOptions,
  ...limitOptions,
  ...queueOptions,
  ...billingOptions,
  ...pluginOptions,
  ...resultOptions,
  ...retentionOptions,
  ...backupOptions,
  ...legalOptions,
};

type Catalogue = typeof OPTION_CATALOGUE;
export type OptionKey = keyof Catalogue;
/** The keys of the options of one type. */
export type KeyOf<Type extends OptionType> = {
  [Key in OptionKey]: Catalogue[Key]['type'] extends Type ? Key : never;
}[OptionKey];
/** The values of a `choice`. */
export type ChoiceOf<Key extends KeyOf<'choice'>> =
  Catalogue[Key] extends OptionRule<'choice', infer Choice> ? Choice : never;

export const OPTION_KEYS = Object.keys(OPTION_CATALOGUE) as OptionKey[];

/** Options of former versions, each with its replacement. Their rows in a database are ignored. */
const REMOVED = new Map([
  ['SelfUseModeEnabled', 'It had no effect. billing.unpriced says who may use models without a price.'],
  ['DemoSiteEnabled', 'It had no effect. Leave it out.'],
]);

/** Why a removed option cannot be set; undefined for a key that never was an option. */
export const describeRemoved = (key: string): string | undefined => {
  const instead = REMOVED.get(key);
  return instead === undefined ? undefined : `The option ${key} was removed. ${instead}`;
};

export const isOptionKey = (key: string): key is OptionKey => Object.hasOwn(OPTION_CATALOGUE, key);

export const ruleFor = (key: OptionKey): OptionRule => OPTION_CATALOGUE[key];

const GROUP_BY_KEY = new Map<string, string>(
  Object.entries(GROUPS).flatMap(([group, options]) => Object.keys(options).map((key) => [key, group] as const)),
);

export const groupFor = (key: OptionKey): string => GROUP_BY_KEY.get(key) ?? '';

/** Groups that can be tried, with their name in `POST /api/option/test`. */
const TRIALS = new Map<string, OptionTrial>([
  ['mail', 'smtp'],
  ['alerts', 'webhook'],
  ['oidc', 'oidc'],
  ['challenge', 'turnstile'],
  ['wechat', 'wechat'],
  ['telegram', 'telegram'],
]);

export const trialFor = (key: OptionKey): OptionTrial | undefined => TRIALS.get(groupFor(key));
