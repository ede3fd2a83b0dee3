import { Elysia, t } from 'elysia';
import type { Auth } from '../../auth/index.ts';
import { type Kit, ok, strictObject } from '../kit.ts';
import type { RecordAudit } from '../record-audit.ts';

export function setupRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Set-up'] })
    .use(kit)
    .get('/api/setup', async () => ok({ status: !(await auth.setup.needed()) }), {
      public: true,
      detail: { summary: 'Whether the set-up is complete' },
    })
    .post(
      '/api/setup',
      async ({ body, origin }) => {
        const root = await auth.setup.complete(body);
        await audit(
          { setup: root, origin },
          { action: 'setup.complete', target: `user:${root.userId}`, detail: { username: root.username } },
        );
        return ok({ username: root.username });
      },
      {
        public: true,
        critical: true,
        body: strictObject({
          token: t.String({ minLength: 1, maxLength: 200, description: 'From the link that the terminal prints.' }),
          username: t.String({ minLength: 1, maxLength: 200 }),
          password: t.String({ minLength: 1, maxLength: 1000 }),
        }),
        detail: { summary: 'Make the root account with the one-time set-up link' },
      },
    );
}
