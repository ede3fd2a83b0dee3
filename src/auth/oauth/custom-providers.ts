import type { Clock, SecretBox } from '../../kernel/index.ts';
import type { NewOAuthProvider, OAuthProviderRecord, Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import { authErrors, invalidField } from '../errors.ts';
import { discover, wellKnownOf } from './discover.ts';
import {
  DEFAULT_FIELDS,
  MAX_CLIENT_SECRET,
  type ProviderFields,
  requireAddress,
  validateProvider,
  validateSlug,
} from './validate-provider.ts';

/** A provider as root may see it: of the secret only whether there is one. */
export type ProviderView = ProviderFields & {
  id: number;
  slug: string;
  client_secret: '' | typeof MASK;
  /** No `CRYPTO_SECRET` opens the stored secret: it must be entered again, and until then nobody comes in through this provider. */
  secret_unreadable: boolean;
  /** Unix seconds. */
  created_at: number;
  updated_at: number;
};

type Change = { [Field in keyof ProviderFields]?: ProviderFields[Field] | undefined } & {
  /** Empty, or as it is shown: stays as it is. */
  client_secret?: string | undefined;
};

/** What anybody may know of an added provider that can be used. */
export type PublicProvider = {
  id: number;
  name: string;
  slug: string;
  icon: string;
  client_id: string;
  /** Empty where it is read from the discovery document. */
  authorization_endpoint: string;
  scopes: string;
};

export type DiscoveredProvider = {
  well_known: string;
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  user_info_endpoint: string;
  jwks_uri: string;
  scopes_supported: string[];
};

/** The providers that root added. Each but `list` and `listPublic` may reject with `auth.provider_not_found` or `auth.validation_failed`. */
export interface CustomProviders {
  list(): Promise<ProviderView[]>;
  get(id: number): Promise<ProviderView>;
  /** Rejects with `auth.provider_exists` for a slug that is taken. */
  create(fields: Change & { slug: string }): Promise<ProviderView>;
  /** `after` is the provider from now on. The slug stays: identities are kept under it. */
  update(id: number, change: Change): Promise<{ before: ProviderView; after: ProviderView }>;
  /** Rejects with `auth.provider_in_use` while somebody is bound to it. */
  delete(id: number): Promise<ProviderView>;
  /** What a discovery document says; nothing is kept. Rejects with `auth.provider_failed`. */
  discover(address: {
    well_known_url?: string | undefined;
    issuer_url?: string | undefined;
  }): Promise<DiscoveredProvider>;
  listPublic(): Promise<PublicProvider[]>;
}

const MASK = '***';

export function createCustomProviders(deps: {
  store: Store;
  clock: Clock;
  upstream: Upstream;
  secretBox: SecretBox;
}): CustomProviders {
  const { store, clock, upstream, secretBox } = deps;

  const find = async (id: number): Promise<OAuthProviderRecord> => {
    const record = (await store.providers.all()).find((provider) => provider.id === id);
    if (!record) throw authErrors.provider_not_found();
    return record;
  };

  const isReadable = ({ clientSecretSealed }: OAuthProviderRecord): boolean =>
    clientSecretSealed === '' || secretBox.open(clientSecretSealed) !== undefined;

  const describe = (record: OAuthProviderRecord): ProviderView => ({
    id: record.id,
    slug: record.slug,
    name: record.name,
    icon: record.icon,
    enabled: record.enabled,
    client_id: record.clientId,
    client_secret: record.clientSecretSealed === '' ? '' : MASK,
    secret_unreadable: !isReadable(record),
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
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  });

  function sealGiven(secret: string | undefined): { clientSecretSealed?: string } {
    if (secret === undefined || secret === '' || secret === MASK) return {};
    if (secret.length > MAX_CLIENT_SECRET) {
      throw invalidField('client_secret', `at most ${MAX_CLIENT_SECRET} characters are allowed.`);
    }
    return { clientSecretSealed: secretBox.seal(secret) };
  }

  return {
    list: async () => (await store.providers.all()).map(describe),
    get: async (id) => describe(await find(id)),

    async create({ slug, client_secret: secret, ...fields }) {
      const now = clock.unix();
      const provider: NewOAuthProvider = {
        slug: validateSlug(slug),
        ...toRecord(validateProvider({ ...DEFAULT_FIELDS, ...given(fields) })),
        clientSecretSealed: '',
        ...sealGiven(secret),
        createdAt: now,
        updatedAt: now,
      };
      const made = await store.providers.insert(provider);
      if (!made) throw authErrors.provider_exists({ param: 'slug' });
      return describe(made);
    },

    async update(id, { client_secret: secret, ...change }) {
      const before = await find(id);
      const fields = validateProvider({ ...pickFields(describe(before)), ...given(change) });
      const after = await store.providers.update(id, {
        ...toRecord(fields),
        ...sealGiven(secret),
        updatedAt: clock.unix(),
      });
      if (!after) throw authErrors.provider_not_found();
      return { before: describe(before), after: describe(after) };
    },

    async delete(id) {
      const record = await find(id);
      if (!(await store.providers.delete(id))) {
        await find(id);
        throw authErrors.provider_in_use();
      }
      return describe(record);
    },

    async discover({ well_known_url: wellKnownUrl, issuer_url: issuerUrl }) {
      if ((wellKnownUrl === undefined) === (issuerUrl === undefined)) {
        throw invalidField('well_known_url', 'send either well_known_url or issuer_url.');
      }
      const wellKnown =
        wellKnownUrl === undefined
          ? wellKnownOf(requireAddress('issuer_url', issuerUrl ?? ''))
          : requireAddress('well_known_url', wellKnownUrl);
      const metadata = await discover(wellKnown, openProvider(upstream, [wellKnown]));
      return {
        well_known: wellKnown,
        issuer: metadata.issuer,
        authorization_endpoint: metadata.authorizationEndpoint,
        token_endpoint: metadata.tokenEndpoint,
        user_info_endpoint: metadata.userInfoEndpoint,
        jwks_uri: metadata.jwksUri,
        scopes_supported: metadata.scopes ?? [],
      };
    },

    listPublic: async () =>
      (await store.providers.all())
        .filter((record) => record.enabled && isReadable(record))
        .map(({ id, name, slug, icon, clientId, authorizationEndpoint, scopes }) => ({
          id,
          name,
          slug,
          icon,
          client_id: clientId,
          authorization_endpoint: authorizationEndpoint,
          scopes,
        })),
  };
}

/** Without the fields that were left out. */
const given = (change: Change): Partial<ProviderFields> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

function toRecord(fields: ProviderFields) {
  return {
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
  };
}

const pickFields = ({
  id,
  slug,
  client_secret,
  secret_unreadable,
  created_at,
  updated_at,
  ...fields
}: ProviderView): ProviderFields => fields;
