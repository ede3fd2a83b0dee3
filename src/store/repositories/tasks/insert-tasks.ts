import { sql } from 'drizzle-orm';
import type { NewTask, TaskRecord, TaskStore } from '../../ports/index.ts';
import { atomic, type Context, lazy, type RecordColumns, toJsonSafeText } from '../context.ts';

/** What a new task is given; the rest has the defaults of the table. */
const GIVEN = {
  task_id: 'text',
  platform: 'text',
  user_id: 'bigint',
  wallet_id: 'bigint',
  api_key_id: 'bigint',
  group: 'text',
  channel_id: 'bigint',
  credential_id: 'bigint',
  action: 'text',
  quota: 'bigint',
  properties: 'text',
  execution: 'text',
  billing: 'text',
  created_at: 'bigint',
  lease_owner: 'text',
  callback_url: 'text',
  source_hash: 'text',
  phase: 'text',
  upstream_model: 'text',
  slots: 'bigint',
  waiting_since: 'bigint',
} as const satisfies RecordColumns;

/** What the row of a new task holds beside what it is given. */
export const NEW_TASK = {
  status: 'NOT_START',
  progress: '0%',
  failReason: '',
  failReasonSentence: null,
  submitTime: 0,
  startTime: 0,
  finishTime: 0,
  data: null,
  state: null,
  upstreamTaskId: '',
  pollFailures: 0,
  polls: 0,
  nextPollAtMs: 0,
  leaseSeq: 1,
  hiddenAt: 0,
  linkVersions: '',
  phase: 'sending',
  upstreamModel: '',
  slots: 1,
  waitingSince: 0,
  dispatchedAtMs: 0,
  slotUntil: 0,
  cancelRequested: false,
  credentialId: null,
} as const satisfies Partial<TaskRecord>;

/** Inserts any number of tasks. */
export function createTaskInserts({ nowMs, now, lists: { prepareRecords } }: Context): Pick<TaskStore, 'insertAll'> {
  const names = sql.raw(
    Object.keys(GIVEN)
      .map((name) => `"${name}"`)
      .join(', '),
  );
  const insert = lazy(() =>
    prepareRecords(
      { name: 'given', columns: { ...GIVEN, lease_for: 'bigint', counts_start: 'bigint' } },
      (records) => sql`
      insert into tasks (${names}, status, progress, lease_seq, updated_at, lease_until, dispatched_at)
      select ${names}, ${sql.raw(`'${NEW_TASK.status}', '${NEW_TASK.progress}', ${NEW_TASK.leaseSeq}`)}, given.created_at,
        case when given.phase = 'waiting' then 0 else ${nowMs} + given.lease_for end,
        case when given.counts_start = 1 then ${nowMs} else 0 end
      from ${records}
      returning task_id, id, lease_until, dispatched_at`,
    ),
  );
  return {
    insertAll: atomic(async (tasks) => {
      const stored = new Map<string, Pick<TaskRecord, 'id' | 'leaseUntilMs' | 'dispatchedAtMs'>>();
      for (const [taskId, id, untilMs, atMs] of await insert()(tasks.map(encode), now()))
        stored.set(String(taskId), { id: Number(id), leaseUntilMs: Number(untilMs), dispatchedAtMs: Number(atMs) });
      return tasks.map(({ leaseForMs: _, countsStart: __, ...task }) => {
        const row = stored.get(task.taskId) as Pick<TaskRecord, 'id' | 'leaseUntilMs' | 'dispatchedAtMs'>;
        return { ...NEW_TASK, callbackUrl: null, sourceHash: '', ...task, updatedAt: task.createdAt, ...row };
      });
    }),
  };
}

const encode = (task: NewTask): Record<keyof typeof GIVEN | 'lease_for' | 'counts_start', string | number | null> => ({
  task_id: task.taskId,
  platform: task.platform,
  user_id: task.userId,
  wallet_id: task.walletId,
  api_key_id: task.apiKeyId,
  group: task.group,
  channel_id: task.channelId,
  credential_id: task.credentialId ?? null,
  action: toJsonSafeText(task.action),
  quota: task.quota,
  properties: JSON.stringify(task.properties),
  execution: JSON.stringify(task.execution),
  billing: JSON.stringify(task.billing),
  created_at: task.createdAt,
  lease_owner: task.leaseOwner,
  callback_url: task.callbackUrl ?? null,
  source_hash: task.sourceHash ?? '',
  phase: task.phase ?? NEW_TASK.phase,
  upstream_model: toJsonSafeText(task.upstreamModel ?? ''),
  slots: task.slots ?? NEW_TASK.slots,
  waiting_since: task.waitingSince ?? 0,
  lease_for: task.leaseForMs,
  counts_start: task.countsStart ? 1 : 0,
});
