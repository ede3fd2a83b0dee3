import { Elysia, t } from 'elysia';
import type { Auth } from '../../auth/index.ts';
import { type Kit, ok, strictObject, whole } from '../kit.ts';
import { paged, pageQuery, readId, readPage } from '../paging.ts';
import type { RecordAudit } from '../record-audit.ts';

const fields = {
  unlimited_quota: t.Optional(t.Boolean({ description: 'The key draws on the account without a budget of its own.' })),
  quota: t.Optional(whole({ minimum: 0, description: 'The budget; 500,000 = 1 USD.' })),
  models: t.Optional(t.Array(t.String(), { description: 'Empty: every model.' })),
  allow_ips: t.Optional(t.Array(t.String(), { description: 'Addresses or CIDRs; empty: every address.' })),
  expires_at: t.Optional(whole({ minimum: 0, description: 'Unix seconds; 0: never.' })),
  group: t.Optional(t.Union([t.String(), t.Null()])),
};

/** The caller's own API keys. */
export function apiKeyRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
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
    .post(
      '/api/token',
      async ({ panel, origin, body }) => {
        const made = await auth.apiKeys.create(panel, body);
        // The prefix, never the key.
        const after = { ...body, prefix: made.prefix };
        await audit({ panel, origin }, { action: 'api_key.create', target: `api_key:${made.id}`, detail: { after } });
        return ok(made);
      },
      {
        user: true,
        body: strictObject({ name: t.String(), ...fields }),
        detail: { summary: 'Make an API key; the answer alone shows it' },
      },
    )
    .put(
      '/api/token/:id',
      async ({ panel, origin, params, body }) => {
        const id = readId(params.id);
        const changed = await auth.apiKeys.update(panel, id, body);
        await audit({ panel, origin }, { action: 'api_key.update', target: `api_key:${id}`, detail: { after: body } });
        return ok(changed);
      },
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
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        await auth.apiKeys.delete(panel, id);
        await audit({ panel, origin }, { action: 'api_key.delete', target: `api_key:${id}`, detail: {} });
        return ok(null);
      },
      { user: true, detail: { summary: 'Delete an API key' } },
    );
}
