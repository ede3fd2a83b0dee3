import { Elysia, t } from 'elysia';
import { type Auth, type PanelPrincipal, type RequestOrigin, ROLE } from '../../../auth/index.ts';
import type { JsonObject } from '../../../kernel/index.ts';
import { fieldError } from '../../bodies/field-error.ts';
import { type Kit, ok, strictObject, whole } from '../../pipeline/route-kit.ts';
import { paged, pageQuery, readId, readPage } from '../paging.ts';
import type { RecordAudit } from '../record-audit.ts';
import { listQuery, readUserFilter } from './user-filter.ts';

const username = t.String({ maxLength: 200, description: '1 to 32 of letters, digits and . _ -' });
const password = t.String({ minLength: 1, maxLength: 1000, description: '8 to 128 characters.' });
const email = t.String({ maxLength: 500 });
const line = t.String({ maxLength: 500 });
const remark = t.String({ maxLength: 2000, description: 'At most 255 characters; administrators alone see it.' });
const id = whole({ minimum: 1 });

/**
 * What administrators do with accounts. Who may do what to whom is the auth room's to say, at the
 * moment of the change.
 */
export function userRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  const { administration } = auth;
  type Who = { panel: PanelPrincipal; origin: RequestOrigin };
  const record = ({ panel, origin }: Who, action: string, userId: number, detail: JsonObject) =>
    audit({ panel, origin }, { action: `user.${action}`, target: `user:${userId}`, detail });

  async function remove(who: Who, userId: number) {
    const { user, username: name } = await administration.delete(who.panel, userId);
    await record(who, 'delete', userId, { before: { username: name } });
    return ok(user);
  }

  const list = async ({ query }: { query: Parameters<typeof readUserFilter>[0] }) => {
    const page = readPage(query);
    return ok(paged(page, await administration.list(readUserFilter(query), page)));
  };

  return new Elysia({ normalize: false, tags: ['Users'] })
    .use(kit)
    .get('/api/user', list, {
      admin: true,
      query: strictObject({ ...pageQuery, ...listQuery }),
      detail: { summary: 'All accounts, deleted ones too' },
    })
    .get('/api/user/search', list, {
      admin: true,
      query: strictObject({ ...pageQuery, ...listQuery }),
      detail: { summary: 'The same list' },
    })
    .get('/api/user/:id', async ({ panel, params }) => ok(await administration.find(panel, readId(params.id))), {
      admin: true,
      detail: { summary: 'An account with what it signs in with' },
    })
    .post(
      '/api/user',
      async ({ panel, origin, body }) => {
        const user = await administration.create(panel, body);
        const { password: _, ...after } = body;
        await record({ panel, origin }, 'create', user.id, { after });
        return ok(user);
      },
      {
        admin: true,
        body: strictObject({
          username,
          password,
          display_name: t.Optional(line),
          role: t.Optional(
            t.Union([t.Literal(ROLE.user), t.Literal(ROLE.admin), t.Literal(ROLE.root)], {
              description: '1 user, 10 administrator (by root)',
            }),
          ),
          group: t.Optional(line),
          email: t.Optional(email),
          quota: t.Optional(whole({ minimum: 0, description: '500,000 = 1 USD.' })),
          remark: t.Optional(remark),
        }),
        detail: { summary: 'Make an account' },
      },
    )
    .put(
      '/api/user',
      async ({ panel, origin, body: { id: userId, ...edit } }) => {
        const { user, before, after } = await administration.edit(panel, userId, edit);
        if (Object.keys(after).length > 0) await record({ panel, origin }, 'update', userId, { before, after });
        return ok(user);
      },
      {
        admin: true,
        body: strictObject({
          id,
          username: t.Optional(username),
          display_name: t.Optional(line),
          password: t.Optional(password),
          group: t.Optional(line),
          email: t.Optional(t.Union([email, t.Null()])),
          remark: t.Optional(remark),
        }),
        detail: { summary: 'Change the given fields of an account; a new password ends its sessions' },
      },
    )
    .post(
      '/api/user/manage',
      async ({ panel, origin, body }) => {
        const who = { panel, origin };
        if (body.action === 'delete') return remove(who, body.id);
        if (body.action === 'add_quota') {
          const change = readQuotaChange(body);
          const { user, before, after, repeated } = await administration.changeQuota(panel, body.id, change);
          const moved = { mode: change.mode, value: change.value, before: { quota: before }, after: { quota: after } };
          if (!repeated) await record(who, 'quota', body.id, moved);
          return ok({ ...user, repeated });
        }
        const { user, changed } = await administration.changeStatusOrRole(panel, body.id, body.action);
        const { role, status } = user;
        if (changed) await record(who, body.action, body.id, { after: { role, status } });
        return ok(user);
      },
      {
        admin: true,
        body: strictObject({
          id,
          action: t.Union([
            t.Literal('enable'),
            t.Literal('disable'),
            t.Literal('delete'),
            t.Literal('promote'),
            t.Literal('demote'),
            t.Literal('add_quota'),
          ]),
          mode: t.Optional(t.Union([t.Literal('add'), t.Literal('subtract'), t.Literal('override')])),
          value: t.Optional(whole({ minimum: 0, description: 'Quota for add_quota; 500,000 = 1 USD.' })),
          idempotency_key: t.Optional(
            t.String({
              minLength: 1,
              maxLength: 100,
              description: 'For add_quota: a request with the same key changes nothing again.',
            }),
          ),
        }),
        detail: { summary: 'Enable, disable, promote, demote or delete an account, or change its quota' },
      },
    )
    .delete('/api/user/:id', async ({ panel, origin, params }) => remove({ panel, origin }, readId(params.id)), {
      admin: true,
      detail: { summary: 'Delete an account; its running tasks settle' },
    })
    .delete(
      '/api/user/:id/bindings/:provider',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        const { provider } = params;
        const { subject } = await administration.reset.binding(panel, userId, provider);
        await record({ panel, origin }, 'unbind', userId, { before: { provider, subject } });
        return ok(null);
      },
      { admin: true, detail: { summary: "Free an account's identity of one provider, or its mail address (email)" } },
    )
    .delete(
      '/api/user/:id/2fa',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        await administration.reset.twoFactor(panel, userId);
        await record({ panel, origin }, 'two_factor.reset', userId, {});
        return ok(null);
      },
      { admin: true, detail: { summary: 'Take away two-factor and backup codes; every session ends' } },
    )
    .delete(
      '/api/user/:id/reset_passkey',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        const reset = await administration.reset.passkeys(panel, userId);
        await record({ panel, origin }, 'passkey.reset', userId, reset);
        return ok(reset);
      },
      { admin: true, detail: { summary: 'Take away all passkeys; every session ends' } },
    )
    .delete(
      '/api/user/:id/token',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        await administration.reset.personalToken(panel, userId);
        await record({ panel, origin }, 'token.revoke', userId, {});
        return ok(null);
      },
      { admin: true, detail: { summary: 'Take away the personal access token' } },
    );
}

type QuotaBody = {
  mode?: 'add' | 'subtract' | 'override' | undefined;
  value?: number | undefined;
  idempotency_key?: string | undefined;
};

/** @throws http.validation_failed */
function readQuotaChange({ mode = 'add', value, idempotency_key: idempotencyKey }: QuotaBody) {
  if (value === undefined) throw fieldError('value', 'required', 'The field "value" is missing: give a whole number.');
  return { mode, value, idempotencyKey };
}
