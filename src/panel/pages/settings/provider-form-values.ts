import type { TFunction } from 'i18next';
import type { OAuthProvider } from '../../api/types.ts';

export type ProviderValues = Omit<
  OAuthProvider,
  'id' | 'identities' | 'secret_unreadable' | 'created_at' | 'updated_at' | 'auth_style' | 'client_secret'
> & {
  auth_style: string;
  /** Empty keeps the stored secret. */
  client_secret: string;
};

export const emptyProvider: ProviderValues = {
  slug: '',
  name: '',
  icon: '',
  enabled: true,
  client_id: '',
  client_secret: '',
  authorization_endpoint: '',
  token_endpoint: '',
  user_info_endpoint: '',
  well_known: '',
  scopes: 'openid profile email',
  user_id_field: 'sub',
  username_field: 'preferred_username',
  display_name_field: 'name',
  email_field: 'email',
  auth_style: '0',
  access_policy: '',
  access_denied_message: '',
};

export const toFormValues = (provider: OAuthProvider): ProviderValues => {
  const { id: _, identities: __, secret_unreadable: ___, created_at: ____, updated_at: _____, ...fields } = provider;
  return { ...fields, client_secret: '', auth_style: String(provider.auth_style) };
};

export const isSlug = (text: string): boolean => /^[a-z0-9]([a-z0-9-]{0,24}[a-z0-9])?$/.test(text);

export function validateProvider(
  t: TFunction,
  values: ProviderValues,
  stored: Pick<OAuthProvider, 'well_known'> | null,
): Partial<Record<keyof ProviderValues, string | null>> {
  const requireText = (text: string): string | null => (text.trim() === '' ? t('rows.missing') : null);
  const validateAddress = (text: string): string | null =>
    text.trim() === '' || (/^https?:\/\/[^\s/]+/i.test(text.trim()) && URL.canParse(text.trim()))
      ? null
      : t('settings.addressInvalid');
  const hasEndpoints = [values.authorization_endpoint, values.token_endpoint, values.user_info_endpoint].every(
    (text) => text.trim() !== '',
  );
  return {
    slug: stored !== null || isSlug(values.slug) ? null : t('providers.slugInvalid'),
    name: requireText(values.name),
    client_id: requireText(values.client_id),
    well_known:
      validateAddress(values.well_known) ??
      (values.well_known.trim() === '' && !hasEndpoints ? t('providers.endpointsMissing') : null) ??
      (isIssuer(values.well_known) && values.well_known !== stored?.well_known ? t('providers.loadFirst') : null),
    authorization_endpoint: validateAddress(values.authorization_endpoint),
    token_endpoint: validateAddress(values.token_endpoint),
    user_info_endpoint: validateAddress(values.user_info_endpoint),
    user_id_field: requireText(values.user_id_field),
    access_policy: isPolicy(values.access_policy) ? null : t('settings.jsonInvalid'),
  };
}

/**
 * The body for the API: all fields of a new provider, otherwise those that changed since the form
 * was opened.
 */
export function toProviderBody(values: ProviderValues, original: ProviderValues | null): Record<string, unknown> {
  const { slug, client_secret: secret, auth_style: style, ...fields } = values;
  const all = { ...fields, auth_style: Number(style) };
  const before: Record<string, unknown> =
    original === null ? {} : { ...original, auth_style: Number(original.auth_style) };
  return {
    ...(original === null ? { slug } : {}),
    ...Object.fromEntries(Object.entries(all).filter(([field, value]) => value !== before[field])),
    ...(secret === '' ? {} : { client_secret: secret }),
  };
}

/** Whether this names an issuer, and not its discovery document. */
const isIssuer = (address: string): boolean => address.trim() !== '' && !address.includes('/.well-known/');

function isPolicy(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
