import { Elysia, t } from 'elysia';
import { TASK_STATUSES, type Tasks } from '../../../tasks/index.ts';
import { httpErrors } from '../../errors.ts';
import { isAdmin } from '../../pipeline/authorize-request.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { paged, pageQuery, readPage, readWhole } from '../paging.ts';
import type { RecordAudit } from '../record-audit.ts';
import { createTaskReader, describeTask } from './read-task.ts';

/** Tasks as the panel shows them: one's own, and everybody's for administrators. */
export function panelTaskRoutes(kit: Kit, { tasks, audit }: { tasks: Tasks; audit: RecordAudit }) {
  const { reach, readDetail } = createTaskReader(tasks);

  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] })
    .use(kit)
    .get(
      '/api/task',
      async ({ query, panel }) => {
        const page = readPage(query);
        const all = query.scope === 'all';
        // Which channel served a task is for administrators.
        if ((all || query.channel_id) && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
        const found = await tasks.list(
          {
            ...(all ? {} : { userId: panel.user.id }),
            ...(query.status ? { status: query.status } : {}),
            ...(query.platform ? { platform: query.platform } : {}),
            ...(query.channel_id ? { channelId: readWhole('channel_id', query.channel_id, 1, 1e15) } : {}),
            ...(query.q ? { query: query.q } : {}),
          },
          page,
        );
        const items = found.items.map((task) => describeTask(task, isAdmin(panel)));
        return ok(paged(page, { total: found.total, items }));
      },
      {
        user: true,
        query: strictObject({
          ...pageQuery,
          scope: t.Optional(t.Union([t.Literal('own'), t.Literal('all')], { description: 'all: administrators.' })),
          status: t.Optional(t.Union(TASK_STATUSES.map((status) => t.Literal(status)))),
          platform: t.Optional(t.String({ maxLength: 64 })),
          channel_id: t.Optional(t.String({ description: 'Administrators.' })),
          q: t.Optional(t.String({ maxLength: 200 })),
        }),
        detail: { summary: 'Tasks' },
      },
    )
    .get('/api/task/:task_id', async ({ panel, params }) => ok(await readDetail(panel, params.task_id)), {
      user: true,
      detail: {
        summary: 'A task with its bill, timeline, ledger lines and artifacts',
        description:
          'bill is as in /api/log; settled and difference are null while the task runs. request is what the plugin was asked for, null where it is not kept and for tasks of others; retryable says whether POST …/retry can repeat it.',
      },
    })
    .post(
      '/api/task/:task_id/cancel',
      async ({ panel, origin, params }) => {
        const { taskId } = await tasks.cancel(panel.user.id, params.task_id);
        await audit({ panel, origin }, { action: 'task.cancel', target: `task:${taskId}`, detail: {} });
        return ok(await readDetail(panel, taskId));
      },
      { user: true, detail: { summary: "Cancel one's own task that no vendor has" } },
    )
    .get(
      '/api/task/:task_id/artifacts',
      async ({ panel, params }) => ok(await tasks.artifacts((await tasks.detail(params.task_id, reach(panel))).task)),
      { user: true, detail: { summary: 'The artifacts of a task, with links that work without a key' } },
    );
}
