import { Elysia, t } from 'elysia';
import {
  type AccountView,
  type AuditAction,
  type Auth,
  type PanelPrincipal,
  type RequestOrigin,
  ROLE,
} from '../../../auth/index.ts';
import { type JsonObject, sentence } from '../../../kernel/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { paged, pageQuery, readId, readPage } from '../../pipeline/paging.ts';
import { integerSchema, type Kit, type Ok, ok, strictObject } from '../../pipeline/route-kit.ts';
import { type AnswerOnce, readIdempotencyKey } from '../idempotent-answers.ts';
import type { RecordAudit } from '../record-audit.ts';
import { budgetSchema, ownerLimitFields } from './budget-schema.ts';
import { listQuery, readUserFilter } from './user-filter.ts';

const username = t.String({ maxLength: 200, description: '1 to 32 letters, digits and . _ -' });
const password = t.String({ minLength: 1, maxLength: 1000, description: '8 to 128 characters.' });
const email = t.String({ maxLength: 500 });
const line = t.String({ maxLength: 500 });
const remark = t.String({ maxLength: 2000, description: 'At most 255 characters; only administrators see it.' });
const id = integerSchema({ minimum: 1 });

type ManagedAccount = AccountView & {
  /** For `add_quota`: an earlier request with this key already made the change. */
  repeated?: boolean;
};

type UserAction = AuditAction extends infer Action ? (Action extends `user.${infer Verb}` ? Verb : never) : never;

/**
 * Administrators manage accounts. The auth room decides who may do what to whom, at the moment of
 * the change.
 */
export function userRoutes(kit: Kit, { auth, audit, once }: { auth: Auth; audit: RecordAudit; once: AnswerOnce }) {
  const { administration } = auth;
  type Actor = { panel: PanelPrincipal; origin: RequestOrigin };
  type UserChange = { action: UserAction; userId: number; detail: JsonObject };
  const record = ({ panel, origin }: Actor, { action, userId, detail }: UserChange) =>
    audit({ panel, origin }, { action: `user.${action}`, target: `user:${userId}`, detail });

  async function remove(actor: Actor, userId: number) {
    const { user, username: name } = await administration.delete(actor.panel, userId);
    await record(actor, { action: 'delete', userId, detail: { before: { username: name } } });
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
      detail: { summary: 'List all accounts, including deleted ones' },
    })
    .get('/api/user/search', list, {
      admin: true,
      query: strictObject({ ...pageQuery, ...listQuery }),
      detail: { summary: 'List all accounts (same as above)' },
    })
    .get('/api/user/:id', async ({ panel, params }) => ok(await administration.find(panel, readId(params.id))), {
      admin: true,
      detail: { summary: 'Get an account with its sign-in methods' },
    })
    .post(
      '/api/user',
      ({ panel, origin, body, request, set }) =>
        once({ panel, request, body, set }, async () => {
          const user = await administration.create(panel, body);
          const { password: _, ...after } = body;
          await record({ panel, origin }, { action: 'create', userId: user.id, detail: { after } });
          return ok(user);
        }),
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
          quota: t.Optional(integerSchema({ minimum: 0, description: '500,000 = 1 USD.' })),
          remark: t.Optional(remark),
        }),
        detail: { summary: 'Create an account' },
      },
    )
    .put(
      '/api/user',
      async ({ panel, origin, body: { id: userId, ...edit } }) => {
        const { user, before, after } = await administration.edit(panel, userId, edit);
        if (Object.keys(after).length > 0)
          await record({ panel, origin }, { action: 'update', userId, detail: { before, after } });
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
          budget: budgetSchema('What the account may spend in each period; null: no such limit.'),
          ...ownerLimitFields,
        }),
        detail: { summary: 'Update an account; a new password ends its sessions' },
      },
    )
    .post(
      '/api/user/manage',
      async ({ panel, origin, body, request }): Promise<Ok<ManagedAccount>> => {
        const actor = { panel, origin };
        const userId = body.id;
        if (body.action === 'delete') return remove(actor, userId);
        if (body.action === 'add_quota') {
          const change = readQuotaChange(body, readIdempotencyKey(request));
          const { user, before, after, repeated } = await administration.changeQuota(panel, userId, change);
          const { mode, value, reason, note, taskId } = change;
          const detail = {
            ...{ mode, value, before: { quota: before }, after: { quota: after } },
            ...(reason === undefined ? {} : { reason }),
            ...(note === undefined ? {} : { note }),
            ...(taskId === undefined ? {} : { task_id: taskId }),
          };
          if (!repeated) await record(actor, { action: 'quota', userId, detail });
          return ok({ ...user, repeated });
        }
        const { user, changed, ...states } = await administration.changeStatusOrRole(panel, userId, body.action);
        if (changed) await record(actor, { action: body.action, userId, detail: states });
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
          value: t.Optional(integerSchema({ minimum: 0, description: 'Quota for add_quota; 500,000 = 1 USD.' })),
          reason: t.Optional(
            t.Union([t.Literal('topup'), t.Literal('refund'), t.Literal('correction'), t.Literal('other')], {
              description: 'For add_quota: why, as the customer reads it on their statement.',
            }),
          ),
          note: t.Optional(
            t.String({
              maxLength: 500,
              description: 'For add_quota: at most 255 characters; the customer reads them.',
            }),
          ),
          task_id: t.Optional(
            t.String({
              maxLength: 200,
              description: 'For add_quota: the task of the account that the change is about.',
            }),
          ),
          idempotency_key: t.Optional(
            t.String({
              minLength: 1,
              maxLength: 100,
              description: 'For add_quota: a repeated request with the same key changes nothing.',
            }),
          ),
        }),
        detail: { summary: 'Enable, disable, promote, demote or delete an account, or change its balance' },
      },
    )
    .delete('/api/user/:id', async ({ panel, origin, params }) => remove({ panel, origin }, readId(params.id)), {
      admin: true,
      detail: { summary: 'Delete an account; its running tasks finish and are billed' },
    })
    .delete(
      '/api/user/:id/bindings/:provider',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        const { provider } = params;
        const { subject } = await administration.reset.binding(panel, userId, provider);
        await record({ panel, origin }, { action: 'unbind', userId, detail: { before: { provider, subject } } });
        return ok(null);
      },
      { admin: true, detail: { summary: 'Disconnect a provider from an account, or remove its email address' } },
    )
    .delete(
      '/api/user/:id/2fa',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        await administration.reset.twoFactor(panel, userId);
        await record({ panel, origin }, { action: 'two_factor.reset', userId, detail: {} });
        return ok(null);
      },
      { admin: true, detail: { summary: "Turn off an account's two-factor authentication; its sessions end" } },
    )
    .delete(
      '/api/user/:id/reset_passkey',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        const reset = await administration.reset.passkeys(panel, userId);
        await record({ panel, origin }, { action: 'passkey.reset', userId, detail: reset });
        return ok(reset);
      },
      { admin: true, detail: { summary: "Delete an account's passkeys; its sessions end" } },
    )
    .delete(
      '/api/user/:id/token',
      async ({ panel, origin, params }) => {
        const userId = readId(params.id);
        await administration.reset.personalToken(panel, userId);
        await record({ panel, origin }, { action: 'token.revoke', userId, detail: {} });
        return ok(null);
      },
      { admin: true, detail: { summary: "Revoke an account's personal access token" } },
    );
}

type QuotaBody = {
  mode?: 'add' | 'subtract' | 'override' | undefined;
  value?: number | undefined;
  idempotency_key?: string | undefined;
  reason?: 'topup' | 'refund' | 'correction' | 'other' | undefined;
  note?: string | undefined;
  task_id?: string | undefined;
};

/** @throws http.validation_failed */
function readQuotaChange(
  { mode = 'add', value, reason, note, task_id: taskId, idempotency_key: key }: QuotaBody,
  header: string | undefined,
) {
  if (value === undefined)
    throw fieldError(
      'value',
      'required',
      sentence('http.field_missing', { name: 'value', wanted: sentence('wanted.whole') }),
    );
  return { mode, value, reason, note, taskId, idempotencyKey: key ?? header };
}
