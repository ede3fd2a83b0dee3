import type { OAuthAuthStyle } from '../../store/ports/index.ts';
import { invalidField } from '../errors.ts';
import { rejectHiddenCharacters } from '../users/reject-hidden-characters.ts';
import { parsePolicy } from './access-policy.ts';

/** What an administrator writes down of a provider. */
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

/** As in new-api: what a provider of OpenID Connect calls them. */
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
  auth_style: 0,
  access_policy: '',
  access_denied_message: '',
};

/**
 * Lengths as in new-api; `oauth:` and the slug are a session's login method, which has 32
 * characters.
 */
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
const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,24}[a-z0-9])?$/;
/** Other ways in, and words that stand where a slug stands in paths. */
const RESERVED = [
  ...['github', 'discord', 'oidc', 'linuxdo', 'wechat', 'telegram', 'email'],
  ...['password', 'passkey', '2fa', 'oauth', 'state', 'bind', 'login', 'discovery'],
];
export const MAX_CLIENT_SECRET = 512;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Rejects with `auth.validation_failed`. */
export function validateSlug(slug: string): string {
  if (!SLUG.test(slug)) throw invalidField('slug', '1 to 26 of the letters a to z, digits and - are allowed.');
  if (RESERVED.includes(slug)) throw invalidField('slug', 'this name belongs to another way to sign in.');
  return slug;
}

/**
 * Rejects with `auth.validation_failed` what could not work. The fields come back trimmed.
 * `former`: those that are stored.
 */
export function validateProvider(fields: ProviderFields, former?: { name: string }): ProviderFields {
  const provider = { ...fields };
  for (const [field, longest] of Object.entries(LONGEST) as [keyof typeof LONGEST, number][]) {
    const value = provider[field].trim();
    const isText = field === 'access_policy' || !CONTROL.test(value);
    if (value.length > longest || !isText) throw invalidField(field, `one line of at most ${longest} characters.`);
    provider[field] = value;
  }
  rejectHiddenCharacters('name', provider.name, former?.name);
  for (const field of ['name', 'client_id', 'user_id_field'] as const) {
    if (provider[field] === '') throw invalidField(field, 'it must not be empty.');
  }
  const endpoints = ['authorization_endpoint', 'token_endpoint', 'user_info_endpoint'] as const;
  for (const field of [...endpoints, 'well_known'] as const) {
    if (provider[field] !== '') requireAddress(field, provider[field]);
  }
  const missing = endpoints.find((field) => provider[field] === '');
  if (missing && provider.well_known === '') {
    throw invalidField(missing, 'an address is required, or well_known, from which it is read.');
  }
  const policy = parsePolicy(provider.access_policy);
  if (!policy.ok) throw invalidField('access_policy', `${policy.error}.`);
  return provider;
}

/** An absolute http or https address. Rejects with `auth.validation_failed`. */
export function requireAddress(field: string, address: string): string {
  const isAddress = /^https?:\/\/[^\s\\#]+$/i.test(address) && URL.canParse(address);
  if (!isAddress || /^[^/]*\/\/[^/?]*@/.test(address)) {
    throw invalidField(field, 'an absolute http or https address without credentials and fragment is required.');
  }
  return address;
}
