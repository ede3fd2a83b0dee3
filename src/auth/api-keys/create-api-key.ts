import { type Clock, randomAlnum, sha256Hex } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';
import { type ApiKeyView, describeApiKey } from './describe-api-key.ts';
import { type ApiKeyFields, validateApiKeyFields } from './validate-api-key.ts';

/** `key` is the clear text: in this answer and never again. */
export type CreatedApiKey = ApiKeyView & { key: string };

/** `sk-` and 48 letters and digits, 285 random bits. */
const KEY_LENGTH = 48;
/** `sk-` and eight characters stay readable; 238 bits stay secret. */
const PREFIX_LENGTH = 11;

/** Makes an API key of the caller's own. Without a budget (`quota`) it must be said to be unlimited, or it can pay nothing. */
export function createCreateApiKey({ store, clock }: { store: Store; clock: Clock }) {
  return async (principal: PanelPrincipal, fields: Omit<ApiKeyFields, 'status'>): Promise<CreatedApiKey> => {
    const { name, ...rest } = validateApiKeyFields(fields, principal.user);
    if (name === undefined) throw invalidField('name', 'a name is required.');
    const key = `sk-${randomAlnum(KEY_LENGTH)}`;
    const now = clock.unix();
    const stored = await store.apiKeys.insert({
      userId: principal.user.id,
      name,
      keyHash: sha256Hex(key),
      prefix: key.slice(0, PREFIX_LENGTH),
      status: 1,
      unlimitedQuota: rest.unlimitedQuota ?? false,
      quota: rest.quota ?? 0,
      models: rest.models ?? [],
      allowIps: rest.allowIps ?? [],
      expiresAt: rest.expiresAt ?? 0,
      group: rest.group ?? null,
      createdAt: now,
    });
    return { ...describeApiKey(stored, now), key };
  };
}
