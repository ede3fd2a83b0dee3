import { type KeyOf, type OptionKey, ruleOf } from './catalogue/option-catalogue.ts';
import type { Refusal } from './check-change.ts';
import { withoutSlash } from './public-address.ts';
import type { OptionSnapshot } from './read-options.ts';

/** Options that say whom to ask who somebody is, and whose identities are kept by the answer. */
const NAMES_PEOPLE: Partial<Record<OptionKey, string>> = {
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
 * What each secret was entered for. The secret itself is sent there, or the access token that it
 * buys, or (a discovery document) it is read there where both are sent. For a mail server, the way
 * in which TLS is used counts as well: over another one the password may travel in clear.
 */
const ENTERED_FOR: readonly { secret: KeyOf<'secret'>; options: readonly [OptionKey, ...OptionKey[]] }[] = [
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
 * Stored secrets that a change would send to where nobody entered them for. Taking the address away
 * counts too: otherwise the next change could name another one.
 */
export function refuseForeignSecrets(
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly OptionKey[],
): Refusal[] {
  return ENTERED_FOR.flatMap(({ secret, options }) => {
    const isStored = before.isSet(secret) || before.unreadable.has(secret);
    if (!isStored || changed.includes(secret) || !options.some((key) => isAddress(key) && before.isSet(key))) return [];
    const moved = changed.find((key) => options.includes(key) && isMoved(key, before, after));
    if (moved === undefined) return [];
    return [
      {
        key: moved,
        message: `${secret} was entered for the former ${moved} and is sent nowhere else: enter it again, or empty it, in the same change.`,
      },
    ];
  });
}

/**
 * The provider whose identities could come to belong to other people, for each option that would
 * bring that about.
 */
export const otherPeople = (
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly OptionKey[],
): { key: OptionKey; provider: string }[] =>
  changed.flatMap((key) => {
    const provider = NAMES_PEOPLE[key];
    return provider === undefined || !isMoved(key, before, after) ? [] : [{ key, provider }];
  });

/** While no address is set, a secret was entered for none. */
const isAddress = (key: OptionKey): boolean => ruleOf(key).type === 'url' || key === 'SMTPServer';

const isMoved = (key: OptionKey, before: OptionSnapshot, after: OptionSnapshot): boolean =>
  canonical(before.raw(key)) !== canonical(after.raw(key));

/** Scheme, host, port, path and query; two spellings of one address are the same. */
const canonical = (value: string): string =>
  value.includes('://') && URL.canParse(value) ? withoutSlash(new URL(value).href) : value.toLowerCase();
