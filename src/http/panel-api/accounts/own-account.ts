import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Tasks } from '../../../surfaces/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** The signed-in user's account and sessions, to read and to end. */
export function accountRoutes(kit: Kit, { auth, tasks: { results } }: { auth: Auth; tasks: Pick<Tasks, 'results'> }) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/self', async ({ panel }) => ok(await auth.describe(panel)), {
      user: true,
      detail: { summary: 'The signed-in user' },
    })
    .get('/api/user/self/storage', async ({ panel }) => ok(describeStorage(await results.usage(panel.user))), {
      user: true,
      detail: {
        summary: 'The files that the gateway keeps for you, and how much that may be',
        description:
          'quota_bytes is null without a limit, days is 0 where files are kept until they are deleted. usd_per_gb_day is charged once a day for a GB (10^9 bytes). is_offered: whether the operator keeps files.',
      },
    })
    .get('/api/user/sessions', async ({ panel }) => ok(await auth.sessions.list(panel)), {
      session: true,
      detail: { summary: 'Your live sessions, the current one first' },
    })
    .delete('/api/user/sessions/:sid', async ({ panel, params }) => ok(await auth.sessions.revoke(panel, params.sid)), {
      session: true,
      detail: { summary: 'End one of your sessions' },
    })
    .post('/api/user/sessions/revoke-others', async ({ panel }) => ok(await auth.sessions.revokeOthers(panel)), {
      session: true,
      detail: { summary: 'End all your sessions except the current one' },
    });
}

const describeStorage = (kept: Awaited<ReturnType<Tasks['results']['usage']>>) => ({
  is_offered: kept.isOffered,
  bytes: kept.bytes,
  files: kept.results,
  quota_bytes: kept.quotaBytes,
  days: kept.days,
  usd_per_gb_day: kept.usdPerGbDay,
});
