import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** The signed-in user's account and sessions, to read and to end. */
export function accountRoutes(kit: Kit, { auth }: { auth: Auth }) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/self', async ({ panel }) => ok(await auth.describe(panel)), {
      user: true,
      detail: { summary: 'The signed-in user' },
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
