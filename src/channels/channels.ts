import { type Clock, createReplica, type Logger, type Random, type SecretBox } from '../kernel/index.ts';
import {
  boundPluginKeys,
  type ChannelRecord,
  type Page,
  type Paged,
  STATUS,
  type Store,
} from '../store/ports/index.ts';
import { checkLimits, checkPool } from './capacity/declared-limits.ts';
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
  checkEnteredKey,
  checkMapping,
  checkName,
  checkNames,
  checkSettings,
  type PluginFacts,
} from './check-channel.ts';
import { channelErrors } from './errors.ts';
import { type PickRequest, pickChannel } from './pick-channel.ts';

export type ChannelChange = Partial<ChannelInput>;
export type SavedChannel = { channel: ChannelRecord; baseUrlSource: 'given' | 'plugin_default' };

export type Channels = {
  start(): Promise<void>;
  stop(): void;
  /** From this node's replica; `undefined` for a deleted channel. */
  find(id: number): ChannelRecord | undefined;
  /** All channels in this node's replica. */
  known(): readonly ChannelRecord[];
  /** `others`: the same request to other plugins that share its model. */
  pick(request: PickRequest, ...others: PickRequest[]): ChannelRecord | undefined;
  /**
   * The vendor credential.
   * @throws `channels.key_unreadable` when no current or previous secret opens it
   */
  credential(channel: ChannelRecord): string;
  /** Whether a current or previous secret opens all that is sealed of it. */
  isReadable(channel: ChannelRecord): boolean;
  /** @throws `channels.key_unreadable` */
  network(channel: ChannelRecord): ChannelNetwork;
  /** What texts must not show: the credential, the proxy's password, the values of headers. */
  secrets(channel: ChannelRecord): readonly string[];
  /** Describes the proxy and the headers; undefined if they cannot be read. */
  shownNetwork(channel: ChannelRecord): ShownNetwork | undefined;
  get(id: number): Promise<ChannelRecord>;
  list(page: Page, filter?: ChannelFilter): Promise<Paged<ChannelRecord>>;
  create(input: ChannelInput): Promise<SavedChannel>;
  /**
   * `mayMoveKey`: the caller has proven that they may read the key. Then address, type and plugin
   * may change without entering the key again.
   * @throws `channels.key_required` otherwise
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
  plugins: PluginFacts;
  syncFrequencyMs: number;
}): Channels {
  const { store, clock, random, logger, secretBox, plugins } = deps;
  let known: ChannelRecord[] = [];
  let byId = new Map<number, ChannelRecord>();
  /** Decrypted once for each record of the replica: every poll needs the key. */
  const openedKeys = new WeakMap<ChannelRecord, string>();
  const openedNetworks = new WeakMap<ChannelRecord, ChannelNetwork>();

  const replica = createReplica({
    topic: 'channels',
    read: () => store.channels.all(),
    apply(rows) {
      known = rows;
      byId = new Map(rows.map((channel) => [channel.id, channel]));
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

  const isReadable = (channel: ChannelRecord): boolean =>
    secretBox.open(channel.keySealed) !== undefined && openNetwork(secretBox, channel) !== undefined;

  function network(channel: ChannelRecord): ChannelNetwork {
    const opened = openedNetworks.get(channel) ?? openNetwork(secretBox, channel);
    if (opened === undefined) throw channelErrors.key_unreadable();
    openedNetworks.set(channel, opened);
    return opened;
  }

  function credential(channel: ChannelRecord): string {
    const opened = openedKeys.get(channel) ?? secretBox.open(channel.keySealed);
    // Without its proxy or headers the key must not leave either.
    if (opened === undefined || !network(channel)) throw channelErrors.key_unreadable();
    openedKeys.set(channel, opened);
    return opened;
  }

  return {
    isReadable,
    network,
    credential,
    secrets: (channel) => [credential(channel), ...network(channel).secrets],
    shownNetwork(channel) {
      const opened = openNetwork(secretBox, channel);
      return opened && showNetwork(opened);
    },
    find: (id) => byId.get(id),
    known: () => known,
    pick: (...requests) => pickChannel(known, requests, random),
    get,
    async list(page, filter = {}) {
      if (!isFilter(filter)) return store.channels.list(page);
      const found = filterChannels(await store.channels.all(), filter);
      const from = (page.page - 1) * page.pageSize;
      return { total: found.length, items: found.slice(from, from + page.pageSize) };
    },

    async start() {
      await replica.start();
      const unreadable = known.filter((channel) => !isReadable(channel));
      if (unreadable.length > 0) {
        logger.warn(
          { channels: unreadable.map(({ id, name }) => `${id} (${name})`) },
          'no CRYPTO_SECRET opens the keys of these channels: enter the keys again, or put the former secret into CRYPTO_SECRET_PREVIOUS',
        );
      }
    },
    stop: replica.stop,

    async create(input) {
      const key = checkEnteredKey(input.key, boundPlugin(plugins, input)?.keyFormat);
      const binding = checkBinding(plugins, {
        type: input.type,
        taskPluginKey: input.taskPluginKey ?? null,
        baseUrl: input.baseUrl ?? '',
        settings: checkSettings(input.settings ?? {}),
      });
      const now = clock.unix();
      const channel = await store.channels.insert({
        name: checkName(input.name),
        type: input.type,
        keySealed: secretBox.seal(key),
        keyHint: shortenKey(key),
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
        proxySealed: sealProxy(secretBox, input.proxy ?? ''),
        headersSealed: sealHeaders(secretBox, input.headers ?? {}),
        bodyDefaults: checkBodyDefaults(input.bodyDefaults ?? null),
        createdAt: now,
        updatedAt: now,
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
      if ((moves || isShownToProxy) && change.key === undefined && !mayMoveKey)
        throw channelErrors.key_required({ param: 'key' });
      const key =
        change.key === undefined
          ? undefined
          : checkEnteredKey(change.key, boundPlugin(plugins, { ...before, ...binding })?.keyFormat);
      const channel = await store.channels.update(id, {
        ...(change.name === undefined ? {} : { name: checkName(change.name, before.name) }),
        ...(key === undefined ? {} : { keySealed: secretBox.seal(key), keyHint: shortenKey(key) }),
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
        ...(change.proxy === undefined ? {} : { proxySealed: sealProxy(secretBox, change.proxy) }),
        ...(change.headers === undefined
          ? {}
          : { headersSealed: sealHeaders(secretBox, change.headers, openNetwork(secretBox, before)?.headers) }),
        ...(change.bodyDefaults === undefined ? {} : { bodyDefaults: checkBodyDefaults(change.bodyDefaults) }),
        updatedAt: clock.unix(),
      });
      if (!channel) throw channelErrors.not_found();
      await reloadAndPublish();
      return { channel, before, baseUrlSource: binding.baseUrlSource };
    },

    async delete(id) {
      const before = await get(id);
      if (!(await store.channels.delete(id))) throw channelErrors.not_found();
      await reloadAndPublish();
      return before;
    },
  };
}

/** The last four characters, if the key is long enough to reveal them safely. */
export const shortenKey = (key: string): string => (key.length >= 12 ? key.slice(-4) : '');

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
