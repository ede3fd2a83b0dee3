import { type Clock, isOver, type SecretBox } from '../../kernel/index.ts';
import {
  type ApiKeyRecord,
  LONGEST_FORMER_SECONDS,
  type Page,
  type Paged,
  type PresentedKey,
  STATUS,
  type Store,
} from '../../store/ports/index.ts';
import {
  type BudgetView,
  describeBudgets,
  describeOwnerLimits,
  type OwnerLimitsView,
} from '../accounts/validate-budgets.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';

/** `expired` and `exhausted` are computed from the other fields and never stored. */
export const API_KEY_STATE = { ...STATUS, expired: 3, exhausted: 4 } as const;
export type ApiKeyState = (typeof API_KEY_STATE)[keyof typeof API_KEY_STATE];

/** An API key as its owner sees it. The key itself is shown once, when it is created. */
export type ApiKeyView = OwnerLimitsView & {
  id: number;
  name: string;
  prefix: string;
  /** The replaced key while it works, until `until` (Unix seconds); null: there is none. */
  former_key: { prefix: string; until: number } | null;
  status: ApiKeyState;
  unlimited_quota: boolean;
  quota: number;
  used_quota: number;
  /** What it may spend in each period; null: no such limit. */
  budget: BudgetView | null;
  models: string[];
  allow_ips: string[];
  /** Unix seconds; 0: never. */
  expires_at: number;
  group: string | null;
  webhook_url: string | null;
  keep_results: boolean;
  store: boolean;
  /**
   * Whether webhook notices can be signed. `unreadable`: CRYPTO_SECRET was changed; the owner must
   * make a new secret.
   */
  webhook_secret: 'none' | 'ready' | 'unreadable';
  /** Unix seconds until which the former secret signs too; 0: there was none. */
  webhook_former_until: number;
  created_at: number;
  /** Unix seconds, to the minute; 0: never. */
  last_used_at: number;
  /** Where that request came from; empty: nobody knows. */
  last_used_ip: string;
};

export function apiKeyState(key: PresentedKey, now: number): ApiKeyState {
  if (key.status === STATUS.disabled) return API_KEY_STATE.disabled;
  if (key.expiresAt !== 0 && key.expiresAt <= now) return API_KEY_STATE.expired;
  if (!key.unlimitedQuota && key.quota <= 0) return API_KEY_STATE.exhausted;
  return API_KEY_STATE.enabled;
}

/** Whether the replaced key still works. */
export const isFormerKeyValid = ({ formerUntil }: ApiKeyRecord, now: number): boolean =>
  !isOver(formerUntil, { now, longest: LONGEST_FORMER_SECONDS });

function webhookSecretState({ webhookSecretSealed: sealed }: ApiKeyRecord, secretBox: SecretBox) {
  if (sealed === null) return 'none';
  return secretBox.open(sealed) === undefined ? 'unreadable' : 'ready';
}

type Deps = { store: Store; clock: Clock; secretBox: SecretBox; settings: () => AuthSettings };

export async function describeApiKey(deps: Deps, key: ApiKeyRecord): Promise<ApiKeyView> {
  const [view] = await describeApiKeys(deps, [key]);
  return view as ApiKeyView;
}

async function describeApiKeys(deps: Deps, keys: readonly ApiKeyRecord[]): Promise<ApiKeyView[]> {
  const budgets = await describeBudgets(
    deps,
    keys.map(({ id, budget }) => ({ scope: 'key', keyId: id, budget })),
  );
  const now = deps.clock.unix();
  return keys.map((key, index) => ({ ...describeFields(key, now, deps.secretBox), budget: budgets[index] ?? null }));
}

function describeFields(key: ApiKeyRecord, now: number, secretBox: SecretBox): Omit<ApiKeyView, 'budget'> {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    former_key: isFormerKeyValid(key, now) ? { prefix: key.formerPrefix, until: key.formerUntil } : null,
    status: apiKeyState(key, now),
    unlimited_quota: key.unlimitedQuota,
    quota: key.quota,
    used_quota: key.usedQuota,
    ...describeOwnerLimits(key),
    models: key.models,
    allow_ips: key.allowIps,
    expires_at: key.expiresAt,
    group: key.group,
    webhook_url: key.webhookUrl,
    keep_results: key.keepResults,
    store: key.storeRequests,
    webhook_secret: webhookSecretState(key, secretBox),
    webhook_former_until: key.webhookFormers[0]?.until ?? 0,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    last_used_ip: key.lastUsedIp,
  };
}

/**
 * One of the caller's own keys.
 *
 * @throws `auth.api_key_not_found` for any other key.
 */
export async function readApiKey(deps: Deps, { user }: PanelPrincipal, id: number): Promise<ApiKeyView> {
  const key = await deps.store.apiKeys.byId(id);
  if (key?.userId !== user.id) throw authErrors.api_key_not_found();
  return describeApiKey(deps, key);
}

/** The keys of a user. */
export async function listApiKeys(deps: Deps, userId: number, page: Page): Promise<Paged<ApiKeyView>> {
  const found = await deps.store.apiKeys.list(userId, page);
  return { ...found, items: await describeApiKeys(deps, found.items) };
}
