import { Elysia } from 'elysia';
import type { ApiPrincipal } from '../../../auth/index.ts';
import type { Kit } from '../../pipeline/route-kit.ts';
import { describeUsage, type RecordsSource } from '../operation/records.ts';

/** The newest rows of a key that one answer holds. */
const MAX_ROWS = 1000;

/**
 * What the holder of an API key may learn of it, with the key alone: its budget and what it has
 * paid for. Paths and fields are those of the public reference implementation (new-api), of which
 * one client looks at `success` and another at `code`.
 */
export function keyUsageRoutes(kit: Kit, { records }: { records: Pick<RecordsSource, 'listUsage'> }) {
  return new Elysia({ normalize: false, tags: ['API keys'] })
    .use(kit)
    .get('/api/usage/token', ({ api }) => answer('ok', describeBudget(api.key)), {
      apiKey: true,
      critical: true,
      detail: { summary: 'Budget and allowed models of the API key itself' },
    })
    .get(
      '/api/log/token',
      async ({ api }) => {
        const { items } = await records.listUsage({ apiKeyId: api.key.id }, { page: 1, pageSize: MAX_ROWS });
        return answer(
          '',
          items.map((row) => describeUsage(row, false)),
        );
      },
      {
        apiKey: true,
        critical: true,
        detail: { summary: `Usage of the API key itself: the newest ${MAX_ROWS} rows` },
      },
    );
}

const answer = <T>(message: string, data: T) => ({ success: true, code: true, message, data });

/**
 * Quota is an integer, 500,000 of it one US dollar. The budget of an unlimited key says nothing.
 */
const describeBudget = (key: ApiPrincipal['key']) => ({
  object: 'token_usage',
  name: key.name,
  total_granted: key.quota + key.usedQuota,
  total_used: key.usedQuota,
  total_available: key.quota,
  unlimited_quota: key.unlimitedQuota,
  model_limits: Object.fromEntries(key.models.map((model) => [model, true])),
  model_limits_enabled: key.models.length > 0,
  /** Unix seconds; 0: never. */
  expires_at: key.expiresAt,
});
