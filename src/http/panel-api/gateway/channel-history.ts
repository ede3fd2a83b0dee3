import { Elysia, t } from 'elysia';
import type { Channels } from '../../../channels/index.ts';
import type { ChannelHistory, Reports } from '../../../reports/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';

const PERIODS = { '24': 24, '168': 168 } as const;

/** How a channel did over the last day or week. */
export function channelHistoryRoutes(
  kit: Kit,
  { channels, reports }: { channels: Pick<Channels, 'get'>; reports: Pick<Reports, 'channelHistory'> },
) {
  return new Elysia({ normalize: false, tags: ['Channels'] }).use(kit).get(
    '/api/channel/:id/history',
    async ({ params, query }) => {
      const { id } = await channels.get(readId(params.id));
      return ok(describeHistory(await reports.channelHistory(id, PERIODS[query.hours ?? '24'])));
    },
    {
      admin: true,
      query: strictObject({
        hours: t.Optional(t.Union([t.Literal('24'), t.Literal('168')], { description: 'The last hours.' })),
      }),
      detail: {
        summary: "Get a channel's successes, failures, durations and failure reasons by hour",
        description:
          'points: one an hour by its first second, the running hour included. p50_seconds and p95_seconds are from the request to success, accurate to a histogram bucket, null if unknown. failures: the reasons of the latest 1,000 failures, the most frequent first, at most 20; has_more_failures: there were more.',
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

const describe = ({ succeeded, failed, p50Seconds, p95Seconds }: ChannelHistory['totals']) => ({
  succeeded,
  failed,
  success_rate: succeeded + failed === 0 ? null : succeeded / (succeeded + failed),
  p50_seconds: p50Seconds ?? null,
  p95_seconds: p95Seconds ?? null,
});
