import { Elysia, t } from 'elysia';
import type { Auth } from '../../auth/index.ts';
import { type Kit, ok, strictObject } from '../kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/** The signed-in user's own account and sessions. */
export function accountRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/self', async ({ panel }) => ok(await auth.describe(panel)), {
      user: true,
      detail: { summary: 'The signed-in user' },
    })
    .put(
      '/api/user/self',
      async ({ panel, origin, body }) => {
        const bundle = await auth.passwords.change(panel, {
          currentPassword: body.original_password,
          newPassword: body.password,
          origin,
        });
        await audit({ panel, origin }, { action: 'user.password', target: `user:${panel.user.id}`, detail: {} });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        body: strictObject({
          original_password: t.String({ minLength: 1, maxLength: 1000 }),
          password: t.String({ minLength: 1, maxLength: 1000, description: '8 to 128 characters.' }),
        }),
        detail: { summary: "Change one's own password; every other session ends" },
      },
    )
    .get('/api/user/sessions', async ({ panel }) => ok(await auth.sessions.list(panel)), {
      session: true,
      detail: { summary: "One's own live sessions, the current one first" },
    })
    .delete('/api/user/sessions/:sid', async ({ panel, params }) => ok(await auth.sessions.revoke(panel, params.sid)), {
      session: true,
      detail: { summary: "End one of one's own sessions" },
    })
    .post('/api/user/sessions/revoke-others', async ({ panel }) => ok(await auth.sessions.revokeOthers(panel)), {
      session: true,
      detail: { summary: 'End all sessions but the current one' },
    });
}
