import { Elysia, t } from 'elysia';
import type { CapacityService, Channels, RestEvent } from '../../../channels/index.ts';
import type { ChannelHistory, Reports } from '../../../reports/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';

const PERIODS = { '24': 24, '168': 168 } as const;
const MAX_RESTS = 100;

/** How a channel did over the last day or week. */
export function channelHistoryRoutes(
  kit: Kit,
  deps: {
    channels: Pick<Channels, 'get'>;
    reports: Pick<Reports, 'channelHistory'>;
    capacity: Pick<CapacityService, 'restEvents'>;
  },
) {
  return new Elysia({ normalize: false, tags: ['Channels'] }).use(kit).get(
    '/api/channel/:id/history',
    async ({ params, query }) => {
      const channel = await deps.channels.get(readId(params.id));
      const [history, rests] = await Promise.all([
        deps.reports.channelHistory(channel.id, PERIODS[query.hours ?? '24']),
        deps.capacity.restEvents(channel, MAX_RESTS),
      ]);
      return ok({ ...describeHistory(history), rests: rests.map(describeRestEvent) });
    },
    {
      admin: true,
      query: strictObject({
        hours: t.Optional(t.Union([t.Literal('24'), t.Literal('168')], { description: 'The last hours.' })),
      }),
      detail: {
        summary: "Get a channel's successes, failures, durations and failure reasons by hour",
        description:
          "points: one an hour by its first second, the running hour included. p50_seconds and p95_seconds are from the request to success, accurate to a histogram bucket, null if unknown. failures: the reasons of the latest 1,000 failures, the most frequent first, at most 20; has_more_failures: there were more. rests: of all time, the newest 100, the newest first, and of one reason 50 at most; credential_id 0: all keys; model: the vendor's, empty for all; what: rested, tried (a trial was refused, and it rests on), back, or resumed by hand; until: 0 where nothing rests any longer.",
      },
    },
  );
}

function describeHistory({ points, totals, failures, hasMoreFailures }: ChannelHistory) {
  return {
    totals: describe(totals),
    points: points.map((point) => ({ at: point.at, ...describe(point) })),
    failures: failures.map(({ reason, reasonSentence, tasks, lastAt, lastTask }) => ({
      reason,
      reason_sentence: reasonSentence,
      tasks,
      last_at: lastAt,
      last_task: lastTask,
    })),
    has_more_failures: hasMoreFailures,
  };
}

const describeRestEvent = ({ id, at, what, reason, until, credentialId, model }: RestEvent) => ({
  ...{ id, at, what, reason, until, model },
  credential_id: credentialId,
});

const describe = ({ succeeded, failed, p50Seconds, p95Seconds }: ChannelHistory['totals']) => ({
  succeeded,
  failed,
  success_rate: succeeded + failed === 0 ? null : succeeded / (succeeded + failed),
  p50_seconds: p50Seconds ?? null,
  p95_seconds: p95Seconds ?? null,
});
