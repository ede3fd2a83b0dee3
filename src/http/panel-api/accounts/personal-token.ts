import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/** The caller's personal access token: a credential for scripts, with the rights of its owner. */
export function personalTokenRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/token', async ({ panel }) => ok(await auth.personalTokens.describe(panel)), {
      user: true,
      detail: { summary: 'Your personal access token, as its first characters' },
    })
    .post(
      '/api/user/token',
      async ({ panel, origin }) => {
        const created = await auth.personalTokens.create(panel);
        // The prefix, never the token.
        const detail = { after: { prefix: created.prefix } };
        await audit({ panel, origin }, { action: 'user.token.create', target: `user:${panel.user.id}`, detail });
        return ok(created);
      },
      {
        session: true,
        critical: true,
        perUser: 'access-token',
        detail: { summary: 'Create a personal access token in place of the previous one; only this response shows it' },
      },
    )
    .delete(
      '/api/user/token',
      async ({ panel, origin }) => {
        await auth.personalTokens.revoke(panel);
        await audit({ panel, origin }, { action: 'user.token.delete', target: `user:${panel.user.id}`, detail: {} });
        return ok(null);
      },
      { session: true, detail: { summary: 'Revoke your personal access token' } },
    );
}
