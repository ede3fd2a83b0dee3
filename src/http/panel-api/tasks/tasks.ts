import { Elysia, t } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import { type Json, sentence } from '../../../kernel/index.ts';
import { LIST_LIMITS, type ListedTask, TASK_SORTS } from '../../../tasks/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { paged, pageQuery, readInteger, readPage } from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import {
  createTaskReader,
  type DescribedTask,
  describeAudited,
  describeListedTask,
  type TaskReaderDeps,
} from './read-task.ts';
import { readTaskFilter, taskFilterQuery } from './task-filter.ts';

const MAX_REASONS = 50;

/** Characters of a vendor's answer that are shown. */
const MAX_ANSWER = 100_000;

const thousands = (count: number): string => count.toLocaleString('en-US');

/** Tasks as the panel shows them: users see their own, administrators all. */
export function panelTaskRoutes(
  kit: Kit,
  { results, surfaces, tasks, channels, audit }: TaskReaderDeps & { audit: RecordAudit },
) {
  const { readableUser, readDetail, listAccounts } = createTaskReader({ tasks, results, surfaces, channels });

  async function describeEach(panel: PanelPrincipal, found: readonly ListedTask[]): Promise<DescribedTask[]> {
    const forAdmin = isAdmin(panel);
    const [posters, positions] = await Promise.all([results.posters(found), tasks.queue.find(found)]);
    const describe = (task: ListedTask) => {
      const described = describeListedTask(task, forAdmin);
      const poster = posters.get(task.taskId);
      return poster ? { ...described, poster } : described;
    };
    if (positions.size === 0) return found.map(describe);
    const withPositions = found.map(async (task) => {
      const queue = positions.get(task.taskId);
      const channels = queue && forAdmin ? await listAccounts(task) : [];
      return { ...describe(task), ...(queue && { queue: { ...queue, channels } }) };
    });
    return Promise.all(withPositions);
  }

  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] })
    .use(kit)
    .get(
      '/api/task',
      async ({ query, panel }) => {
        const page = readPage(query);
        const { sort = 'newest' } = query;
        const found = await tasks.lists.list(readTaskFilter(panel, query), { ...page, sort });
        return ok({
          ...paged(page, { ...found, items: await describeEach(panel, found.items) }),
          searched: found.searched,
        });
      },
      {
        user: true,
        query: strictObject({
          ...pageQuery,
          ...taskFilterQuery,
          sort: t.Optional(t.Union(TASK_SORTS.map((sort) => t.Literal(sort)))),
        }),
        detail: {
          summary: 'List tasks',
          description: `total counts to the next full thousand after the page, by cost and duration to ${thousands(LIST_LIMITS.counted)}, with q to ${thousands(LIST_LIMITS.found)}; has_more says that there are others. Pages reach the first ${thousands(LIST_LIMITS.counted)}. searched is null, or how many tasks were looked at, the first ones in the order: q looks at the prompts of the newest ${thousands(LIST_LIMITS.searched)} that match the other filters.`,
        },
      },
    )
    .get(
      '/api/task/feed',
      async ({ query, panel }) => {
        const { after, order = 'desc', limit, ...filter } = query;
        const part = { limit: readInteger('limit', limit ?? '50', { min: 1, max: 100 }), order };
        const found = await tasks.lists.feed(readTaskFilter(panel, filter), { ...part, ...(after ? { after } : {}) });
        if (!found) throw fieldError('after', 'wrong_value', sentence('http.after_task'));
        return ok({ items: await describeEach(panel, found.items), next: found.next });
      },
      {
        user: true,
        query: strictObject({
          ...taskFilterQuery,
          after: t.Optional(t.String({ maxLength: 191, description: 'next of the previous part.' })),
          order: t.Optional(t.Union([t.Literal('asc'), t.Literal('desc')], { description: 'By creation.' })),
          limit: t.Optional(integerText({ minimum: 1, maximum: 100, default: 50 })),
        }),
        detail: {
          summary: 'List tasks by cursor',
          description:
            'For lists that grow as one scrolls: nothing is counted, and no part takes longer than the first. next is null at the end. With q a part may be empty and have a next.',
        },
      },
    )
    .get(
      '/api/task/failures',
      async ({ query, panel }) => {
        const found = await tasks.lists.failureReasons(readTaskFilter(panel, query), MAX_REASONS);
        // Which channel served a task is for administrators.
        const byChannel = (failed: (typeof found)[number]['channels']) =>
          failed.map(({ channelId: id, count }) => ({ id, name: channels.find(id)?.name ?? null, count }));
        return ok(
          found.map(({ reason, sentence, count, channels: failed }) => ({
            reason,
            reason_sentence: sentence,
            count,
            ...(isAdmin(panel) ? { channels: byChannel(failed) } : {}),
          })),
        );
      },
      {
        user: true,
        query: strictObject(taskFilterQuery),
        detail: {
          summary: 'Count failure reasons in filtered tasks',
          description: `The first ${MAX_REASONS} reasons, each cut to 200 characters; as fail_reason in the filter, it finds its tasks. A status in the filter is ignored. For administrators also by channel.`,
        },
      },
    )
    .get('/api/task/:task_id', async ({ panel, params }) => ok(await readDetail(panel, params.task_id)), {
      user: true,
      detail: {
        summary: 'Get a task with its bill, timeline, ledger entries and artifacts',
        description:
          'bill is as in /api/log; settled and difference are null while the task runs. request is the request to the plugin; it is null if it was not kept and for tasks of other users. retryable says whether POST …/retry can repeat it, and retry_block why it cannot: the code of the error that it would answer.',
      },
    })
    .post(
      '/api/task/:task_id/cancel',
      async ({ panel, origin, params }) => {
        const task = await tasks.cancel(panel.user.id, params.task_id);
        const { taskId } = task;
        const detail = describeAudited(panel, task);
        await audit({ panel, origin }, { action: 'task.cancel', target: `task:${taskId}`, detail });
        return ok(await readDetail(panel, taskId));
      },
      { user: true, detail: { summary: 'Cancel one of your tasks that no vendor has accepted' } },
    )
    .delete(
      '/api/task/:task_id',
      async ({ panel, origin, params }) => {
        const task = await tasks.delete(panel.user.id, params.task_id);
        const detail = describeAudited(panel, task);
        await audit({ panel, origin }, { action: 'task.delete', target: `task:${task.taskId}`, detail });
        return ok(null);
      },
      {
        user: true,
        detail: {
          summary: 'Delete one of your tasks',
          description: 'It is hidden from you, its links stop working and its content is deleted. Its bill stays.',
        },
      },
    )
    .get(
      '/api/task/:task_id/answer',
      async ({ panel, origin, params }) => {
        const { task } = await tasks.detail(params.task_id, null);
        if (task.userId !== panel.user.id) {
          const detail = describeAudited(panel, task);
          await audit({ panel, origin }, { action: 'task.answer', target: `task:${task.taskId}`, detail });
        }
        return ok(describeAnswer(task.data));
      },
      {
        admin: true,
        detail: {
          summary: "Get the vendor's last stored response",
          description: `JSON as text, indented and cut to ${thousands(MAX_ANSWER)} characters; null without one: none came, or its retention is over. Keys of channels are redacted, and media in Base64 are cut to their beginning. An answer about another user's task leaves an audit row.`,
        },
      },
    )
    .get(
      '/api/task/:task_id/artifacts',
      async ({ panel, params, query }) => {
        const { task } = await tasks.detail(params.task_id, readableUser(panel));
        return ok(await results.artifacts(task, query.expires_in));
      },
      {
        user: true,
        query: strictObject({
          expires_in: t.Optional(t.String({ maxLength: 20, description: 'Seconds until the links expire.' })),
        }),
        detail: { summary: "List a task's artifacts with shareable links" },
      },
    )
    .post(
      '/api/task/:task_id/artifacts/:key/preview',
      async ({ panel, params, body }) => {
        const image = Buffer.from(body.image, 'base64');
        const offered = { taskId: params.task_id, artifactKey: params.key, image };
        await results.acceptPreview({ readerId: readableUser(panel), ...offered });
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
          summary: 'Upload an artifact preview',
          description:
            'From anyone who may see the task. Taken once: 409 PREVIEW_EXISTS where there is one. Without an audit row: browsers do it automatically.',
        },
      },
    )
    .post(
      '/api/task/:task_id/links/revoke',
      async ({ panel, origin, params, query: { artifact } }) => {
        const { task } = await tasks.detail(params.task_id, readableUser(panel));
        await results.revokeLinks(task, artifact);
        const detail = { ...describeAudited(panel, task), ...(artifact === undefined ? {} : { artifact }) };
        await audit({ panel, origin }, { action: 'task.links.revoke', target: `task:${task.taskId}`, detail });
        return ok(null);
      },
      {
        user: true,
        query: strictObject({
          artifact: t.Optional(t.String({ minLength: 1, maxLength: 128, description: 'Only the links of this one.' })),
        }),
        detail: { summary: "Revoke all of a task's links" },
      },
    );
}

/** Shows the stored answer, which was redacted when it came. */
function describeAnswer(data: Json): { answer: string | null; is_cut: boolean } {
  if (data === null) return { answer: null, is_cut: false };
  const text = JSON.stringify(data, null, 2);
  return { answer: text.slice(0, MAX_ANSWER), is_cut: text.length > MAX_ANSWER };
}
