import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/** Filters of the caller's list of tasks, which follow the account to every browser. */
export function taskViewRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  const { taskViews } = auth.account;
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/self/views', async ({ panel }) => ok(await taskViews.list(panel)), {
      user: true,
      detail: { summary: 'List your saved views, newest first' },
    })
    .put(
      '/api/user/self/views',
      async ({ panel, origin, body }) => {
        const view = await taskViews.save(panel, body);
        const { name, query } = view;
        const target = `user:${panel.user.id}`;
        await audit({ panel, origin }, { action: 'user.view.save', target, detail: { after: { name, query } } });
        return ok(view);
      },
      {
        user: true,
        body: strictObject({
          name: t.String({ maxLength: 200, description: '1 to 60 characters; it replaces the view of that name.' }),
          query: t.String({ maxLength: 2000, description: "The query of the list's address, without ?." }),
        }),
        detail: { summary: 'Save a view of the task list (at most 50 per account)' },
      },
    )
    .delete(
      '/api/user/self/views/:id',
      async ({ panel, origin, params }) => {
        const { name, query } = await taskViews.delete(panel, readId(params.id));
        const target = `user:${panel.user.id}`;
        await audit({ panel, origin }, { action: 'user.view.delete', target, detail: { before: { name, query } } });
        return ok(null);
      },
      { user: true, detail: { summary: 'Delete a saved view' } },
    );
}
