import { Elysia, t } from 'elysia';
import type { JsonObject } from '../../../kernel/index.ts';
import { TASK_STATUSES, type Tasks } from '../../../tasks/index.ts';
import { httpErrors } from '../../errors.ts';
import { isAdmin } from '../../pipeline/authorize-request.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { paged, pageQuery, readPage, readWhole } from '../paging.ts';
import type { RecordAudit } from '../record-audit.ts';
import { createTaskReader, describeTask } from './read-task.ts';

/** Tasks as the panel shows them: users see their own, administrators all. */
export function panelTaskRoutes(kit: Kit, { tasks, audit }: { tasks: Tasks; audit: RecordAudit }) {
  const { readableUser, readDetail } = createTaskReader(tasks);

  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] })
    .use(kit)
    .get(
      '/api/task',
      async ({ query, panel }) => {
        const page = readPage(query);
        const all = query.scope === 'all';
        // Only administrators may know which channel served a task.
        if ((all || query.channel_id) && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
        const found = await tasks.list(
          {
            ...(all ? {} : { userId: panel.user.id, hidden: false }),
            ...(query.status ? { status: query.status } : {}),
            ...(query.platform ? { platform: query.platform } : {}),
            ...(query.channel_id
              ? { channelId: readWhole('channel_id', query.channel_id, { min: 1, max: 1e15 }) }
              : {}),
            ...(query.q ? { query: query.q } : {}),
          },
          page,
        );
        const posters = await tasks.posters(found.items);
        const items = found.items.map((task) => {
          const poster = posters.get(task.taskId);
          return { ...describeTask(task, isAdmin(panel)), ...(poster && { poster }) };
        });
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
          'bill is as in /api/log; settled and difference are null while the task runs. request is the request to the plugin; it is null if it was not kept and for tasks of other users. retryable says whether POST …/retry can repeat it, and retry_block why it cannot: the code of the error that it would answer.',
      },
    })
    .post(
      '/api/task/:task_id/cancel',
      async ({ panel, origin, params }) => {
        const { taskId } = await tasks.cancel(panel.user.id, params.task_id);
        await audit({ panel, origin }, { action: 'task.cancel', target: `task:${taskId}`, detail: {} });
        return ok(await readDetail(panel, taskId));
      },
      { user: true, detail: { summary: 'Cancel your task that no vendor has accepted' } },
    )
    .get(
      '/api/task/:task_id/artifacts',
      async ({ panel, params, query }) => {
        const { task } = await tasks.detail(params.task_id, readableUser(panel));
        return ok(await tasks.artifacts(task, query.expires_in));
      },
      {
        user: true,
        query: strictObject({
          expires_in: t.Optional(t.String({ maxLength: 20, description: 'Seconds until the links end.' })),
        }),
        detail: { summary: 'The artifacts of a task, with links that need no key' },
      },
    )
    .post(
      '/api/task/:task_id/artifacts/:key/preview',
      async ({ panel, params, body }) => {
        const image = Buffer.from(body.image, 'base64');
        await tasks.acceptPreview({ userId: panel.user.id, taskId: params.task_id, artifactKey: params.key, image });
        return ok(null);
      },
      {
        user: true,
        bodyLimit: 'preview',
        body: strictObject({
          image: t.String({
            maxLength: 90_000,
            pattern: '^[A-Za-z0-9+/]+={0,2}$',
            description: 'Base64 of a still PNG, JPEG or WebP of at most 64 KiB and 512 pixels a side.',
          }),
        }),
        detail: {
          summary: 'Give an artifact of your task its preview',
          description:
            'Taken once: 409 PREVIEW_EXISTS where there is one. Without an audit row: browsers do it by themselves.',
        },
      },
    )
    .post(
      '/api/task/:task_id/links/revoke',
      async ({ panel, origin, params, query: { artifact } }) => {
        const { task } = await tasks.detail(params.task_id, readableUser(panel));
        await tasks.revokeLinks(task, artifact);
        const detail: JsonObject = artifact === undefined ? {} : { artifact };
        await audit({ panel, origin }, { action: 'task.links.revoke', target: `task:${task.taskId}`, detail });
        return ok(null);
      },
      {
        user: true,
        query: strictObject({
          artifact: t.Optional(t.String({ minLength: 1, maxLength: 128, description: 'Only the links of this one.' })),
        }),
        detail: { summary: 'End the links of a task made so far' },
      },
    );
}
