import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { paged, pageQuery, readId, readPage } from '../paging.ts';

type LedgerRow = {
  id: number;
  apiKeyId: number | null;
  taskId: string | null;
  kind: 'reserve' | 'settle' | 'refund' | 'grant' | 'topup' | 'adjust' | 'storage' | 'carried';
  amount: number;
  note: string;
  createdAt: number;
};

/** Reads the changes of a user's balance. */
export type LedgerSource = {
  list(userId: number, page: { page: number; pageSize: number }): Promise<{ total: number; items: LedgerRow[] }>;
};

/** What an administrator may see of an account beside its fields: its keys and its balance. */
export function userRecordRoutes(kit: Kit, { auth, ledger }: { auth: Auth; ledger: LedgerSource }) {
  return new Elysia({ normalize: false, tags: ['Users'] })
    .use(kit)
    .get(
      '/api/user/:id/keys',
      async ({ panel, params, query }) => {
        const page = readPage(query);
        const keys = await auth.apiKeys.listOf(panel, { userId: readId(params.id), page });
        return ok(paged(page, keys));
      },
      {
        admin: true,
        query: strictObject(pageQuery),
        detail: { summary: 'The API keys of an account, without the keys themselves' },
      },
    )
    .get(
      '/api/user/:id/ledger',
      async ({ panel, params, query }) => {
        const page = readPage(query);
        const { id } = await auth.administration.find(panel, readId(params.id));
        const { total, items } = await ledger.list(id, page);
        return ok(paged(page, { total, items: items.map(describeEntry) }));
      },
      {
        admin: true,
        query: strictObject(pageQuery),
        detail: {
          summary: 'The changes of the balance of an account',
          description:
            'The newest first. amount: reservations and charges are negative, refunds and grants positive; the balance is their sum.',
        },
      },
    );
}

const describeEntry = ({ id, apiKeyId, taskId, kind, amount, note, createdAt }: LedgerRow) => ({
  id,
  api_key_id: apiKeyId,
  task_id: taskId,
  kind,
  amount,
  note,
  created_at: createdAt,
});
