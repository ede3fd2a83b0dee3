import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

export type DemoChannel = {
  channel: { id: number; name: string; models: string[]; taskPluginKey: string | null };
  /** False: it existed already. */
  created: boolean;
};

type SetupDeps = { auth: Auth; audit: RecordAudit; demoChannel: () => Promise<DemoChannel> };

/** The first start: the root account, and a channel with the demo vendor. */
export function setupRoutes(kit: Kit, { auth, audit, demoChannel }: SetupDeps) {
  return new Elysia({ normalize: false, tags: ['Setup'] })
    .use(kit)
    .get('/api/setup', async () => ok({ status: !(await auth.setup.needed()) }), {
      public: true,
      detail: { summary: 'Check whether setup is complete' },
    })
    .post(
      '/api/setup',
      async ({ request, body, origin }) => {
        const acceptLanguage = request.headers.get('accept-language') ?? undefined;
        const root = await auth.setup.complete({ ...body, acceptLanguage });
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
          token: t.String({ minLength: 1, maxLength: 200, description: 'From the setup link in the terminal.' }),
          username: t.String({ minLength: 1, maxLength: 200 }),
          password: t.String({ minLength: 1, maxLength: 1000 }),
        }),
        detail: { summary: 'Create the root account with the one-time setup link' },
      },
    )
    .post(
      '/api/setup/demo-channel',
      async ({ panel, origin }) => {
        const { channel, created } = await demoChannel();
        const { id, name, models } = channel;
        const view = { id, name, models, task_plugin_key: channel.taskPluginKey };
        if (created)
          await audit(
            { panel, origin },
            { action: 'channel.create', target: `channel:${id}`, detail: { after: view } },
          );
        return ok({ channel: view, created });
      },
      {
        root: true,
        detail: {
          summary: 'Create the demo channel (built-in vendor, no network needed)',
          description:
            'A second call returns the existing channel. You can change and delete it like any other. CHANNEL_DEMO_UNAVAILABLE (409): on PostgreSQL, where several nodes may serve, or without the demo plugin.',
        },
      },
    );
}
