import type { Budget } from '../../kernel/index.ts';
import type { Page, Paged } from './paging.ts';
import type { EnabledStatus, OwnerLimits, Role, UserRecord } from './users.ts';

/**
 * A replaced webhook secret: sealed, with the time (Unix seconds) from which it no longer signs
 * beside the current one.
 */
export type FormerSecret = { sealed: string; until: number };

export type ApiKeyRecord = OwnerLimits & {
  id: number;
  userId: number;
  /** The wallet that pays for what it submits. */
  walletId: number;
  name: string;
  /**
   * Plain SHA-256 of the key in hex. The key has 285 random bits, so the digest needs no secret.
   */
  keyHash: string;
  /** `sk-` and the first characters, so that people can tell keys apart. */
  prefix: string;
  /** The digest of the key that the current one replaced; empty: there was none. */
  formerHash: string;
  formerPrefix: string;
  /** Unix seconds until which the replaced key works too; 0: there was none. */
  formerUntil: number;
  status: EnabledStatus;
  unlimitedQuota: boolean;
  /** What is left of the key's own budget; meaningless when the key is unlimited. */
  quota: number;
  usedQuota: number;
  /** What it may spend in each period; null: no such limit. */
  budget: Budget | null;
  /** Empty: every model. */
  models: string[];
  /** IP addresses or CIDR ranges that may use the key; empty: every address. */
  allowIps: string[];
  /** 0: never. */
  expiresAt: number;
  /** null: the user's group. */
  group: string | null;
  /** Default receiver of webhooks for its tasks; a submission may name another. null: none. */
  webhookUrl: string | null;
  /** The secret that signs them, sealed with CRYPTO_SECRET; null: none was created. */
  webhookSecretSealed: string | null;
  /** Replaced secrets that still sign, the latest first. */
  webhookFormers: FormerSecret[];
  /** Whether results of its tasks are kept, unless a submission says otherwise. */
  keepResults: boolean;
  /** Whether prompts and requests of its tasks are stored, unless a submission says no. */
  storeRequests: boolean;
  createdAt: number;
  lastUsedAt: number;
  /** Where the request of `lastUsedAt` came from; empty: nobody knows. */
  lastUsedIp: string;
};

/** The fields of a key that requests with it need. */
export type PresentedKey = Omit<
  ApiKeyRecord,
  'keyHash' | 'prefix' | 'formerHash' | 'formerPrefix' | 'formerUntil' | 'webhookFormers' | 'createdAt' | 'lastUsedIp'
>;

/** What requests with an API key need of its owner. */
export type KeyOwner = Pick<UserRecord, 'id' | 'role' | 'status' | 'group' | keyof OwnerLimits>;

/** What a new key may leave out. */
export type DefaultedFields =
  | 'formerHash'
  | 'formerPrefix'
  | 'formerUntil'
  | 'webhookUrl'
  | 'webhookSecretSealed'
  | 'webhookFormers'
  | 'keepResults'
  | 'storeRequests'
  | 'budget'
  | keyof OwnerLimits;

export type NewApiKey = Omit<ApiKeyRecord, 'id' | 'usedQuota' | 'lastUsedAt' | 'lastUsedIp' | DefaultedFields> &
  Partial<
    Pick<
      ApiKeyRecord,
      'webhookUrl' | 'webhookSecretSealed' | 'keepResults' | 'storeRequests' | 'budget' | keyof OwnerLimits
    >
  >;

/** What the owner of a key may change. */
export type ApiKeyChange = Partial<
  Pick<
    ApiKeyRecord,
    | 'name'
    | 'status'
    | 'unlimitedQuota'
    | 'quota'
    | 'models'
    | 'allowIps'
    | 'expiresAt'
    | 'group'
    | 'webhookUrl'
    | 'keepResults'
    | 'storeRequests'
    | 'budget'
    | keyof OwnerLimits
  >
>;

/** What a key is called, whose it is, and who used it last. */
export type ApiKeyName = Pick<ApiKeyRecord, 'id' | 'name' | 'userId' | 'lastUsedAt' | 'lastUsedIp'> & {
  username: string;
  /** The role of its owner. */
  role: Role;
};

/** `keyword`: a part of the key's name or of its owner's, an id, or how the key begins. */
export type ApiKeySearch = { userId?: number; id?: number; keyword?: string; firstOf: number };

/** The longest that a replaced API key may work on, in seconds. */
export const LONGEST_FORMER_SECONDS = 30 * 24 * 3600;

/** How long a replaced webhook secret signs beside the new one, in seconds. */
export const FORMER_SECRET_SECONDS = 24 * 3600;

export interface ApiKeyStore {
  insert(key: NewApiKey): Promise<ApiKeyRecord>;
  /** By the digest of the current key, or of the replaced one before its end. */
  byHash(keyHash: string, now: number): Promise<{ key: PresentedKey; user: KeyOwner } | undefined>;
  byId(id: number): Promise<ApiKeyRecord | undefined>;
  /**
   * The subset of `keyHashes` whose keys are enabled, unexpired and owned by an enabled user:
   * current keys, and replaced ones before their end. A used-up budget does not matter.
   */
  usable(keyHashes: readonly string[], now: number): Promise<string[]>;
  list(userId: number, page: Page): Promise<Paged<ApiKeyRecord>>;
  /** Names of keys, those of `firstOf` first, then the newest. */
  names(find: ApiKeySearch, limit: number): Promise<ApiKeyName[]>;
  update(id: number, userId: number, change: ApiKeyChange): Promise<ApiKeyRecord | undefined>;
  /**
   * Replaces the webhook secret `present` and the list of replaced ones that still sign.
   * `undefined` when the key has another secret by now, or does not exist.
   */
  rotateWebhookSecret(
    id: number,
    userId: number,
    rotation: { present: string | null; sealed: string; formers: FormerSecret[] },
  ): Promise<ApiKeyRecord | undefined>;
  /**
   * Replaces the key whose digest is `presentHash`; until `formerUntil` that one works too. The one
   * before it ends now. With `keepsFormer` it is the other way round. `undefined` when another
   * rotation won, there is nothing to keep, or the key does not exist.
   */
  rotate(
    id: number,
    userId: number,
    rotation: { presentHash: string; keyHash: string; prefix: string; formerUntil: number; keepsFormer?: boolean },
  ): Promise<ApiKeyRecord | undefined>;
  /**
   * Ends the replaced key now, with `prefix` only that one. `undefined` when another one was
   * replaced since, or the key does not exist.
   */
  endFormer(id: number, userId: number, prefix?: string): Promise<ApiKeyRecord | undefined>;
  /** Removes at most `limit` replaced keys that have ended; resolves to how many. */
  forgetFormers(now: number, limit: number): Promise<number>;
  /** Keys with a webhook secret whose id is above `id`, in order of id. */
  withWebhookSecret(id: number, limit: number): Promise<{ id: number; name: string; sealed: string }[]>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all keys of a user; returns their number. Their reservations still settle. */
  deleteAll(userId: number): Promise<number>;
  touch(id: number, use: { at: number; ip: string }): Promise<void>;
}
