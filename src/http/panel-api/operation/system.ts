import { Elysia, t } from 'elysia';
import type { SystemHistory, SystemView } from '../../../operations/index.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';

const PERIODS = { '24': 24, '168': 168, '336': 336 } as const;

export function systemRoutes(
  kit: Kit,
  {
    system,
    systemHistory,
  }: { system: () => Promise<SystemView>; systemHistory: (hours: 24 | 168 | 336) => Promise<SystemHistory> },
) {
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/node', async () => ok(await system()), {
      root: true,
      detail: {
        summary: 'Get nodes, queues, sandbox, database, ledger check and limits',
        description:
          'The ledger is checked in the background, at most every six hours; the first request gets null. limits are keyed by environment variable.',
      },
    })
    .get('/api/node/history', async ({ query }) => ok(await systemHistory(PERIODS[query.hours ?? '24'])), {
      root: true,
      query: strictObject({
        hours: t.Optional(
          t.Union([t.Literal('24'), t.Literal('168'), t.Literal('336')], { description: 'The last hours.' }),
        ),
      }),
      detail: {
        summary: 'Get polls, event-loop lag, queue, database size and backups over time',
        description:
          'At most 200 points, made of samples that each node writes every five minutes; they are kept for 14 days. polls is the sum of a point, the rest its highest value.',
      },
    });
}
