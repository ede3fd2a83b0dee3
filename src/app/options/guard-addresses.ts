import { withoutSlash } from '../public-address.ts';
import type { Refusal } from './check-change.ts';
import type { KeyOf, OptionKey } from './option-catalogue.ts';
import type { OptionSnapshot } from './read-options.ts';

/** Options that say whom to ask who somebody is, and whose identities are kept by the answer. */
const NAMES_PEOPLE: Partial<Record<OptionKey, string>> = {
  GitHubBaseUrl: 'github',
  GitHubApiUrl: 'github',
  'discord.base_url': 'discord',
  LinuxDOBaseUrl: 'linuxdo',
  'oidc.well_known': 'oidc',
  WeChatServerAddress: 'wechat',
};

/** Where each secret is sent: the first of these addresses that is set. */
const GOES_TO: readonly { secret: KeyOf<'secret'>; addresses: readonly [OptionKey, ...OptionKey[]] }[] = [
  { secret: 'SMTPToken', addresses: ['SMTPServer'] },
  { secret: 'TurnstileSecretKey', addresses: ['TurnstileVerifyUrl'] },
  { secret: 'GitHubClientSecret', addresses: ['GitHubBaseUrl'] },
  { secret: 'discord.client_secret', addresses: ['discord.base_url'] },
  { secret: 'LinuxDOClientSecret', addresses: ['LinuxDOBaseUrl'] },
  // The discovery document names the endpoint where none is written down.
  { secret: 'oidc.client_secret', addresses: ['oidc.token_endpoint', 'oidc.well_known'] },
  { secret: 'WeChatServerToken', addresses: ['WeChatServerAddress'] },
];

/**
 * Stored secrets that a change would send to a host for which nobody entered them. Taking the address away counts too: otherwise the
 * next change could name another one.
 */
export function refuseForeignSecrets(
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly OptionKey[],
): Refusal[] {
  return GOES_TO.flatMap(({ secret, addresses }) => {
    const [from, to] = [destination(addresses, before), destination(addresses, after)];
    const isStored = before.isSet(secret) || before.unreadable.has(secret);
    if (from === '' || from === to || !isStored || changed.includes(secret)) return [];
    const key = changed.find((each) => addresses.includes(each)) ?? addresses[0];
    return [
      {
        key,
        message: `${secret} was entered for the former ${key} and is sent to no other host: give it anew, or empty, in the same change.`,
      },
    ];
  });
}

/** The provider whose identities could come to belong to other people, for each option that would bring that about. */
export const otherPeople = (
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly OptionKey[],
): { key: OptionKey; provider: string }[] =>
  changed.flatMap((key) => {
    const provider = NAMES_PEOPLE[key];
    return provider === undefined || withoutSlash(before.raw(key)) === withoutSlash(after.raw(key))
      ? []
      : [{ key, provider }];
  });

/** Scheme, host and port of an address; a host without a scheme stands for itself. */
function destination(addresses: readonly OptionKey[], options: OptionSnapshot): string {
  const address = addresses.map((key) => options.raw(key)).find((value) => value !== '') ?? '';
  return URL.canParse(address) && address.includes('://') ? new URL(address).origin : address.toLowerCase();
}
