import { countOf, sentence } from '../../kernel/index.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { ProviderFields } from './validate-provider.ts';

/**
 * The fields that decide which person an identity stands for. After a change of one, a stored
 * identity may belong to another person.
 */
const IDENTITY_FIELDS = [
  'well_known',
  'authorization_endpoint',
  'token_endpoint',
  'user_info_endpoint',
  'user_id_field',
] as const satisfies (keyof ProviderFields)[];

/**
 * `identities` is how many are bound at the provider. `force` is the administrator's word that they
 * stay with the same people.
 *
 * @throws `auth.provider_in_use` for a change by which bound identities could pass to other people.
 */
export function checkIdentitiesKeepOwners(
  before: ProviderFields,
  after: ProviderFields,
  { identities, force }: { identities: number; force: boolean },
): void {
  const field = IDENTITY_FIELDS.find((name) => before[name] !== after[name]);
  if (field === undefined || identities === 0 || force) return;
  throw authErrors.provider_in_use({
    param: field,
    message: sentence('auth.identities_bound', {
      identities: countOf(identities, 'identity is', 'identities are'),
      count: identities,
      field,
    }),
    details: { field, identities },
  });
}

/**
 * The addresses that receive the client secret or the access token, and the document that names
 * such addresses.
 */
const SECRET_RECEIVERS = [
  'token_endpoint',
  'user_info_endpoint',
  'well_known',
] as const satisfies (keyof ProviderFields)[];

/**
 * Another path counts as another receiver: on a shared host it may belong to someone else.
 *
 * @throws `auth.validation_failed` when the stored secret, or the access token that it yields,
 * would be sent to an address for which it was not entered.
 */
export function checkSecretKeepsReceivers(before: ProviderFields, after: ProviderFields): void {
  const field = SECRET_RECEIVERS.find((name) => canonical(before[name]) !== canonical(after[name]));
  if (field === undefined) return;
  throw invalidField('client_secret', sentence('auth.secret_of_former_address', { field }));
}

const canonical = (address: string): string => (URL.canParse(address) ? new URL(address).href : address);
