import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/** Revokes all artifact links of a user's tasks so far. New links can be created afterwards. */
export function artifactLinkRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  const action = 'user.links.revoke';
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .post(
      '/api/user/links/revoke',
      async ({ panel, origin }) => {
        await auth.account.revokeLinks(panel);
        await audit({ panel, origin }, { action, target: `user:${panel.user.id}`, detail: {} });
        return ok(null);
      },
      { session: true, detail: { summary: 'Revoke all links of your tasks' } },
    )
    .post(
      '/api/user/:id/links/revoke',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        await auth.administration.revokeLinks(panel, id);
        await audit({ panel, origin }, { action, target: `user:${id}`, detail: {} });
        return ok(null);
      },
      { admin: true, detail: { summary: "Revoke all links of a user's tasks" } },
    );
}
