import { Elysia } from 'elysia';
import type { ApiPrincipal } from '../../../auth/index.ts';
import type { Kit } from '../../pipeline/route-kit.ts';
import { describeUsage, type RecordsSource } from '../operation/records.ts';

/** The most rows in one response: the newest ones. */
const MAX_ROWS = 1000;

/**
 * What you can read with nothing but an API key: its budget and what it paid for. Paths and fields
 * are those of new-api. Some of its clients check `success`, others `code`, so both are sent.
 */
export function keyUsageRoutes(kit: Kit, { records }: { records: Pick<RecordsSource, 'listUsage'> }) {
  return new Elysia({ normalize: false, tags: ['API keys'] })
    .use(kit)
    .get('/api/usage/token', ({ api }) => envelope('ok', describeBudget(api.key)), {
      apiKey: true,
      critical: true,
      detail: { summary: 'Budget and allowed models of the API key in use' },
    })
    .get(
      '/api/log/token',
      async ({ api }) => {
        const { items } = await records.listUsage({ apiKeyId: api.key.id }, { page: 1, pageSize: MAX_ROWS });
        return envelope(
          '',
          items.map((row) => describeUsage(row, false)),
        );
      },
      {
        apiKey: true,
        critical: true,
        detail: { summary: `Usage of the API key in use: the newest ${MAX_ROWS} rows` },
      },
    );
}

const envelope = <T>(message: string, data: T) => ({ success: true, code: true, message, data });

/**
 * Quota is an integer; 500,000 are one US dollar. For an unlimited key the budget has no meaning.
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
