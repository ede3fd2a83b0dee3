import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/** The sessions of any user, for root. */
export function userSessionRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  const { ofUsers } = auth.sessions;
  return new Elysia({ normalize: false, tags: ['Users'] })
    .use(kit)
    .get('/api/user/:id/sessions', async ({ panel, params }) => ok(await ofUsers.list(panel, readId(params.id))), {
      root: true,
      detail: { summary: "List a user's active sessions" },
    })
    .delete(
      '/api/user/:id/sessions',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        const ended = await ofUsers.revokeAll(panel, id);
        await audit({ panel, origin }, { action: 'user.sessions.revoke', target: `user:${id}`, detail: ended });
        return ok(ended);
      },
      { root: true, detail: { summary: 'Sign a user out everywhere' } },
    )
    .delete(
      '/api/user/:id/sessions/:sid',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        const ended = await ofUsers.revoke(panel, id, params.sid);
        const detail = { sid: ended.revoked_sid };
        await audit({ panel, origin }, { action: 'user.session.revoke', target: `user:${id}`, detail });
        return ok(ended);
      },
      { root: true, detail: { summary: "Sign out one of a user's devices" } },
    );
}
