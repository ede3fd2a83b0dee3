import { authErrors, invalidField } from '../errors.ts';
import type { ProviderFields } from './validate-provider.ts';

/**
 * Where people are asked for, and what names them: with another value an identity may be another
 * person's.
 */
const NAMES_PEOPLE = [
  'well_known',
  'authorization_endpoint',
  'token_endpoint',
  'user_info_endpoint',
  'user_id_field',
] as const satisfies (keyof ProviderFields)[];

/**
 * Rejects with `auth.provider_in_use` a change by which the `identities` of a provider might come
 * to belong to the people of another one; `force` says that they do not.
 */
export function refuseOtherPeople(
  before: ProviderFields,
  after: ProviderFields,
  { identities, force }: { identities: number; force: boolean },
): void {
  const field = NAMES_PEOPLE.find((name) => before[name] !== after[name]);
  if (field === undefined || identities === 0 || force) return;
  throw authErrors.provider_in_use({
    param: field,
    message: `${identities} ${identities === 1 ? 'identity is' : 'identities are'} bound at this provider. With another ${field} they may be those of other people: add another provider instead, or send force: true if it is the same one with the same ids.`,
    details: { field, identities },
  });
}

/**
 * Where the secret or the access token that it buys is sent, and the document that names what is
 * not written down.
 */
const ENTERED_FOR = ['token_endpoint', 'user_info_endpoint', 'well_known'] as const satisfies (keyof ProviderFields)[];

/**
 * Rejects with `auth.validation_failed` when the stored secret, or what it buys, would be sent to
 * an address for which nobody entered it. Another path counts too: on a host of many it may belong
 * to somebody else.
 */
export function refuseForeignSecret(before: ProviderFields, after: ProviderFields): void {
  const field = ENTERED_FOR.find((name) => canonical(before[name]) !== canonical(after[name]));
  if (field === undefined) return;
  throw invalidField(
    'client_secret',
    `enter it again: it was entered for the former ${field} and is sent nowhere else.`,
  );
}

const canonical = (address: string): string => (URL.canParse(address) ? new URL(address).href : address);
