import type { Database } from './databases.ts';
import { sum } from './facts.ts';

export type BookedTask = {
  taskId: string;
  user: string;
  status: string;
  failReason: string;
  quota: number;
  upstreamTaskId: string;
  /** The vendor's order that its prompt names. */
  order: string;
  callbackUrl: string | null;
  /** Unix seconds; 0: it was sent at once. */
  waitingSince: number;
  /** Unix seconds. */
  finishTime: number;
};
export type BookedRelay = {
  relayId: string;
  user: string;
  /** That of the attempt. */
  requestId: string;
  status: string;
  quota: number;
};
export type LedgerLine = { user: string; taskId: string | null; kind: string; amount: number };
export type TimelineEvent = { taskId: string; kind: string; status: string };
export type KeptResult = { taskId: string; artifactKey: string; state: string; sha256: string; reason: string };

/** What the database says when everything has ended. */
export type Books = {
  tasks: readonly BookedTask[];
  relays: readonly BookedRelay[];
  lines: readonly LedgerLine[];
  events: readonly TimelineEvent[];
  kept: readonly KeptResult[];
  balances: ReadonlyMap<string, { quota: number; usedQuota: number }>;
  /** What is left for the API key of each user, and what it has used. */
  keys: ReadonlyMap<string, { left: number; used: number }>;
  /** What all budgets say was spent of them. */
  budgeted: number;
};

export async function readBooks({ query }: Database): Promise<Books> {
  const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
  const tasks =
    await query(`select t.task_id, u.username, t.status, t.fail_reason, t.quota, t.upstream_task_id, t.properties,
    t.callback_url, t.waiting_since, t.finish_time from tasks t join users u on u.id = t.user_id order by t.id`);
  const relays = await query(`select r.relay_id, u.username, r.request_id, r.status, r.quota
    from relay_requests r join users u on u.id = r.user_id order by r.id`);
  const keys = await query('select u.username, k.quota, k.used_quota from api_keys k join users u on u.id = k.user_id');
  const budgets = await query('select spent from budget_sums');
  const lines = await query(`select u.username, l.task_id, l.kind, l.amount
    from ledger_entries l join wallets w on w.id = l.wallet_id join users u on u.id = w.user_id order by l.id`);
  const events = await query('select task_id, kind, status from task_events order by id');
  const kept = await query('select task_id, artifact_key, state, sha256, reason from kept_results order by id');
  const users = await query('select u.username, w.quota, w.used_quota from wallets w join users u on u.id = w.user_id');
  const readProperties = (value: unknown) =>
    (typeof value === 'string' ? JSON.parse(value) : value) as { input: string };
  return {
    tasks: tasks.map((row) => ({
      taskId: text(row.task_id),
      user: text(row.username),
      status: text(row.status),
      failReason: text(row.fail_reason),
      quota: Number(row.quota),
      upstreamTaskId: text(row.upstream_task_id),
      order: readProperties(row.properties).input,
      callbackUrl: row.callback_url === null ? null : text(row.callback_url),
      waitingSince: Number(row.waiting_since),
      finishTime: Number(row.finish_time),
    })),
    relays: relays.map((row) => ({
      relayId: text(row.relay_id),
      user: text(row.username),
      requestId: text(row.request_id),
      status: text(row.status),
      quota: Number(row.quota),
    })),
    keys: new Map(keys.map((row) => [text(row.username), { left: Number(row.quota), used: Number(row.used_quota) }])),
    budgeted: sum(budgets.map(({ spent }) => Number(spent))),
    lines: lines.map((row) => ({
      user: text(row.username),
      taskId: row.task_id === null ? null : text(row.task_id),
      kind: text(row.kind),
      amount: Number(row.amount),
    })),
    events: events.map((row) => ({ taskId: text(row.task_id), kind: text(row.kind), status: text(row.status) })),
    kept: kept.map((row) => ({
      taskId: text(row.task_id),
      artifactKey: text(row.artifact_key),
      state: text(row.state),
      sha256: text(row.sha256),
      reason: text(row.reason),
    })),
    balances: new Map(
      users.map((row) => [text(row.username), { quota: Number(row.quota), usedQuota: Number(row.used_quota) }]),
    ),
  };
}
