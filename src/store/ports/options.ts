/** Options, and the columns that hold sealed values. */

export interface OptionStore {
  all(): Promise<{ key: string; value: string }[]>;
  get(key: string): Promise<string | undefined>;
  put(key: string, value: string): Promise<void>;
  /**
   * Writes only if the key is absent. True when this call wrote it: among concurrent calls, one
   * wins.
   */
  putIfAbsent(key: string, value: string): Promise<boolean>;
  /** Writes only if the value is still `before`. True when this call wrote it. */
  replace(key: string, before: string, value: string): Promise<boolean>;
}

/** Columns whose values are sealed with CRYPTO_SECRET, whole or inside JSON. */
export const SEALED_COLUMNS = [
  'credentials.key_sealed',
  'channels.settings',
  'channels.proxy_sealed',
  'channels.headers_sealed',
  'oauth_providers.client_secret_sealed',
  'two_factor.secret_sealed',
  'api_keys.webhook_secret_sealed',
  'api_keys.webhook_formers',
  'balance_alerts.webhook_secret_sealed',
  'options.value',
] as const;

export type SealedColumn = (typeof SEALED_COLUMNS)[number];

/** A value as it stands in its column; `id` is the row's key as text. */
export type SealedValue = { id: string; text: string };

export interface SealedStore {
  /** Values that are or hold sealed ones, in the order of their keys, after the key `after`. */
  page(name: SealedColumn, after: string, limit: number): Promise<SealedValue[]>;
  /** Writes `text` if the value is still `before`. False when somebody has changed it. */
  replace(name: SealedColumn, value: SealedValue, before: string): Promise<boolean>;
}
