import type { Clock, SecretBox } from '../../kernel/index.ts';
import type { NewOAuthProvider, OAuthProviderRecord, Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { SettingsIn } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import { canRootSignIn } from '../users/has-sign-in-method.ts';
import { refuseForeignSecret, refuseOtherPeople } from './check-provider-change.ts';
import { describeProvider, type ProviderView, SECRET_MASK, toFields, toRecord } from './describe-provider.ts';
import { discover, wellKnownOf } from './discover.ts';
import {
  DEFAULT_FIELDS,
  MAX_CLIENT_SECRET,
  type ProviderFields,
  requireAddress,
  validateProvider,
  validateSlug,
} from './validate-provider.ts';

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

/**
 * The providers that root added. Each but `list` and `listPublic` may reject with
 * `auth.provider_not_found` or `auth.validation_failed`.
 */
export interface CustomProviders {
  list(): Promise<ProviderView[]>;
  get(id: number): Promise<ProviderView>;
  /** Rejects with `auth.provider_exists` for a slug that is taken. */
  create(fields: Change & { slug: string }): Promise<ProviderView>;
  /**
   * `after` is the provider from now on. The slug stays: identities are kept under it. Rejects with
   * `auth.provider_in_use` when they could come to belong to other people (unless it is forced),
   * with `auth.validation_failed` naming `client_secret` when that one would go to another address,
   * and with `auth.last_way_in` when root could not sign in any more.
   */
  update(id: number, change: Change & { force?: boolean }): Promise<{ before: ProviderView; after: ProviderView }>;
  /** Rejects with `auth.provider_in_use` while somebody is bound to it. */
  delete(id: number): Promise<ProviderView>;
  /** What a discovery document says; nothing is kept. Rejects with `auth.provider_failed`. */
  discover(address: {
    well_known_url?: string | undefined;
    issuer_url?: string | undefined;
  }): Promise<DiscoveredProvider>;
  listPublic(): Promise<PublicProvider[]>;
}

export function createCustomProviders(deps: {
  store: Store;
  clock: Clock;
  upstream: Upstream;
  secretBox: SecretBox;
  settingsIn: SettingsIn;
}): CustomProviders {
  const { store, clock, upstream, secretBox, settingsIn } = deps;

  const find = async (id: number): Promise<OAuthProviderRecord> => {
    const record = (await store.providers.all()).find((provider) => provider.id === id);
    if (!record) throw authErrors.provider_not_found();
    return record;
  };

  const isReadable = ({ clientSecretSealed }: OAuthProviderRecord): boolean =>
    clientSecretSealed === '' || secretBox.open(clientSecretSealed) !== undefined;

  const describe = (record: OAuthProviderRecord): ProviderView => describeProvider(record, isReadable(record));

  function sealGiven(secret: string | undefined): { clientSecretSealed?: string } {
    if (secret === undefined || secret === '' || secret === SECRET_MASK) return {};
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

    async update(id, { client_secret: secret, force = false, ...change }) {
      const sealed = sealGiven(secret);
      const { before, after } = await store.transaction(async (tx) => {
        // Two changes at once follow each other, so that neither writes back what the other has
        // changed.
        const before = await tx.providers.hold(id);
        if (!before) throw authErrors.provider_not_found();
        const former = toFields(before);
        const fields = validateProvider({ ...former, ...given(change) }, former);
        if (before.clientSecretSealed !== '' && !sealed.clientSecretSealed) refuseForeignSecret(former, fields);
        refuseOtherPeople(former, fields, { identities: await tx.identities.countProvider(before.slug), force });
        const rootCouldEnter = await canRootSignIn(tx, settingsIn);
        const after = await tx.providers.update(id, { ...toRecord(fields), ...sealed, updatedAt: clock.unix() });
        if (!after) throw authErrors.provider_not_found();
        if (rootCouldEnter && !(await canRootSignIn(tx, settingsIn))) throw rootLockedOut();
        return { before, after };
      });
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

const rootLockedOut = () =>
  authErrors.last_way_in({
    message:
      'Root could not sign in any more: while nobody signs in with a password, a root account needs a passkey or an identity of a provider that is switched on.',
  });
