import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal } from '../../../auth/index.ts';
import type { AccountStatements, StatementRow } from '../../../billing/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { paged, pageQuery, readId, readInteger, readPage } from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

const kinds = ['task', 'topup', 'refund', 'correction', 'other', 'grant', 'adjust', 'storage', 'carried'] as const;
const time = t.Optional(integerText({ minimum: 0, description: 'Unix seconds.' }));
/** All are texts, because they come from a query. */
export const ledgerQuery = {
  kind: t.Optional(
    t.Union(
      kinds.map((kind) => t.Literal(kind)),
      { description: 'task, the reason of a change, or the kind of another line.' },
    ),
  ),
  since: time,
  until: time,
};

type LedgerQuery = {
  kind?: (typeof kinds)[number] | undefined;
  since?: string | undefined;
  until?: string | undefined;
};

/** @throws http.validation_failed */
export function readLedgerFilter({ kind, since, until }: LedgerQuery) {
  const read = (field: string, text: string | undefined): number | undefined =>
    text === undefined ? undefined : readInteger(field, text, { min: 0, max: 10 ** 12 });
  return { kind, since: read('since', since), until: read('until', until) };
}

const description =
  'The newest first, one row for each task. amount: what the balance changed by in total; reservations and charges are negative. balance_after: the balance after this row and all older ones. task: what was reserved and charged; charged is null while it runs. actor: the administrator who changed the balance, for administrators. sums: from since to until, of all kinds: opening with added, adjusted, tasks and storage makes closing; reserved: what of tasks has not ended; null without since.';

/** What administrators see of an account beside its fields, and people of their own. */
export function userRecordRoutes(
  kit: Kit,
  { auth, statements, audit }: { auth: Auth; statements: AccountStatements; audit: RecordAudit },
) {
  async function list(panel: PanelPrincipal, userId: number, query: LedgerQuery & Parameters<typeof readPage>[0]) {
    const page = readPage(query);
    const filter = readLedgerFilter(query);
    const { since, until = Number.POSITIVE_INFINITY } = filter;
    const [found, sums] = await Promise.all([
      statements.list(userId, filter, page),
      since === undefined ? null : statements.sum(userId, { from: since, until: until + 1 }),
    ]);
    const items = found.items.map((row) => describeLedgerRow(row, isAdmin(panel)));
    return ok({ ...paged(page, { ...found, items }), sums });
  }
  const query = strictObject({ ...pageQuery, ...ledgerQuery });

  return new Elysia({ normalize: false, tags: ['Users'] })
    .use(kit)
    .get(
      '/api/user/:id/keys',
      async ({ panel, params, query: asked }) => {
        const page = readPage(asked);
        const keys = await auth.apiKeys.listFor(panel, { userId: readId(params.id), page });
        return ok(paged(page, keys));
      },
      {
        admin: true,
        query: strictObject(pageQuery),
        detail: { summary: "List an account's API keys, without the keys themselves" },
      },
    )
    .put(
      '/api/user/:id/keys/:key_id/status',
      async ({ panel, origin, params, body: { status } }) => {
        const key = { userId: readId(params.id), keyId: readId(params.key_id) };
        const { name, prefix, former } = await auth.administration.keys.changeStatus(panel, { ...key, status });
        const detail = { user_id: key.userId, prefix, before: { status: former }, after: { status } };
        await audit({ panel, origin }, { action: 'api_key.update', target: `api_key:${key.keyId}`, detail });
        return ok({ id: key.keyId, name, prefix, status });
      },
      {
        admin: true,
        body: strictObject({
          status: t.Union([t.Literal(1), t.Literal(2)], { description: '1: enabled, 2: disabled.' }),
        }),
        detail: { summary: "Disable or enable an account's API key; the account stays signed in" },
      },
    )
    .delete(
      '/api/user/:id/keys/:key_id',
      async ({ panel, origin, params }) => {
        const key = { userId: readId(params.id), keyId: readId(params.key_id) };
        const { name, prefix } = await auth.administration.keys.delete(panel, key);
        const detail = { user_id: key.userId, prefix };
        await audit({ panel, origin }, { action: 'api_key.delete', target: `api_key:${key.keyId}`, detail });
        return ok({ id: key.keyId, name, prefix });
      },
      { admin: true, detail: { summary: "Delete an account's API key; its running tasks finish and are billed" } },
    )
    .get('/api/user/self/ledger', ({ panel, query: asked }) => list(panel, panel.user.id, asked), {
      user: true,
      query,
      detail: { summary: 'Get your balance statement', description },
    })
    .get(
      '/api/user/:id/ledger',
      async ({ panel, params, query: asked }) =>
        list(panel, (await auth.administration.find(panel, readId(params.id))).id, asked),
      { admin: true, query, detail: { summary: "Get an account's balance statement", description } },
    );
}

export const describeLedgerRow = (row: StatementRow, forAdmin: boolean) => ({
  id: row.id,
  created_at: row.createdAt,
  kind: row.kind,
  amount: row.amount,
  balance_after: row.balanceAfter,
  note: row.note,
  note_sentence: row.noteSentence,
  api_key_id: row.apiKeyId,
  task_id: row.taskId,
  task:
    row.task === null
      ? null
      : {
          model: row.task.model,
          /** How the prompt begins; empty without one. */
          prompt: row.task.prompt,
          reserved: row.task.reserved,
          charged: row.task.charged,
          refund_reason: row.task.refundReason,
          refund_reason_sentence: row.task.refundSentence,
        },
  actor: forAdmin ? row.actor : null,
});

/** The sessions of any user, for root. */
export function userSessionRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  const { ofUsers } = auth.sessions;
  return new Elysia({ normalize: false, tags: ['Users'] })
    .use(kit)
    .get('/api/user/:id/sessions', async ({ panel, params }) => ok(await ofUsers.list(panel, readId(params.id))), {
      root: true,
      detail: { summary: "List a user's active sessions" },
    })
    .delete(
      '/api/user/:id/sessions',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        const ended = await ofUsers.revokeAll(panel, id);
        await audit({ panel, origin }, { action: 'user.sessions.revoke', target: `user:${id}`, detail: ended });
        return ok(ended);
      },
      { root: true, detail: { summary: 'Sign a user out everywhere' } },
    )
    .delete(
      '/api/user/:id/sessions/:sid',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        const ended = await ofUsers.revoke(panel, id, params.sid);
        const detail = { sid: ended.revoked_sid };
        await audit({ panel, origin }, { action: 'user.session.revoke', target: `user:${id}`, detail });
        return ok(ended);
      },
      { root: true, detail: { summary: "Sign out one of a user's devices" } },
    );
}
