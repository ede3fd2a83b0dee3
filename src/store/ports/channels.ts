import type { JsonObject } from '../../kernel/index.ts';
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
  /** The vendor credential, sealed with CRYPTO_SECRET. */
  keySealed: string;
  /** The credential's last four characters. */
  keyHint: string;
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
  /** The proxy of its requests, sealed; null: the gateway's. */
  proxySealed: string | null;
  /** Further headers of its requests, a sealed JSON object. */
  headersSealed: string | null;
  /** Fields that relayed JSON bodies get where they lack them. */
  bodyDefaults: JsonObject | null;
};

/** A channel of this type is an account at another gateway of this kind. */
export const GATEWAY_TYPE = 60;

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

/** Those of all models together, and of single upstream models. */
export type DeclaredLimits = DeclaredLimit & { models?: Record<string, DeclaredLimit> };

type Optional = 'limits' | 'pool' | 'proxySealed' | 'headersSealed' | 'bodyDefaults';

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
  delete(id: number): Promise<boolean>;
  addUsedQuota(id: number, delta: number): Promise<void>;
}

export type PriceRecord = { pluginKey: string; model: string; expression: string; updatedAt: number };

export interface PriceStore {
  all(): Promise<PriceRecord[]>;
  put(price: PriceRecord): Promise<void>;
  delete(pluginKey: string, model: string): Promise<boolean>;
}
