import { pluralize, sentence } from '../../kernel/index.ts';
import { AUTH_STYLE, type OAuthAuthStyle } from '../../store/ports/index.ts';
import { rejectHiddenCharacters } from '../accounts/validate-account.ts';
import { authErrors, invalidField } from '../errors.ts';
import { parsePolicy } from './access-policy.ts';

/** The fields of a provider that an administrator enters. */
export type ProviderFields = {
  name: string;
  icon: string;
  enabled: boolean;
  client_id: string;
  authorization_endpoint: string;
  token_endpoint: string;
  user_info_endpoint: string;
  well_known: string;
  scopes: string;
  user_id_field: string;
  username_field: string;
  display_name_field: string;
  email_field: string;
  auth_style: OAuthAuthStyle;
  access_policy: string;
  access_denied_message: string;
};

/** The names are those of OpenID Connect, as in new-api. */
export const DEFAULT_FIELDS: ProviderFields = {
  name: '',
  icon: '',
  enabled: true,
  client_id: '',
  authorization_endpoint: '',
  token_endpoint: '',
  user_info_endpoint: '',
  well_known: '',
  scopes: 'openid profile email',
  user_id_field: 'sub',
  username_field: 'preferred_username',
  display_name_field: 'name',
  email_field: 'email',
  auth_style: AUTH_STYLE.auto,
  access_policy: '',
  access_denied_message: '',
};

/** Lengths as in new-api. */
const LONGEST = {
  name: 64,
  icon: 128,
  client_id: 256,
  authorization_endpoint: 512,
  token_endpoint: 512,
  user_info_endpoint: 512,
  well_known: 512,
  scopes: 512,
  user_id_field: 128,
  username_field: 128,
  display_name_field: 128,
  email_field: 128,
  access_policy: 16_384,
  access_denied_message: 512,
} as const satisfies Partial<Record<keyof ProviderFields, number>>;
/** `oauth:` and the slug form a session's sign-in method, whose column has 32 characters. */
const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,24}[a-z0-9])?$/;
/** Other sign-in methods, and words that routes use in the position of a slug. */
const RESERVED = [
  'github',
  'discord',
  'oidc',
  'linuxdo',
  'wechat',
  'telegram',
  'email',
  'password',
  'passkey',
  '2fa',
  'oauth',
  'state',
  'bind',
  'login',
  'discovery',
];
export const MAX_CLIENT_SECRET = 512;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this rejects them
const CONTROL = /[\u0000-\u001f\u007f]/;

/** @throws `auth.validation_failed` */
export function validateSlug(slug: string): string {
  if (!SLUG.test(slug)) throw invalidField('slug', sentence('auth.provider_slug'));
  if (RESERVED.includes(slug)) throw invalidField('slug', sentence('auth.provider_slug_reserved'));
  return slug;
}

/**
 * Gives the fields trimmed. `former` are the stored ones.
 *
 * @throws `auth.validation_failed` for a provider that could not work.
 */
export function validateProvider(fields: ProviderFields, former?: { name: string }): ProviderFields {
  const provider = { ...fields };
  for (const [field, longest] of Object.entries(LONGEST) as [keyof typeof LONGEST, number][]) {
    const value = provider[field].trim();
    const isText = field === 'access_policy' || !CONTROL.test(value);
    if (value.length > longest || !isText) throw invalidField(field, sentence('auth.one_line', { max: longest }));
    provider[field] = value;
  }
  rejectHiddenCharacters('name', provider.name, former?.name);
  for (const field of ['name', 'client_id', 'user_id_field'] as const) {
    if (provider[field] === '') throw invalidField(field, sentence('auth.not_empty'));
  }
  const endpoints = ['authorization_endpoint', 'token_endpoint', 'user_info_endpoint'] as const;
  for (const field of [...endpoints, 'well_known'] as const) {
    if (provider[field] !== '') requireAddress(field, provider[field]);
  }
  const missing = endpoints.find((field) => provider[field] === '');
  if (missing && provider.well_known === '') {
    throw invalidField(missing, sentence('auth.endpoint_or_well_known'));
  }
  const policy = parsePolicy(provider.access_policy);
  if (!policy.ok) throw invalidField('access_policy', sentence('auth.access_policy', { fault: policy.error }));
  return provider;
}

/** @throws `auth.validation_failed` for anything but an absolute http or https address. */
export function requireAddress(field: string, address: string): string {
  const isAddress = /^https?:\/\/[^\s\\#]+$/i.test(address) && URL.canParse(address);
  if (!isAddress || /^[^/]*\/\/[^/?]*@/.test(address)) {
    throw invalidField(field, sentence('auth.http_address'));
  }
  return address;
}

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
      identities: pluralize(identities, 'identity is', 'identities are'),
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
