import { type Clock, createReplica, type Logger, type Random, type SecretBox } from '../kernel/index.ts';
import {
  boundPluginKeys,
  type ChannelRecord,
  type CredentialRecord,
  type NewChannel,
  type Page,
  type Paged,
  STATUS,
  type Store,
} from '../store/ports/index.ts';
import {
  type ChannelNetwork,
  checkBodyDefaults,
  openNetwork,
  type ShownNetwork,
  sealHeaders,
  sealProxy,
  showNetwork,
} from './channel-network.ts';
import {
  boundPlugin,
  type ChannelInput,
  checkBinding,
  checkLimits,
  checkMapping,
  checkName,
  checkNames,
  checkPool,
  checkSettings,
  type PluginLookup,
} from './check-channel.ts';
import {
  type CredentialService,
  checkCredentials,
  createCredentialService,
  replaceOnlyKey,
  sealCredential,
} from './credentials.ts';
import { channelErrors } from './errors.ts';
import { type PickRequest, pickAccount, type VendorAccount } from './pick-account.ts';

export type ChannelChange = Partial<ChannelInput>;
export type SavedChannel = { channel: ChannelRecord; baseUrlSource: 'given' | 'plugin_default' };

/** The account that has a task or a relayed object; null: the first credential of its channel. */
type Begun = { channelId: number; credentialId: number | null };

/** The channels as they are stored, replicated on each node, and the accounts that serve. */
export type Channels = {
  start(): Promise<void>;
  stop(): void;
  /** From this node's replica; `undefined` for a deleted channel. */
  find(id: number): ChannelRecord | undefined;
  /** All channels in this node's replica. */
  known(): readonly ChannelRecord[];
  /** `others`: the same request to other plugins that share its model. */
  pick(request: PickRequest, ...others: PickRequest[]): VendorAccount | undefined;
  /**
   * What something was begun with serves it to its end, also once its credential was disabled or
   * removed. `undefined` for a deleted channel.
   */
  findBegun(begun: Begun): Promise<VendorAccount | undefined>;
  /** @throws `channels.key_unreadable` when no current or previous secret opens it */
  key(account: VendorAccount): string;
  /** Whether a current or previous secret opens everything that is sealed for the account. */
  isReadable(account: VendorAccount): boolean;
  /** One for each credential of a channel in this node's replica, the disabled ones too. */
  accounts(channel: Pick<ChannelRecord, 'id'>): readonly VendorAccount[];
  /** @throws `channels.several_credentials`, `channels.credential_not_found` */
  onlyAccount(channel: Pick<ChannelRecord, 'id'>): VendorAccount;
  /** The accounts of all channels, including removed credentials; a new list after each change. */
  everyAccount(): readonly VendorAccount[];
  /** @throws `channels.key_unreadable` */
  network(channel: ChannelRecord): ChannelNetwork;
  /**
   * Secrets that are redacted from texts: all keys of its channel, the proxy's password, the values
   * of headers. The same list each time until something changes.
   */
  secrets(account: VendorAccount): readonly string[];
  /** Describes the proxy and the headers; undefined if they cannot be read. */
  shownNetwork(channel: ChannelRecord): ShownNetwork | undefined;
  /** The keys of channels as people keep them. */
  readonly credentials: CredentialService;
  get(id: number): Promise<ChannelRecord>;
  list(page: Page, filter?: ChannelFilter): Promise<Paged<ChannelRecord>>;
  create(input: ChannelInput): Promise<SavedChannel>;
  /**
   * `mayMoveKey`: the caller has proven that they may read the key. Then address, type and plugin
   * may change without entering the key and the values of headers again.
   * @throws otherwise `channels.key_required`, `channels.headers_required`,
   * `channels.removed_key_held`
   */
  update(
    id: number,
    change: ChannelChange,
    options: { mayMoveKey: boolean },
  ): Promise<SavedChannel & { before: ChannelRecord }>;
  delete(id: number): Promise<ChannelRecord>;
};

const sameKeys = (one: readonly string[], other: readonly string[]): boolean => one.join() === other.join();

export function createChannels(deps: {
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  secretBox: SecretBox;
  plugins: PluginLookup;
  syncFrequencyMs: number;
}): Channels {
  const { store, clock, random, logger, secretBox, plugins } = deps;
  let known: ChannelRecord[] = [];
  let byId = new Map<number, ChannelRecord>();
  let every: readonly VendorAccount[] = [];
  /** Accounts by channel, including removed credentials. */
  let held = new Map<number, VendorAccount[]>();
  let candidates: { channel: ChannelRecord; accounts: VendorAccount[] }[] = [];
  let inUse = new Map<number, VendorAccount[]>();
  /** Decrypted once for each record of the replica: every poll needs the key. */
  const openedKeys = new WeakMap<CredentialRecord, string>();
  const openedNetworks = new WeakMap<ChannelRecord, ChannelNetwork>();
  /** Accounts of the replica are new ones after each change. */
  const secretsOfAccounts = new WeakMap<VendorAccount, readonly string[]>();

  const replica = createReplica({
    topic: 'channels',
    async read() {
      // In this order, so that no channel is without the credentials that came with it.
      const channels = await store.channels.all();
      return { channels, credentials: await store.credentials.all() };
    },
    apply({ channels, credentials }) {
      known = channels;
      byId = new Map(channels.map((channel) => [channel.id, channel]));
      every = credentials.flatMap((credential) => {
        const channel = byId.get(credential.channelId);
        return channel ? [{ channel, credential }] : [];
      });
      held = Map.groupBy(every, ({ channel }) => channel.id);
      candidates = channels.map((channel) => ({
        channel,
        accounts: (held.get(channel.id) ?? []).filter(({ credential }) => credential.removedAt === 0),
      }));
      inUse = new Map(candidates.map(({ channel, accounts }) => [channel.id, accounts]));
    },
    subscribe: store.subscribe,
    intervalMs: deps.syncFrequencyMs,
    logger,
  });

  async function reloadAndPublish(): Promise<void> {
    await replica.load();
    await store.publish('channels');
  }

  async function get(id: number): Promise<ChannelRecord> {
    const channel = await store.channels.byId(id);
    if (!channel) throw channelErrors.not_found();
    return channel;
  }

  /**
   * Type, plugin and address after a change. What stays is not checked again: the plugin may have
   * been removed since.
   */
  function bindingAfter(before: ChannelRecord, change: ChannelChange) {
    const after = { ...before, ...change };
    const { type, taskPluginKey, baseUrl, settings } = after;
    const isBoundAsBefore = sameKeys(boundPluginKeys(after), boundPluginKeys(before));
    if (type === before.type && isBoundAsBefore && baseUrl === before.baseUrl) {
      return { type, taskPluginKey, baseUrl, baseUrlSource: 'given' as const };
    }
    const plugin = change.taskPluginKey ?? (change.type === undefined ? before.taskPluginKey : null);
    return { type, ...checkBinding(plugins, { type, taskPluginKey: plugin, baseUrl, settings }) };
  }

  function openKey(credential: CredentialRecord): string | undefined {
    const opened = openedKeys.get(credential) ?? secretBox.open(credential.keySealed);
    if (opened !== undefined) openedKeys.set(credential, opened);
    return opened;
  }

  const isReadable = ({ channel, credential }: VendorAccount): boolean =>
    openKey(credential) !== undefined && openNetwork(secretBox, channel) !== undefined;

  const accounts = ({ id }: Pick<ChannelRecord, 'id'>): readonly VendorAccount[] => inUse.get(id) ?? [];

  function network(channel: ChannelRecord): ChannelNetwork {
    const opened = openedNetworks.get(channel) ?? openNetwork(secretBox, channel);
    if (opened === undefined) throw channelErrors.key_unreadable();
    openedNetworks.set(channel, opened);
    return opened;
  }

  function key({ channel, credential }: VendorAccount): string {
    const opened = openKey(credential);
    // Without its proxy or headers the key must not leave either.
    if (opened === undefined || !network(channel)) throw channelErrors.key_unreadable();
    return opened;
  }

  async function findBegun({ channelId, credentialId }: Begun): Promise<VendorAccount | undefined> {
    const isIt = ({ id }: CredentialRecord) => credentialId === null || id === credentialId;
    const known = held.get(channelId)?.find(({ credential }) => isIt(credential));
    if (known) return known;
    // What another node added a moment ago is not in the replica yet.
    const channel = await store.channels.byId(channelId);
    const credential = (await store.credentials.ofChannel(channelId)).find(isIt);
    return channel && credential && { channel, credential };
  }

  return {
    credentials: createCredentialService({
      ...{ store, clock, secretBox, plugins },
      getChannel: get,
      reloadAndPublish,
    }),
    isReadable,
    network,
    key,
    accounts,
    onlyAccount(channel) {
      const [only, ...others] = accounts(channel);
      if (others.length > 0) throw channelErrors.several_credentials();
      if (!only) throw channelErrors.credential_not_found();
      return only;
    },
    everyAccount: () => every,
    findBegun,
    secrets(account) {
      const known = secretsOfAccounts.get(account);
      if (known) return known;
      const { channel, credential } = account;
      const others = (held.get(channel.id) ?? []).map((other) => other.credential);
      const keys = [credential, ...others].flatMap((one) => openKey(one) ?? []);
      const secrets = [...new Set([...keys, ...network(channel).secrets])];
      secretsOfAccounts.set(account, secrets);
      return secrets;
    },
    shownNetwork(channel) {
      const opened = openNetwork(secretBox, channel);
      return opened && showNetwork(opened);
    },
    find: (id) => byId.get(id),
    known: () => known,
    pick: (...requests) => pickAccount(candidates, requests, { random, now: clock.unix() }),
    get,
    async list(page, filter = {}) {
      if (!isFilter(filter)) return store.channels.list(page);
      const found = filterChannels(await store.channels.all(), filter);
      const from = (page.page - 1) * page.pageSize;
      return { total: found.length, hasMore: false, items: found.slice(from, from + page.pageSize) };
    },

    async start() {
      await replica.start();
      const unreadable = known.filter((channel) => !accounts(channel).every(isReadable));
      if (unreadable.length > 0) {
        logger.warn(
          { channels: unreadable.map(({ id, name }) => `${id} (${name})`) },
          'no CRYPTO_SECRET opens the keys of these channels: enter the keys again, or put the former secret into CRYPTO_SECRET_PREVIOUS',
        );
      }
    },
    stop: replica.stop,

    async create(input) {
      const format = boundPlugin(plugins, input)?.keyFormat;
      const credentials = checkCredentials(input).map((one) => sealCredential(secretBox, one, format));
      const binding = checkBinding(plugins, {
        type: input.type,
        taskPluginKey: input.taskPluginKey ?? null,
        baseUrl: input.baseUrl ?? '',
        settings: checkSettings(input.settings ?? {}),
      });
      const now = clock.unix();
      const row: NewChannel = {
        name: checkName(input.name),
        type: input.type,
        baseUrl: binding.baseUrl,
        models: checkNames('models', input.models),
        groups: checkNames('groups', input.groups ?? ['default']),
        priority: input.priority ?? 0,
        weight: input.weight ?? 1,
        modelMapping: checkMapping(input.modelMapping ?? {}),
        taskPluginKey: binding.taskPluginKey,
        settings: checkSettings(input.settings ?? {}),
        status: input.status ?? STATUS.enabled,
        limits: checkLimits(input.limits ?? null),
        pool: checkPool(input.pool ?? ''),
        spill: input.spill ?? true,
        proxySealed: sealProxy(secretBox, input.proxy ?? ''),
        headersSealed: sealHeaders(secretBox, input.headers ?? {}),
        bodyDefaults: checkBodyDefaults(input.bodyDefaults ?? null),
        createdAt: now,
        updatedAt: now,
      };
      const channel = await store.transaction(async (tx) => {
        const inserted = await tx.channels.insert(row);
        const owned = { channelId: inserted.id, createdAt: now, updatedAt: now };
        await tx.credentials.insert(credentials.map((credential) => ({ ...credential, ...owned })));
        return inserted;
      });
      await reloadAndPublish();
      return { channel, baseUrlSource: binding.baseUrlSource };
    },

    async update(id, change, { mayMoveKey }) {
      const before = await get(id);
      const binding = bindingAfter(before, change);
      const moves =
        binding.type !== before.type ||
        !sameKeys(boundPluginKeys({ ...before, ...change, ...binding }), boundPluginKeys(before)) ||
        binding.baseUrl !== before.baseUrl;
      // A proxy reads what goes over it without TLS.
      const isShownToProxy = (change.proxy ?? '') !== '' && binding.baseUrl.startsWith('http:');
      // Otherwise anyone who may edit channels could send the key to a host of their own and read
      // it there.
      const isExposed = (moves || isShownToProxy) && !mayMoveKey;
      if (isExposed && change.key === undefined) throw channelErrors.key_required({ param: 'key' });
      const keepsHeaders = Object.values(change.headers ?? { stored: null }).includes(null);
      if (isExposed && before.headersSealed !== null && keepsHeaders)
        throw channelErrors.headers_required({ param: 'headers' });
      const format = boundPlugin(plugins, { ...before, ...binding })?.keyFormat;
      const sealed = change.key === undefined ? undefined : sealCredential(secretBox, { key: change.key }, format);
      const changed = {
        ...(change.name === undefined ? {} : { name: checkName(change.name, before.name) }),
        // Unchanged columns are not written: the channel may have moved, with another key, since it
        // was read.
        ...(moves ? { type: binding.type, baseUrl: binding.baseUrl, taskPluginKey: binding.taskPluginKey } : {}),
        ...(change.models === undefined ? {} : { models: checkNames('models', change.models, before.models) }),
        ...(change.groups === undefined ? {} : { groups: checkNames('groups', change.groups, before.groups) }),
        ...(change.priority === undefined ? {} : { priority: change.priority }),
        ...(change.weight === undefined ? {} : { weight: change.weight }),
        ...(change.modelMapping === undefined
          ? {}
          : { modelMapping: checkMapping(change.modelMapping, before.modelMapping) }),
        ...(change.settings === undefined ? {} : { settings: checkSettings(change.settings) }),
        ...(change.status === undefined ? {} : { status: change.status }),
        ...(change.limits === undefined ? {} : { limits: checkLimits(change.limits) }),
        ...(change.pool === undefined ? {} : { pool: checkPool(change.pool) }),
        ...(change.spill === undefined ? {} : { spill: change.spill }),
        ...(change.proxy === undefined ? {} : { proxySealed: sealProxy(secretBox, change.proxy) }),
        ...(change.headers === undefined
          ? {}
          : { headersSealed: sealHeaders(secretBox, change.headers, openNetwork(secretBox, before)?.headers) }),
        ...(change.bodyDefaults === undefined ? {} : { bodyDefaults: checkBodyDefaults(change.bodyDefaults) }),
        updatedAt: clock.unix(),
      };
      const channel = await store.transaction(async (tx) => {
        if (sealed) await replaceOnlyKey(tx, id, { ...sealed, updatedAt: changed.updatedAt });
        // Tasks that it began are asked for with it. Another request may remove one at this moment.
        if (isExposed && (await tx.credentials.ofChannel(id)).some(({ removedAt }) => removedAt > 0))
          throw channelErrors.removed_key_held({ param: moves ? 'base_url' : 'proxy' });
        return tx.channels.update(id, changed);
      });
      if (!channel) throw channelErrors.not_found();
      await reloadAndPublish();
      return { channel, before, baseUrlSource: binding.baseUrlSource };
    },

    async delete(id) {
      const before = await get(id);
      if (!(await store.channels.delete(id, clock.unix()))) throw channelErrors.not_found();
      await reloadAndPublish();
      return before;
    },
  };
}

type ChannelFilter = {
  /** A part of a name, an address, a model, a group or a plugin's key, in any case. */
  keyword?: string;
  status?: ChannelRecord['status'];
};

const isFilter = ({ keyword = '', status }: ChannelFilter): boolean => keyword !== '' || status !== undefined;

/** The channels that match all of the filter. */
function filterChannels(channels: readonly ChannelRecord[], filter: ChannelFilter): ChannelRecord[] {
  const part = (filter.keyword ?? '').toLowerCase();
  const listTexts = ({ name, baseUrl, models, groups, taskPluginKey }: ChannelRecord): string[] => [
    ...[name, baseUrl, taskPluginKey ?? ''],
    ...models,
    ...groups,
  ];
  return channels.filter(
    (channel) =>
      (filter.status === undefined || channel.status === filter.status) &&
      listTexts(channel).some((text) => text.toLowerCase().includes(part)),
  );
}
