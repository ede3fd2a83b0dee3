import { t } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import { withoutUndefined } from '../../../kernel/index.ts';
import { TASK_STATUSES, type TaskListFilter } from '../../../tasks/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { LATEST_TIME, readInteger } from '../../pipeline/paging.ts';
import { integerText } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';

const id = (description: string) => t.Optional(integerText({ minimum: 1, description }));
const time = t.Optional(integerText({ minimum: 0, description: 'Unix seconds of the creation.' }));

/** The filter of every list of tasks. All are texts, because they come from a query. */
export const taskFilterQuery = {
  scope: t.Optional(t.Union([t.Literal('own'), t.Literal('all')], { description: 'all: administrators.' })),
  user_id: id('Administrators, with scope all.'),
  api_key_id: id('The id of an API key.'),
  channel_id: id('Administrators.'),
  platform: t.Optional(t.String({ maxLength: 64 })),
  model: t.Optional(t.String({ maxLength: 200, description: 'As the client named it.' })),
  status: t.Optional(t.Union(TASK_STATUSES.map((status) => t.Literal(status)))),
  fail_reason: t.Optional(t.String({ maxLength: 200, description: 'As /api/task/failures names it.' })),
  since: time,
  until: time,
  q: t.Optional(
    t.String({
      maxLength: 200,
      description:
        "A task, or a part of its prompt, model or action; for administrators also the vendor's id of a task.",
    }),
  ),
};

const MAX_ID = 1e15;

type TaskFilterQuery = { [Field in keyof typeof taskFilterQuery]?: string };

/**
 * The caller's own tasks, or those of all users with `scope` all. An empty text is not a filter.
 * @throws http.insufficient_privilege: only administrators may know of other users' tasks, and
 * which channel served a task; http.validation_failed
 */
export function readTaskFilter(panel: PanelPrincipal, query: TaskFilterQuery): TaskListFilter {
  const all = query.scope === 'all';
  if ((all || query.channel_id || query.user_id) && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
  const number = (name: 'user_id' | 'api_key_id' | 'channel_id' | 'since' | 'until', max: number, min = 0) => {
    const text = query[name];
    return text ? readInteger(name, text, { min, max }) : undefined;
  };
  const filter = {
    ...(all ? { userId: number('user_id', MAX_ID, 1) } : { userId: panel.user.id, hidden: false }),
    apiKeyId: number('api_key_id', MAX_ID, 1),
    channelId: number('channel_id', MAX_ID, 1),
    platform: query.platform || undefined,
    model: query.model || undefined,
    status: query.status || undefined,
    failReason: query.fail_reason || undefined,
    since: number('since', LATEST_TIME),
    until: number('until', LATEST_TIME),
    query: query.q || undefined,
    vendorIds: isAdmin(panel) || undefined,
  };
  return withoutUndefined(filter);
}
