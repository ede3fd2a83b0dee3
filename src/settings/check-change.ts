import { type Sentence, sentence } from '../kernel/index.ts';
import { type KeyOf, type OptionKey, ruleFor } from './catalogue/option-catalogue.ts';
import { withoutSlash } from './public-address.ts';
import type { OptionSnapshot } from './read-options.ts';
import { FEATURES, type Feature, missingFor } from './requirements.ts';
import type { OptionFault } from './types.ts';

/** Why a change is refused; `key` is one of the options in the change. */
export type Refusal = { key: OptionKey; message: Sentence; rule?: OptionFault['rule'] };

/**
 * Refuses a change that switches on a feature without what it needs, or that takes away what a
 * feature needs. What was missing before does not block a change of something else. Whether an
 * option needs a proof of identity stands in its entry of `catalogue/` (`proof`).
 */
export function checkChange(
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly [OptionKey, ...OptionKey[]],
): Refusal[] {
  const refusals: Refusal[] = [];
  for (const feature of FEATURES) {
    const missingBefore = missingIfOn(feature, before);
    const missing = missingIfOn(feature, after).filter((key) => !missingBefore.includes(key));
    if (missing.length === 0) continue;
    const names = missing.join(' and ');
    refusals.push(
      before.flag(feature)
        ? {
            key: changed.find((key) => missing.includes(key)) ?? changed[0],
            message: sentence('settings.needed_by_feature', { feature, names }),
          }
        : { key: feature, message: describeNeeds(feature, missing, after) },
    );
  }
  const tls = changed.find((key) => key === 'SMTPSSLEnabled' || key === 'SMTPStartTLSEnabled');
  if (tls && after.flag('SMTPSSLEnabled') && after.flag('SMTPStartTLSEnabled')) {
    refusals.push({
      key: tls,
      message: sentence('settings.one_tls_mode'),
    });
  }
  return refusals;
}

/** Empty while the feature is off. */
const missingIfOn = (feature: Feature, options: OptionSnapshot): OptionKey[] =>
  options.flag(feature) ? missingFor(feature, options) : [];

/** A secret that is stored counts as missing where no key reads it. */
function describeNeeds(feature: Feature, missing: readonly OptionKey[], options: OptionSnapshot): Sentence {
  const names = missing.join(' and ');
  const secrets = missing.filter((key) => options.unreadable.has(key)).join(' and ');
  return secrets === ''
    ? sentence('settings.feature_needs', { feature, names })
    : sentence('settings.feature_needs_secret', { feature, names, secrets });
}

/** Addresses of identity providers. Identities are stored by the ids that these servers assert. */
const IDENTITY_SOURCES: Partial<Record<OptionKey, string>> = {
  GitHubBaseUrl: 'github',
  GitHubApiUrl: 'github',
  'discord.base_url': 'discord',
  LinuxDOBaseUrl: 'linuxdo',
  'oidc.well_known': 'oidc',
  'oidc.authorization_endpoint': 'oidc',
  'oidc.token_endpoint': 'oidc',
  'oidc.user_info_endpoint': 'oidc',
  WeChatServerAddress: 'wechat',
};

/**
 * The addresses each secret was entered for. The secret or its access token is sent there, or the
 * address (a discovery document) names where they are sent. For a mail server the TLS mode counts
 * too: with another one the password may travel in clear text.
 */
const SECRET_TARGETS: readonly { secret: KeyOf<'secret'>; options: readonly [OptionKey, ...OptionKey[]] }[] = [
  {
    secret: 'SMTPToken',
    options: ['SMTPServer', 'SMTPPort', 'SMTPSSLEnabled', 'SMTPStartTLSEnabled', 'SMTPInsecureSkipVerify'],
  },
  { secret: 'TurnstileSecretKey', options: ['TurnstileVerifyUrl'] },
  { secret: 'GitHubClientSecret', options: ['GitHubBaseUrl', 'GitHubApiUrl'] },
  { secret: 'discord.client_secret', options: ['discord.base_url'] },
  { secret: 'LinuxDOClientSecret', options: ['LinuxDOBaseUrl'] },
  { secret: 'oidc.client_secret', options: ['oidc.well_known', 'oidc.token_endpoint', 'oidc.user_info_endpoint'] },
  { secret: 'WeChatServerToken', options: ['WeChatServerAddress'] },
];

/**
 * Refuses to send a stored secret to an address it was not entered for. Emptying the address counts
 * as well: otherwise the next change could set another one.
 */
export function refuseMovedSecrets(
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly OptionKey[],
): Refusal[] {
  return SECRET_TARGETS.flatMap(({ secret, options }) => {
    const isStored = before.isSet(secret) || before.unreadable.has(secret);
    if (!isStored || changed.includes(secret) || !options.some((key) => isAddress(key) && before.isSet(key))) return [];
    const moved = changed.find((key) => options.includes(key) && isMoved(key, before, after));
    if (moved === undefined) return [];
    return [
      {
        key: moved,
        message: sentence('settings.secret_moved', { secret, option: moved }),
      },
    ];
  });
}

/**
 * The changed options that point a provider at another server, where the same ids may belong to
 * other people.
 */
export const findMovedProviders = (
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly OptionKey[],
): { key: OptionKey; provider: string }[] =>
  changed.flatMap((key) => {
    const provider = IDENTITY_SOURCES[key];
    return provider === undefined || !isMoved(key, before, after) ? [] : [{ key, provider }];
  });

/** A secret that was entered while no address was set belongs to none. */
const isAddress = (key: OptionKey): boolean => ruleFor(key).type === 'url' || key === 'SMTPServer';

const isMoved = (key: OptionKey, before: OptionSnapshot, after: OptionSnapshot): boolean =>
  canonical(before.raw(key)) !== canonical(after.raw(key));

/** Two spellings of one address become the same text. */
const canonical = (value: string): string =>
  value.includes('://') && URL.canParse(value) ? withoutSlash(new URL(value).href) : value.toLowerCase();
