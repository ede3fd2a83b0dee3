import { Elysia, t } from 'elysia';
import { type CapacityService, mapModel } from '../../../channels/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import type { ListedWaitingTask, QueueClass, Tasks } from '../../../tasks/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { paged, pageQuery, readInteger, readPage } from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { describeAudited } from './read-task.ts';

/**
 * The tasks that wait to be sent: administrators see all, users see their own with its position.
 */
export function queueRoutes(
  kit: Kit,
  { tasks, audit, ...deps }: { tasks: Tasks; audit: RecordAudit; capacity: CapacityService; clock: Clock },
) {
  /** Why a task waits, as administrators read it. */
  function describeReason({ within, notBefore, parked, properties }: ListedWaitingTask): Reason {
    if (parked) return { reason: 'own_limit', reason_until: null };
    if (notBefore > 0) return { reason: 'returned', reason_until: notBefore };
    if (within?.channels.length === 0) return { reason: 'no_channel', reason_until: null };
    const until = findRest(within?.channels ?? [], properties.originModelName);
    return until === null ? { reason: 'full', reason_until: null } : { reason: 'resting', reason_until: until };
  }

  /** When the first of the channels accepts a model again; null if one of them does now. */
  function findRest(channels: QueueClass['channels'], wanted: string): number | null {
    const rests = channels.map((channel) => {
      const { restingUntil, models } = deps.capacity.describe(channel);
      const upstream = mapModel(channel.modelMapping, wanted);
      return Math.max(restingUntil, models.find(({ model }) => model === upstream)?.restingUntil ?? 0);
    });
    const until = Math.min(...rests);
    return rests.length > 0 && until > deps.clock.unix() ? until : null;
  }

  function describeClass(each: QueueClass) {
    const limit = sumLimits(each);
    return {
      platform: each.plugin,
      model: each.model,
      group: each.group,
      waiting: each.waiting,
      /** Slots in use of the channels that may serve it. */
      running: each.running,
      /** How many slots these have; null where the limit of one is not known. */
      limit,
      channels: describeChannels(each),
      ...describeShortage(each, limit),
    };
  }

  /** Why tasks of a model wait; null where the reasons of its tasks differ. */
  function describeShortage(
    { channels, model, running }: QueueClass,
    limit: number | null,
  ): { reason: 'no_channel' | 'resting' | 'full' | null; reason_until: number | null } {
    if (channels.length === 0) return { reason: 'no_channel', reason_until: null };
    const until = findRest(channels, model);
    if (until !== null) return { reason: 'resting', reason_until: until };
    return { reason: limit === null || running >= limit ? 'full' : null, reason_until: null };
  }

  /** Channels that share a limit count once. */
  function sumLimits({ channels, model }: QueueClass): number | null {
    const limits = new Map(
      channels.map((channel) => {
        const { limit, learned, models } = deps.capacity.describe(channel);
        const own = models.find((each) => each.model === mapModel(channel.modelMapping, model));
        return [channel.pool || channel.id, own?.limit ?? (learned ? null : limit)];
      }),
    );
    const known = [...limits.values()].filter((limit) => limit !== null);
    return known.length === 0 || known.length < limits.size ? null : known.reduce((sum, limit) => sum + limit, 0);
  }

  const describe = (task: ListedWaitingTask, forAdmin: boolean) => ({
    ...describeQueued(task),
    ...(forAdmin ? describeForAdmin(task) : {}),
    ...(forAdmin ? describeReason(task) : withoutAccounts(describeReason(task))),
  });

  return new Elysia({ normalize: false, tags: ['Queue'] })
    .use(kit)
    .get(
      '/api/queue',
      async ({ query, panel }) => {
        const page = readPage(query);
        const forAdmin = isAdmin(panel);
        const wanted = query.user_id ? readInteger('user_id', query.user_id, { min: 1, max: 1e15 }) : undefined;
        const userId = forAdmin ? wanted : panel.user.id;
        const filter = { ...(userId !== undefined && { userId }), ...(query.model && { model: query.model }) };
        const [found, classes] = await Promise.all([tasks.queue.list(filter, page), tasks.queue.classes()]);
        return ok({
          ...paged(page, { ...found, items: found.items.map((task) => describe(task, forAdmin)) }),
          classes: forAdmin ? classes.map(describeClass) : [],
        });
      },
      {
        user: true,
        query: strictObject({
          ...pageQuery,
          model: t.Optional(t.String({ maxLength: 200, description: 'As the client named it.' })),
          user_id: t.Optional(integerText({ minimum: 1, description: 'Administrators; users see their own.' })),
        }),
        detail: {
          summary: 'List waiting tasks, oldest first',
          description:
            'position counts among the tasks that wait for the same model and group, exactly up to 1,000, then it is "over 1,000". estimated_start_at is null while fewer than five tasks of the model ended within an hour. For administrators also whose they are, which accounts may serve them, and what waits in total by model and group (classes, the largest first, with the slots in use and their limit, null where one is not known, and why they wait, null where their reasons differ). reason is own_limit (as many tasks of its key, user or group run as may), no_channel (no enabled channel serves it), returned (the vendor refused it; it is sent again at reason_until), resting (each account rests, the first until reason_until) or full (each slot is in use); users read full for the last three.',
        },
      },
    )
    .post(
      '/api/queue/:task_id/front',
      async ({ panel, origin, params }) => {
        await tasks.queue.moveToFront(params.task_id);
        const { task } = await tasks.detail(params.task_id, null);
        const detail = describeAudited(panel, task);
        await audit({ panel, origin }, { action: 'task.move_to_front', target: `task:${task.taskId}`, detail });
        return ok(null);
      },
      {
        admin: true,
        detail: {
          summary: 'Move a waiting task to the front',
          description: 'It is sent before all others of its model, group and priority.',
        },
      },
    )
    .post(
      '/api/queue/:task_id/cancel',
      async ({ panel, origin, params }) => {
        const { task } = await tasks.detail(params.task_id, isAdmin(panel) ? null : panel.user.id);
        await tasks.cancel(task.userId, task.taskId);
        const detail = describeAudited(panel, task);
        await audit({ panel, origin }, { action: 'task.cancel', target: `task:${task.taskId}`, detail });
        return ok(null);
      },
      {
        user: true,
        detail: {
          summary: 'Cancel a waiting task',
          description: 'It ends as failed and its reservation is refunded. 409 once a vendor has it.',
        },
      },
    );
}

type Reason = { reason: 'own_limit' | 'no_channel' | 'returned' | 'resting' | 'full'; reason_until: number | null };

/** To users, an account that rests or refused is one without a free slot. */
const withoutAccounts = ({ reason }: Reason): Reason => ({
  reason: reason === 'own_limit' || reason === 'no_channel' ? reason : 'full',
  reason_until: null,
});

function describeQueued(task: ListedWaitingTask) {
  const { properties, within } = task;
  return {
    id: task.taskId,
    model: properties.originModelName,
    platform: within?.plugin ?? '',
    action: task.action,
    input: properties.input,
    api_key_id: task.apiKeyId,
    api_key_name: task.keyName,
    ...task.queue,
    /** The wait is over then, and the task fails. */
    deadline: task.deadline,
  };
}

const describeForAdmin = (task: ListedWaitingTask) => ({
  user_id: task.userId,
  username: task.username,
  group: task.within?.group ?? '',
  channels: describeChannels(task.within),
  returns: task.returns,
  is_attached: task.isAttached,
});

const describeChannels = (within: QueueClass | undefined) =>
  (within?.channels ?? []).map(({ id, name }) => ({ id, name }));
