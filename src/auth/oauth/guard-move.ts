import { authErrors, invalidField } from '../errors.ts';
import type { ProviderFields } from './validate-provider.ts';

/** Where people are asked for, and what names them: with another value an identity may be another person's. */
const NAMES_PEOPLE = [
  'well_known',
  'authorization_endpoint',
  'token_endpoint',
  'user_info_endpoint',
  'user_id_field',
] as const satisfies (keyof ProviderFields)[];

/**
 * Rejects with `auth.provider_in_use` a change by which the `identities` of a provider might come to belong to the people of another
 * one; `force` says that they do not.
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

/** Rejects with `auth.validation_failed` when the stored secret would be sent to a host for which nobody entered it. */
export function refuseForeignSecret(before: ProviderFields, after: ProviderFields): void {
  if (secretGoesTo(before) === secretGoesTo(after)) return;
  const field = before.token_endpoint === after.token_endpoint ? 'well_known' : 'token_endpoint';
  throw invalidField(
    'client_secret',
    `enter it again: ${field} leads to another host, and the stored secret is for the former one.`,
  );
}

/** The discovery document names the endpoint where none is written down. */
const secretGoesTo = ({ token_endpoint: endpoint, well_known: wellKnown }: ProviderFields): string =>
  new URL(endpoint || wellKnown).origin;
