import type { JsonObject, Sentence, StoredSentence } from '../../kernel/index.ts';
import type { Page, Paged } from './paging.ts';
import type { EnabledStatus } from './users.ts';

/**
 * The rows of the data model as the rooms see them. Times are whole Unix seconds unless a name ends
 * in `Ms`. Money is an integer quota (500,000 = 1 USD). JSON columns are parsed.
 */

export type ChannelRecord = {
  id: number;
  name: string;
  /**
   * 1: OpenAI-compatible relay, 60: another gateway of this kind, 61: task plugin, or a type that a
   * plugin declares.
   */
  type: number;
  baseUrl: string;
  models: string[];
  groups: string[];
  priority: number;
  weight: number;
  modelMapping: Record<string, string>;
  taskPluginKey: string | null;
  settings: JsonObject;
  status: EnabledStatus;
  usedQuota: number;
  createdAt: number;
  updatedAt: number;
  /** What its account may run; null: nothing is declared, so the gateway learns it. */
  limits: DeclaredLimits | null;
  /** The name that channels of one limit share; empty: the channel has its own. */
  pool: string;
  /** Whether channels of a lower priority serve while it has no room. */
  spill: boolean;
  /** The proxy of its requests, sealed; null: the gateway's. */
  proxySealed: string | null;
  /** Further headers of its requests, a sealed JSON object. */
  headersSealed: string | null;
  /** Fields that relayed JSON bodies get where they lack them. */
  bodyDefaults: JsonObject | null;
};

/** A channel of this type has an OpenAI-compatible vendor, to which the relay passes calls. */
export const RELAY_TYPE = 1;

/** A channel of this type is an account at another gateway of this kind. */
export const GATEWAY_TYPE = 60;

/** The longest base URL of a channel or manifest: the width of its column in new-api. */
export const MAX_BASE_URL = 191;

/**
 * The keys of the plugins that a channel is bound to, in order: one, or for another gateway any
 * number, which its setting `task_extend_plugin_keys` lists beside the first.
 */
export function boundPluginKeys({
  type,
  taskPluginKey,
  settings,
}: Pick<ChannelRecord, 'type' | 'taskPluginKey' | 'settings'>): string[] {
  const { task_extend_plugin_keys: more } = settings;
  const others = type === GATEWAY_TYPE && Array.isArray(more) ? more : [];
  const keys = [taskPluginKey, ...others].filter((key) => typeof key === 'string' && key !== '');
  return [...new Set(keys as string[])].sort();
}

/** Tasks at once and starts in a minute; `burst`: starts at once. */
export type DeclaredLimit = { maxRunning?: number; maxPerMinute?: number; burst?: number };

/** The limits of all models together, and of single upstream models. */
export type DeclaredLimits = DeclaredLimit & { models?: Record<string, DeclaredLimit> };

type Optional = 'limits' | 'pool' | 'spill' | 'proxySealed' | 'headersSealed' | 'bodyDefaults';

export type NewChannel = Omit<ChannelRecord, 'id' | 'usedQuota' | Optional> & Partial<Pick<ChannelRecord, Optional>>;

export interface ChannelStore {
  insert(channel: NewChannel): Promise<ChannelRecord>;
  byId(id: number): Promise<ChannelRecord | undefined>;
  /** All channels in order of id; there are tens, not thousands. */
  all(): Promise<ChannelRecord[]>;
  list(page: Page): Promise<Paged<ChannelRecord>>;
  update(
    id: number,
    change: Partial<Omit<ChannelRecord, 'id' | 'usedQuota' | 'createdAt'>>,
  ): Promise<ChannelRecord | undefined>;
  /**
   * Deletes its credentials, too. Those of a named pool stay as removed ones, without their keys:
   * their vendors may still run tasks, which take slots from the others of that pool.
   */
  delete(id: number, at: number): Promise<boolean>;
  addUsedQuota(id: number, delta: number): Promise<void>;
}

/** A key of a channel. */
export type CredentialRecord = {
  id: number;
  channelId: number;
  /** Sealed with CRYPTO_SECRET. */
  keySealed: string;
  /** The key's last four characters. */
  keyHint: string;
  label: string;
  /**
   * The name of the pool whose members share its limit; empty: it shares the limit of its channel.
   */
  pool: string;
  status: EnabledStatus;
  /** 0: it does not end. */
  expiresAt: number;
  /** Why a vendor refused it last; empty: none has. */
  lastError: string;
  /** What `lastError` says; null: vendors' own words. */
  lastErrorSentence: StoredSentence | null;
  lastErrorAt: number;
  usedQuota: number;
  /** What was left at the vendor, in millionths of a US dollar; null: it was never read. */
  balanceMicros: number | null;
  /** When the vendor was asked last; 0: never. */
  balanceAt: number;
  /** Why the last try failed; null: it did not. */
  balanceFault: (StoredSentence & { message: string }) | null;
  /** What its vendor says that it may run, read with the balance; null: it does not say. */
  reportedLimits: DeclaredLimits | null;
  reportedLimitsFault: (StoredSentence & { message: string }) | null;
  createdAt: number;
  updatedAt: number;
  /** 0: it is in use. A removed one serves only what was begun with it. */
  removedAt: number;
};

export type NewCredential = Pick<CredentialRecord, 'channelId' | 'keySealed' | 'keyHint' | 'createdAt' | 'updatedAt'> &
  Partial<Pick<CredentialRecord, 'label' | 'pool' | 'status' | 'expiresAt'>>;

export interface CredentialStore {
  /** All credentials, the removed ones too, in order of id. */
  all(): Promise<CredentialRecord[]>;
  byId(id: number): Promise<CredentialRecord | undefined>;
  /** The credentials of a channel, including removed ones, in order of id. */
  ofChannel(channelId: number): Promise<CredentialRecord[]>;
  insert(credentials: readonly NewCredential[]): Promise<CredentialRecord[]>;
  /** Changes one that is in use. This drops what the vendor said of a former key. */
  update(
    id: number,
    change: Partial<
      Pick<CredentialRecord, 'keySealed' | 'keyHint' | 'label' | 'pool' | 'status' | 'expiresAt' | 'updatedAt'>
    >,
  ): Promise<CredentialRecord | undefined>;
  /**
   * Removes one that is in use, for what is begun from now on. False: it is the last one of its
   * channel, or was removed before.
   */
  remove(id: number, at: number): Promise<boolean>;
  /** Takes the right to ask its vendor. False: another node has it, or has asked since `seen`. */
  claimBalance(id: number, claim: { seen: number; at: number }): Promise<boolean>;
  /**
   * What the vendor said, unless the key was replaced since `at`, the time of the claim. After a
   * failure what it said before stays.
   */
  recordBalance(id: number, at: number, read: { usd: number } | { failed: Sentence }): Promise<void>;
  recordReportedLimits(
    id: number,
    at: number,
    read: { limits: DeclaredLimits | null } | { failed: Sentence },
  ): Promise<void>;
  recordError(id: number, error: { said: Sentence; at: number }): Promise<void>;
  /** Deletes removed ones that no task and no relayed object needs any more. Returns how many. */
  deleteUnused(removedBefore: number): Promise<number>;
}

export type PriceRecord = { pluginKey: string; model: string; expression: string; updatedAt: number };

export interface PriceStore {
  all(): Promise<PriceRecord[]>;
  put(price: PriceRecord): Promise<void>;
  delete(pluginKey: string, model: string): Promise<boolean>;
}
