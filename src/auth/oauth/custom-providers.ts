import { type Clock, type SecretBox, sentence, withoutUndefined } from '../../kernel/index.ts';
import type { NewOAuthProvider, OAuthProviderRecord, Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import { canRootSignIn } from '../accounts/last-sign-in-method.ts';
import type { SettingsIn } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import { toWellKnownUrl } from './check-issuer.ts';
import {
  describeProvider,
  type ListedProvider,
  type ProviderView,
  SECRET_MASK,
  toFields,
  toRecord,
} from './describe-provider.ts';
import { discover } from './discover.ts';
import {
  checkIdentitiesKeepOwners,
  checkSecretKeepsReceivers,
  DEFAULT_FIELDS,
  MAX_CLIENT_SECRET,
  type ProviderFields,
  requireAddress,
  validateProvider,
  validateSlug,
} from './validate-provider.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  secretBox: SecretBox;
  settingsIn: SettingsIn;
};

/*
 * The identity providers that root added. All operations but the two lists may reject with
 * `auth.provider_not_found` or `auth.validation_failed`.
 */

export type ProviderChange = { [Field in keyof ProviderFields]?: ProviderFields[Field] | undefined } & {
  /** Empty or the mask: the stored secret stays. */
  client_secret?: string | undefined;
};

/** The public fields of an added provider that can be used. */
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

export const listProviders = async (ctx: { store: Store; secretBox: SecretBox }): Promise<ListedProvider[]> =>
  Promise.all((await ctx.store.providers.all()).map((record) => describeWithUse(ctx, record)));

export const getProvider = async (ctx: { store: Store; secretBox: SecretBox }, id: number): Promise<ListedProvider> =>
  describeWithUse(ctx, await findRecord(ctx, id));

const describeWithUse = async (
  ctx: { store: Store; secretBox: SecretBox },
  record: OAuthProviderRecord,
): Promise<ListedProvider> => ({
  ...describe(ctx, record),
  identities: await ctx.store.identities.countProvider(record.slug),
});

/** @throws also `auth.provider_exists` for a slug that is taken. */
export async function createProvider(
  ctx: { store: Store; clock: Clock; secretBox: SecretBox },
  { slug, client_secret: secret, ...fields }: ProviderChange & { slug: string },
): Promise<ProviderView> {
  const now = ctx.clock.unix();
  const provider: NewOAuthProvider = {
    slug: validateSlug(slug),
    ...toRecord(validateProvider({ ...DEFAULT_FIELDS, ...withoutUndefined(fields) })),
    clientSecretSealed: '',
    ...sealSecret(ctx, secret),
    createdAt: now,
    updatedAt: now,
  };
  const created = await ctx.store.providers.insert(provider);
  if (!created) throw authErrors.provider_exists({ param: 'slug' });
  return describe(ctx, created);
}

/**
 * The slug never changes: identities are stored under it.
 *
 * @throws also `auth.provider_in_use` when bound identities could pass to other people (unless
 * `force` is set), `auth.validation_failed` naming `client_secret` when the stored secret would go
 * to another address, and `auth.last_way_in` when root could not sign in any more.
 */
export async function updateProvider(
  ctx: Deps,
  id: number,
  { client_secret: secret, force = false, ...change }: ProviderChange & { force?: boolean },
): Promise<{ before: ProviderView; after: ProviderView }> {
  const { store, clock } = ctx;
  const sealed = sealSecret(ctx, secret);
  const { before, after } = await store.transaction(async (tx) => {
    // The lock orders concurrent changes, so that none overwrites the other.
    const before = await tx.providers.lock(id);
    if (!before) throw authErrors.provider_not_found();
    const former = toFields(before);
    const fields = validateProvider({ ...former, ...withoutUndefined(change) }, former);
    if (before.clientSecretSealed !== '' && !sealed.clientSecretSealed) checkSecretKeepsReceivers(former, fields);
    checkIdentitiesKeepOwners(former, fields, { identities: await tx.identities.countProvider(before.slug), force });
    const rootCouldSignIn = await canRootSignIn(tx, ctx);
    const after = await tx.providers.update(id, { ...toRecord(fields), ...sealed, updatedAt: clock.unix() });
    if (!after) throw authErrors.provider_not_found();
    if (rootCouldSignIn && !(await canRootSignIn(tx, ctx))) throw rootLockedOut();
    return { before, after };
  });
  return { before: describe(ctx, before), after: describe(ctx, after) };
}

/** @throws also `auth.provider_in_use` while identities are bound to it. */
export async function deleteProvider(ctx: { store: Store; secretBox: SecretBox }, id: number): Promise<ProviderView> {
  const record = await findRecord(ctx, id);
  if (!(await ctx.store.providers.delete(id))) {
    await findRecord(ctx, id);
    throw authErrors.provider_in_use();
  }
  return describe(ctx, record);
}

/**
 * Reads a discovery document; stores nothing.
 *
 * @throws also `auth.provider_failed`
 */
export async function discoverProvider(
  { upstream }: { upstream: Upstream },
  address: { well_known_url?: string | undefined; issuer_url?: string | undefined },
): Promise<DiscoveredProvider> {
  const { well_known_url: wellKnownUrl, issuer_url: issuerUrl } = address;
  if ((wellKnownUrl === undefined) === (issuerUrl === undefined)) {
    throw invalidField('well_known_url', sentence('auth.one_discovery_address'));
  }
  const wellKnown =
    wellKnownUrl === undefined
      ? toWellKnownUrl(requireAddress('issuer_url', issuerUrl ?? ''))
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
}

export const listPublicProviders = async (ctx: { store: Store; secretBox: SecretBox }): Promise<PublicProvider[]> =>
  (await ctx.store.providers.all())
    .filter((record) => record.enabled && isReadable(ctx, record))
    .map(({ id, name, slug, icon, clientId, authorizationEndpoint, scopes }) => ({
      id,
      name,
      slug,
      icon,
      client_id: clientId,
      authorization_endpoint: authorizationEndpoint,
      scopes,
    }));

export async function findRecord({ store }: { store: Store }, id: number): Promise<OAuthProviderRecord> {
  const record = (await store.providers.all()).find((provider) => provider.id === id);
  if (!record) throw authErrors.provider_not_found();
  return record;
}

const isReadable = ({ secretBox }: { secretBox: SecretBox }, { clientSecretSealed }: OAuthProviderRecord): boolean =>
  clientSecretSealed === '' || secretBox.open(clientSecretSealed) !== undefined;

const describe = (ctx: { secretBox: SecretBox }, record: OAuthProviderRecord): ProviderView =>
  describeProvider(record, isReadable(ctx, record));

function sealSecret(
  { secretBox }: { secretBox: SecretBox },
  secret: string | undefined,
): { clientSecretSealed?: string } {
  if (secret === undefined || secret === '' || secret === SECRET_MASK) return {};
  if (secret.length > MAX_CLIENT_SECRET) {
    throw invalidField('client_secret', sentence('auth.characters_max', { max: MAX_CLIENT_SECRET }));
  }
  return { clientSecretSealed: secretBox.seal(secret) };
}

const rootLockedOut = () =>
  authErrors.last_way_in({
    message: sentence('auth.root_locked_out'),
  });
