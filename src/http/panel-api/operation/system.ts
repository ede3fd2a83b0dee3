import { Elysia } from 'elysia';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/**
 * The gateway as its administrator sees it. Times are Unix seconds; what is of one node says so.
 */
export type SystemView = {
  nodes: {
    id: string;
    role: string;
    version: string;
    started_at: number;
    heartbeat_at: number;
    /** False: no sign of life lately, and no word that it stops. */
    alive: boolean;
    /** The node that answers. */
    self: boolean;
  }[];
  queue: { unfinished: number; due: number; latest_lateness_ms: number };
  /** Of this node since its start. */
  polls: { polling: boolean; made: number; running: number; waiting: number };
  /** The plugins' processes of this node; `queued` calls wait for one. */
  sandbox: {
    processes: number;
    max_processes: number;
    calls: number;
    kills: number;
    queued: number;
    suspended: string[];
    resident_bytes: number;
  };
  plugins: { generation: number; published_at: number; errors: Record<string, string> };
  webhooks: { pending: number; oldest_seconds: number };
  database: { kind: 'sqlite' | 'postgres'; bytes: number; shared_cache: boolean };
  /** The latest check of this node; null before the first, which the first reader begins. */
  ledger: {
    checked_at: number;
    ok: boolean;
    users: { user_id: number; quota: number; ledger: number }[];
    tasks: { task_id: string; quota: number; ledger: number }[];
  } | null;
  /** By the names of their environment variables. */
  limits: Record<string, number>;
};

export function systemRoutes(kit: Kit, { system }: { system: () => Promise<SystemView> }) {
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/node', async () => ok(await system()), {
      root: true,
      detail: {
        summary: 'Nodes, queues, sandbox, database, ledger check and limits in force',
        description:
          'The ledger is checked every six hours at most, beside the requests; whoever asks first finds null. limits are by the names of their environment variables.',
      },
    });
}
