import type { OAuthProviderRecord } from '../../store/ports/index.ts';
import type { ProviderFields } from './validate-provider.ts';

/** A provider as root sees it: it shows whether there is a secret, never the secret itself. */
export type ProviderView = ProviderFields & {
  id: number;
  slug: string;
  client_secret: '' | typeof SECRET_MASK;
  /**
   * No `CRYPTO_SECRET` opens the stored secret: it must be entered again, and until then nobody
   * can sign in through this provider.
   */
  secret_unreadable: boolean;
  /** Unix seconds. */
  created_at: number;
  updated_at: number;
};

/** A provider, and how many identities are bound to it: it cannot be deleted before them. */
export type ListedProvider = ProviderView & { identities: number };

/** Shown in place of a secret that is set; sent back, it changes nothing. */
export const SECRET_MASK = '***';

export const describeProvider = (record: OAuthProviderRecord, isReadable: boolean): ProviderView => ({
  id: record.id,
  slug: record.slug,
  client_secret: record.clientSecretSealed === '' ? '' : SECRET_MASK,
  secret_unreadable: !isReadable,
  ...toFields(record),
  created_at: record.createdAt,
  updated_at: record.updatedAt,
});

export const toFields = (record: OAuthProviderRecord): ProviderFields => ({
  name: record.name,
  icon: record.icon,
  enabled: record.enabled,
  client_id: record.clientId,
  authorization_endpoint: record.authorizationEndpoint,
  token_endpoint: record.tokenEndpoint,
  user_info_endpoint: record.userInfoEndpoint,
  well_known: record.wellKnown,
  scopes: record.scopes,
  user_id_field: record.userIdField,
  username_field: record.usernameField,
  display_name_field: record.displayNameField,
  email_field: record.emailField,
  auth_style: record.authStyle,
  access_policy: record.accessPolicy,
  access_denied_message: record.accessDeniedMessage,
});

/** The columns of the fields that administrators enter, without the secret. */
export const toRecord = (fields: ProviderFields) => ({
  name: fields.name,
  icon: fields.icon,
  enabled: fields.enabled,
  clientId: fields.client_id,
  authorizationEndpoint: fields.authorization_endpoint,
  tokenEndpoint: fields.token_endpoint,
  userInfoEndpoint: fields.user_info_endpoint,
  wellKnown: fields.well_known,
  scopes: fields.scopes,
  userIdField: fields.user_id_field,
  usernameField: fields.username_field,
  displayNameField: fields.display_name_field,
  emailField: fields.email_field,
  authStyle: fields.auth_style,
  accessPolicy: fields.access_policy,
  accessDeniedMessage: fields.access_denied_message,
});
