import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { sentence } from '../../../kernel/index.ts';
import type { AttentionItem, BackupsView, NodeControl, SystemHistory, SystemView } from '../../../operations/index.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';
import type { RecordAudit } from '../record-audit.ts';

const PERIODS = { '24': 24, '168': 168, '336': 336 } as const;

const nodeName = t.Object({ id: t.String({ maxLength: 255, description: 'The id or host name of a running node.' }) });

/** What the routes of the System page show and do. */
export type SystemViews = {
  system: () => Promise<SystemView>;
  systemHistory: (hours: 24 | 168 | 336) => Promise<SystemHistory>;
  attention: () => Promise<AttentionItem[]>;
  backups: { view(): Promise<BackupsView>; begin(): boolean };
  nodes: NodeControl;
};

export function systemRoutes(
  kit: Kit,
  { system, systemHistory, attention, backups, nodes, auth, audit }: SystemViews & { auth: Auth; audit: RecordAudit },
) {
  return new Elysia({ normalize: false, tags: ['System'] })
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
    })
    .post(
      '/api/node/:id/drain',
      async ({ params, panel, origin }) => {
        const { id, host } = await nodes.drain(params.id);
        await audit({ panel, origin }, { action: 'node.drain', target: `node:${id}`, detail: { host } });
        return ok({ id, drained: true });
      },
      {
        root: true,
        params: nodeName,
        detail: {
          summary: 'Take a node out of service',
          description:
            'Its /readyz answers 503 within 10 seconds, so that load balancers send requests to the other nodes; what it has begun goes on. One node at a time, and never the last one. It serves again when it is started again, by DELETE, or when no other node is left.',
        },
      },
    )
    .delete(
      '/api/node/:id/drain',
      async ({ params, panel, origin }) => {
        const { id, host } = await nodes.resume(params.id);
        await audit({ panel, origin }, { action: 'node.resume', target: `node:${id}`, detail: { host } });
        return ok({ id, drained: false });
      },
      { root: true, params: nodeName, detail: { summary: 'Put a node back into service' } },
    )
    .get('/api/attention', async () => ok(await attention()), {
      admin: true,
      detail: {
        summary: 'List what needs attention, most severe first',
        description:
          'code is stable; target names the page (kind) and the item on it. Plugins appear as this node sees them; the ledger is checked at most every six hours.',
      },
    })
    .get('/api/backup', async () => ok(await backups.view()), {
      root: true,
      detail: { summary: 'Get the backup schedule and latest runs' },
    })
    .post(
      '/api/backup',
      async ({ request, panel, origin }) => {
        await auth.proofs.require(panel, readProof(request), 'settings.security');
        if (!backups.begin()) {
          throw httpErrors.validation_failed({ message: sentence('backup.no_place') });
        }
        await audit({ panel, origin }, { action: 'backup.begin', target: 'backup:now', detail: {} });
        return ok({ started: true });
      },
      {
        root: true,
        critical: true,
        documentsProof: { scope: 'settings.security' },
        detail: {
          summary: 'Start a backup',
          description: 'Answers when it is begun; the runs of GET /api/backup say how it ends.',
        },
      },
    );
}
