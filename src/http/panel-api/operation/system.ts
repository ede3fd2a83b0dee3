import { Elysia, t } from 'elysia';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';

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

/** The state over time. Null: nothing was noted, because no node ran. */
export type SystemHistory = {
  /** What a point stands for. */
  step_seconds: number;
  points: {
    at: number;
    /** Of all nodes together. */
    polls: number | null;
    /** The longest that a node's event loop was held. */
    lag_ms: number | null;
    unfinished: number | null;
    due: number | null;
    lateness_ms: number | null;
    database_bytes: number | null;
  }[];
  /** Runs that have ended, the oldest first. */
  backups: { at: number; seconds: number; done: boolean; bytes: number }[];
};

const PERIODS = { '24': 24, '168': 168, '336': 336 } as const;

export function systemRoutes(
  kit: Kit,
  {
    system,
    systemHistory,
  }: { system: () => Promise<SystemView>; systemHistory: (hours: 24 | 168 | 336) => Promise<SystemHistory> },
) {
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/node', async () => ok(await system()), {
      root: true,
      detail: {
        summary: 'Nodes, queues, sandbox, database, ledger check and limits in force',
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
        summary: 'Polls, event-loop lag, queue, database size and backups over time',
        description:
          'At most 200 points, made of samples that each node writes every five minutes; they are kept for 14 days. polls is the sum of a point, the rest its highest value.',
      },
    });
}
