import { Elysia } from 'elysia';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** The state of the gateway for administrators. Times are Unix seconds. */
export type SystemView = {
  nodes: {
    id: string;
    role: string;
    version: string;
    started_at: number;
    heartbeat_at: number;
    /** False: no heartbeat lately, and the node did not announce a shutdown. */
    alive: boolean;
    /** True for the node that answers this request. */
    self: boolean;
  }[];
  queue: { unfinished: number; due: number; latest_lateness_ms: number };
  /** Polls of this node since its start. */
  polls: { polling: boolean; made: number; running: number; waiting: number };
  /** The sandbox processes of this node; `queued` counts calls that wait for one. */
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
  /** `free_bytes`: what a SQLite file keeps for later rows after others were removed. */
  database: { kind: 'sqlite' | 'postgres'; bytes: number; free_bytes: number; shared_cache: boolean };
  /** This node's latest check; null before the first one, which the first request starts. */
  ledger: {
    checked_at: number;
    ok: boolean;
    users: { user_id: number; quota: number; ledger: number }[];
    tasks: { task_id: string; quota: number; ledger: number }[];
  } | null;
  /** Keyed by environment variable. */
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
          'The ledger is checked in the background, at most every six hours; the first request gets null. limits are keyed by environment variable.',
      },
    });
}
