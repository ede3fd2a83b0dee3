import { Elysia, t } from 'elysia';
import {
  type CapacityService,
  type CapacityView,
  type Channels,
  mapModel,
  type RestView,
  type SavedChannel,
} from '../../../channels/index.ts';
import type { Tasks } from '../../../tasks/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

type Channel = SavedChannel['channel'];
type DeclaredLimits = NonNullable<Channel['limits']>;
type DeclaredLimit = Omit<DeclaredLimits, 'models'>;

const limitFields = {
  max_running: t.Optional(integerSchema({ minimum: 1, maximum: 1_000_000, description: 'Concurrent tasks.' })),
  max_per_minute: t.Optional(
    integerSchema({ minimum: 1, maximum: 1_000_000, description: 'Submissions in a minute, spaced evenly.' }),
  ),
  burst: t.Optional(
    integerSchema({ minimum: 1, maximum: 1_000_000, description: 'How many of max_per_minute may be sent at once.' }),
  ),
};

export const limitsBody = {
  limits: t.Optional(
    t.Union(
      [
        strictObject({
          ...limitFields,
          models: t.Optional(
            t.Record(t.String({ maxLength: 191 }), strictObject(limitFields), {
              maxProperties: 1000,
              description: "By the vendor's model name; they hold beside those of the account.",
            }),
          ),
        }),
        t.Null(),
      ],
      {
        description:
          "What the vendor lets the account run, all models together. null or without max_running: the gateway learns it from the vendor's refusals.",
      },
    ),
  ),
  pool: t.Optional(
    t.String({ maxLength: 200, description: 'Channels with the same name here share one limit. Empty: its own.' }),
  ),
};

/** What a channel has to do with its vendor's limits. */
export function channelCapacityRoutes(
  kit: Kit,
  { channels, capacity, audit }: { channels: Channels; capacity: CapacityService; audit: RecordAudit },
) {
  return new Elysia({ normalize: false, tags: ['Channels'] })
    .use(kit)
    .post(
      '/api/channel/:id/wake',
      async ({ params, panel, origin }) => {
        const channel = await channels.get(readId(params.id));
        const rests = await capacity.wake(channel);
        await audit({ panel, origin }, { action: 'channel.wake', target: `channel:${channel.id}`, detail: { rests } });
        return ok({ rests });
      },
      {
        admin: true,
        detail: {
          summary: 'Resume a paused channel and those that share its limit',
          description: 'Tasks are sent again immediately. If the vendor rejects one, the channel is paused again.',
        },
      },
    )
    .post(
      '/api/channel/:id/clear-ceilings',
      async ({ params, panel, origin }) => {
        const channel = await channels.get(readId(params.id));
        const models = await capacity.clearCeilings(channel);
        const target = `channel:${channel.id}`;
        await audit({ panel, origin }, { action: 'channel.clear_ceilings', target, detail: { models } });
        return ok({ models });
      },
      {
        admin: true,
        detail: { summary: "Reset a channel's learned limits" },
      },
    )
    .post(
      '/api/channel/:id/clear-abandoned',
      async ({ params, panel, origin }) => {
        const channel = await channels.get(readId(params.id));
        const tasks = await capacity.clearAbandoned(channel);
        const target = `channel:${channel.id}`;
        await audit({ panel, origin }, { action: 'channel.clear_abandoned', target, detail: { tasks } });
        return ok({ tasks });
      },
      {
        admin: true,
        detail: {
          summary: "Free a channel's abandoned slots",
          description: 'For when you have looked at the vendor and found that it runs none of them.',
        },
      },
    );
}

type LimitBody = { [K in keyof typeof limitFields]?: number | undefined };
type LimitsBody = LimitBody & { models?: Record<string, LimitBody> | undefined };

export function readLimits({ models, ...limit }: LimitsBody): DeclaredLimits {
  const ofModels = Object.entries(models ?? {}).map(([name, own]) => [name, readLimit(own)]);
  return { ...readLimit(limit), ...(models === undefined ? {} : { models: Object.fromEntries(ofModels) }) };
}

const readLimit = ({ max_running: maxRunning, max_per_minute: maxPerMinute, burst }: LimitBody): DeclaredLimit => ({
  ...(maxRunning === undefined ? {} : { maxRunning }),
  ...(maxPerMinute === undefined ? {} : { maxPerMinute }),
  ...(burst === undefined ? {} : { burst }),
});

export function describeLimits({ models, ...limit }: NonNullable<Channel['limits']>) {
  const ofModels = Object.entries(models ?? {}).map(([name, own]) => [name, describeLimit(own)]);
  return {
    ...describeLimit(limit),
    ...(models === undefined
      ? {}
      : { models: Object.fromEntries(ofModels) as Record<string, ReturnType<typeof describeLimit>> }),
  };
}

const describeLimit = ({ maxRunning, maxPerMinute, burst }: DeclaredLimit) => ({
  ...(maxRunning === undefined ? {} : { max_running: maxRunning }),
  ...(maxPerMinute === undefined ? {} : { max_per_minute: maxPerMinute }),
  ...(burst === undefined ? {} : { burst }),
});

/** Tasks that the channel could run, by its own name of their model. */
async function countWaiting(tasks: Pick<Tasks, 'queue'>, channel: Channel): Promise<ReadonlyMap<string, number>> {
  const waiting = new Map<string, number>();
  for (const { model, waiting: count, channels: serving } of await tasks.queue.classes()) {
    if (!serving.some(({ id }) => id === channel.id)) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    waiting.set(upstreamModel, (waiting.get(upstreamModel) ?? 0) + count);
  }
  return waiting;
}

/** `waiting`: tasks that the channel could run, by the vendor's model. */
export async function describeCapacity(
  { capacity, tasks }: { capacity: CapacityService; tasks: Pick<Tasks, 'queue'> },
  channel: Channel,
) {
  const { models, credentials, ...whole } = capacity.describe(channel);
  const waiting = await countWaiting(tasks, channel);
  const known = new Set(models.map(({ model }) => model));
  const sum = [...waiting.values()].reduce((all, count) => all + count, 0);
  const unknown = [...waiting.keys()].filter((model) => !known.has(model));
  return {
    ...describeModelCapacity(whole, sum),
    credentials: credentials.map(({ id, ...rest }) => ({ id, ...describeRest(rest) })),
    models: [...models, ...unknown.map((model) => ({ ...IDLE, model }))].map((one) => ({
      model: one.model,
      ...describeModelCapacity(one, waiting.get(one.model) ?? 0),
    })),
  };
}

type ModelCapacity = Omit<CapacityView, 'models' | 'credentials'>;
const IDLE: ModelCapacity = {
  ...{ running: 0, limit: null, learned: true, limitReason: '', abandoned: 0 },
  ...{ restingUntil: 0, restReason: '', restingSince: 0, restStep: 0 },
};

const describeModelCapacity = (view: ModelCapacity, waiting: number) => ({
  running: view.running,
  waiting,
  limit: view.limit,
  learned: view.learned,
  limit_reason: view.limitReason,
  abandoned: view.abandoned,
  ...describeRest(view),
});

/** `resting_since`: the first of `rest_step` rests in a row. Times are 0 where there is none. */
const describeRest = (view: RestView) => ({
  resting_until: view.restingUntil,
  rest_reason: view.restReason,
  resting_since: view.restingSince,
  rest_step: view.restStep,
});
