import { Elysia, t } from 'elysia';
import type { Auth } from '../../auth/index.ts';
import { type Kit, ok, strictObject, whole } from '../kit.ts';
import { paged, pageQuery, readId, readPage } from '../paging.ts';

const fields = {
  unlimited_quota: t.Optional(t.Boolean({ description: 'The key draws on the account without a budget of its own.' })),
  quota: t.Optional(whole({ minimum: 0, description: 'The budget; 500,000 = 1 USD.' })),
  models: t.Optional(t.Array(t.String(), { description: 'Empty: every model.' })),
  allow_ips: t.Optional(t.Array(t.String(), { description: 'Addresses or CIDRs; empty: every address.' })),
  expires_at: t.Optional(whole({ minimum: 0, description: 'Unix seconds; 0: never.' })),
  group: t.Optional(t.Union([t.String(), t.Null()])),
};

/** The caller's own API keys. */
export function apiKeyRoutes(kit: Kit, { auth }: { auth: Auth }) {
  return new Elysia({ normalize: false, tags: ['API keys'] })
    .use(kit)
    .get(
      '/api/token',
      async ({ panel, query }) => {
        const page = readPage(query);
        return ok(paged(page, await auth.apiKeys.list(panel, page)));
      },
      { user: true, query: strictObject(pageQuery), detail: { summary: "One's own API keys" } },
    )
    .post('/api/token', async ({ panel, body }) => ok(await auth.apiKeys.create(panel, body)), {
      user: true,
      body: strictObject({ name: t.String(), ...fields }),
      detail: { summary: 'Make an API key; the answer alone shows it' },
    })
    .put(
      '/api/token/:id',
      async ({ panel, params, body }) => ok(await auth.apiKeys.update(panel, readId(params.id), body)),
      {
        user: true,
        body: strictObject({
          name: t.Optional(t.String()),
          ...fields,
          status: t.Optional(whole({ minimum: 1, maximum: 2 })),
        }),
        detail: { summary: 'Change the given fields of an API key' },
      },
    )
    .delete(
      '/api/token/:id',
      async ({ panel, params }) => {
        await auth.apiKeys.delete(panel, readId(params.id));
        return ok(null);
      },
      { user: true, detail: { summary: 'Delete an API key' } },
    );
}
