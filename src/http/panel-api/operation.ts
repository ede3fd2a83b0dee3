import { Elysia } from 'elysia';
import type { Auth } from '../../auth/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import { type Kit, ok } from '../kit.ts';
import { OPTION_CATALOGUE } from '../option-catalogue.ts';
import type { OptionsSource } from './options.ts';

type NodeRow = { id: string; role: string; version: string; startedAt: number; heartbeatAt: number };

export type OperationDeps = {
  auth: Auth;
  tasks: Tasks;
  options: OptionsSource;
  /** The nodes that gave a sign of life lately. */
  liveNodes: () => Promise<NodeRow[]>;
  version: string;
  /** Unix seconds. */
  startedAt: number;
};

/** What the panel needs before sign-in, and what the system page shows. */
export function operationRoutes(kit: Kit, deps: OperationDeps) {
  const { auth, tasks, options } = deps;
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get(
      '/api/status',
      async () => {
        const [needed, stored] = await Promise.all([auth.setup.needed(), options.all()]);
        const option = (key: string) =>
          stored.find((entry) => entry.key === key)?.value ?? OPTION_CATALOGUE[key]?.default ?? '';
        return ok({
          version: deps.version,
          start_time: deps.startedAt,
          setup: !needed,
          system_name: option('SystemName'),
          server_address: option('ServerAddress'),
          password_login_enabled: true,
          register_enabled: false,
        });
      },
      { public: true, detail: { summary: 'What the panel needs to know before sign-in' } },
    )
    .get(
      '/api/node',
      async () => {
        const [nodes, queue] = await Promise.all([deps.liveNodes(), tasks.queueDepth()]);
        return ok({
          nodes: nodes.map((node) => ({
            id: node.id,
            role: node.role,
            version: node.version,
            started_at: node.startedAt,
            heartbeat_at: node.heartbeatAt,
          })),
          queue: { unfinished: queue.unfinished, due: queue.due, latest_lateness_ms: queue.latestLatenessMs },
        });
      },
      { root: true, detail: { summary: 'Live nodes and the polling queue' } },
    );
}
