import { sql } from 'drizzle-orm';
import type { CapacityKey, CapacityStore, CountedAccount, ScopeCount } from '../../ports/index.ts';
import { atomic, type Context, encodeTexts, isOverIn, lazy, plainText } from '../context.ts';
import { UNFINISHED } from './claim-tasks.ts';

/** A rest that ends later was written under a wrong clock. */
const LONGEST_REST_MS = 8 * 3_600_000;
/** A start that is further ahead was written under a wrong clock. */
const AHEAD_MS = 1000;

export function createCapacityStore(context: Context): CapacityStore {
  const { dialect, nowMs, now, prepare, lockRows, lists } = context;
  const at = sql.placeholder;
  const nowSeconds = sql`cast(${nowMs} / 1000 as bigint)`;
  const isKey = sql`pool = ${at('pool')} and model = ${at('model')}`;
  const isRunning = sql`tasks.status in ${UNFINISHED} and tasks.phase = 'sending'`;
  const isAbandoned = sql`tasks.slot_until > 0 and tasks.slot_until > ${nowSeconds}`;

  const all = lazy(() =>
    prepare(sql`select pool, model, ceiling, ceiling_reason,
      case when ${isOverIn(sql`resting_until`, nowMs, LONGEST_REST_MS)} then 0 else resting_until - ${nowMs} end,
      rest_reason, rest_step, rest_generation, trial_task_id, changed_at from capacity order by pool, model`),
  );

  const keys = lists.records('asked', { pool: 'text', model: 'text' });
  const lockAll = lazy(() =>
    prepare(sql`select capacity.pool, capacity.model from capacity
      where (capacity.pool, capacity.model) in (select asked.pool, asked.model from ${keys})
      order by capacity.pool, capacity.model ${lockRows}`),
  );
  const createRows = lazy(() =>
    prepare(sql`insert into capacity (pool, model, changed_at)
      select asked.pool, asked.model, ${nowSeconds} from ${keys} where true order by 1, 2 on conflict do nothing`),
  );

  const account = { channel_id: 'bigint', credential_id: 'bigint' } as const;
  const scopes = lists.records('asked', { no: 'integer', ...account, model: 'text', starts: 'integer' });
  const isOfAccount = sql`tasks.channel_id = asked.channel_id
    and (asked.credential_id = 0 or tasks.credential_id = asked.credential_id)`;
  const ofScope = sql`${scopes} join tasks on ${isOfAccount}
    and (asked.model = '' or tasks.upstream_model = asked.model)`;
  const countAll = lazy(() =>
    prepare(sql`select 'now', 0, ${nowMs}
      union all select 'running', asked.no, sum(tasks.slots) from ${ofScope} where ${isRunning} group by asked.no
      union all select 'abandoned', asked.no, sum(tasks.slots) from ${ofScope} where ${isAbandoned} group by asked.no
      union all select 'start', asked.no, tasks.dispatched_at from ${ofScope}
        where asked.starts = 1 and tasks.dispatched_at > 0
          and tasks.dispatched_at > ${nowMs} - cast(${at('withinMs')} as bigint)
          and tasks.dispatched_at <= ${nowMs} + ${sql.raw(String(AHEAD_MS))}`),
  );

  const isOther = sql`tasks.task_id not in (select id from ${lists.records('known', { id: 'text' })})`;
  const countRunning = lazy(() =>
    prepare(sql`select channel_id, credential_id, upstream_model,
        sum(case when status = 'NOT_START' then 0 else slots end), sum(case when status = 'NOT_START' then slots else 0 end), 0,
        sum(case when status = 'QUEUED' then 1 else 0 end)
      from tasks where ${isRunning} and ${isOther} group by channel_id, credential_id, upstream_model
      union all select channel_id, credential_id, upstream_model, 0, 0, sum(slots), 0
      from tasks where ${isAbandoned} and ${isOther} group by channel_id, credential_id, upstream_model`),
  );

  const begin = lazy(() =>
    prepare(sql`insert into capacity (pool, model, resting_until, rest_reason, rest_step, rest_generation, changed_at)
      select cast(${at('pool')} as text), cast(${at('model')} as text), ${nowMs} + cast(${at('forMs')} as bigint),
        cast(${at('reason')} as text), cast(${at('step')} as integer), cast(${at('generation')} as integer) + 1, ${nowSeconds}
      where true
      on conflict (pool, model) do update set resting_until = excluded.resting_until, rest_reason = excluded.rest_reason,
        rest_step = excluded.rest_step, rest_generation = excluded.rest_generation, trial_task_id = null,
        changed_at = excluded.changed_at
      where capacity.rest_generation = excluded.rest_generation - 1 returning 1`),
  );
  const NO_REST = sql`resting_until = 0, rest_reason = '', rest_step = 0, trial_task_id = null, changed_at = ${nowSeconds}`;
  const end = lazy(() =>
    prepare(sql`update capacity set ${NO_REST}
      where ${isKey} and rest_generation = ${at('generation')} and rest_reason <> '' returning 1`),
  );
  const wake = lazy(() =>
    prepare(sql`update capacity set ${NO_REST}, rest_generation = rest_generation + 1
      where ${lists.amongTexts(sql`pool`, 'pools')} and rest_reason <> '' returning 1`),
  );

  // The lease of the task that has the trial: while it is being sent, nobody else tries.
  const isTried = sql`exists (select 1 from tasks where tasks.task_id = capacity.trial_task_id
    and tasks.status = 'NOT_START' and tasks.phase = 'sending' and tasks.lease_until > ${nowMs})`;
  const claim = lazy(() =>
    prepare(sql`update capacity set trial_task_id = ${at('taskId')}
      where ${isKey} and rest_generation = ${at('generation')} and rest_reason <> ''
        and ${isOverIn(sql`resting_until`, nowMs, LONGEST_REST_MS)}
        and (trial_task_id is null or trial_task_id = ${at('taskId')} or not ${isTried}) returning 1`),
  );

  const put = lazy(() =>
    prepare(sql`insert into capacity (pool, model, ceiling, ceiling_reason, changed_at)
      select cast(${at('pool')} as text), cast(${at('model')} as text), cast(${at('after')} as integer),
        cast(${at('reason')} as text), ${nowSeconds} where true
      on conflict (pool, model) do update set ceiling = excluded.ceiling, ceiling_reason = excluded.ceiling_reason,
        changed_at = excluded.changed_at
      where capacity.ceiling = ${at('before')} returning 1`),
  );
  const clear = lazy(() =>
    prepare(sql`update capacity set ceiling = 0, ceiling_reason = '', changed_at = ${nowSeconds}
      where pool = ${at('pool')} and ceiling > 0 returning 1`),
  );
  const free = lazy(() =>
    prepare(sql`update tasks set slot_until = 0 from ${lists.records('asked', account)}
      where ${isOfAccount} and tasks.slot_until > 0 returning 1`),
  );

  return {
    async all() {
      return (await all()(now())).map(([pool, model, ceiling, reason, restingForMs, ...rest]) => ({
        pool: String(pool),
        model: String(model),
        ceiling: Number(ceiling),
        ceilingReason: String(reason),
        restingForMs: Number(restingForMs),
        restReason: String(rest[0]),
        restStep: Number(rest[1]),
        restGeneration: Number(rest[2]),
        trialTaskId: rest[3] === null ? null : String(rest[3]),
        changedAt: Number(rest[4]),
      }));
    },

    lock: atomic(async (asked) => {
      if (dialect === 'sqlite' || asked.length === 0) return;
      const wanted = new Set(asked.map(({ pool, model }) => JSON.stringify([plainText(pool), plainText(model)])));
      const values = { asked: JSON.stringify([...wanted].map(toKey)), ...now() };
      if ((await lockAll()(values)).length === wanted.size) return;
      await createRows()(values);
      await lockAll()(values);
    }),

    async count(asked, withinMs) {
      const rows = asked.flatMap(({ accounts, model, starts }, no) =>
        accounts.map((each) => ({ no, ...toRow(each), model: plainText(model), starts: starts ? 1 : 0 })),
      );
      const counts = asked.map((): ScopeCount => ({ running: 0, abandoned: 0, startsMs: [] }));
      let at = 0;
      for (const [what, no, value] of await countAll()({ asked: JSON.stringify(rows), withinMs, ...now() })) {
        const count = counts[Number(no)];
        if (what === 'now') at = Number(value);
        else if (what === 'start') count?.startsMs.push(Number(value));
        else if (count) count[what === 'running' ? 'running' : 'abandoned'] = Number(value);
      }
      for (const { startsMs } of counts) startsMs.sort((a, b) => a - b);
      return { nowMs: at, scopes: counts };
    },

    async running(except) {
      const known = JSON.stringify(except.map((id) => ({ id: plainText(id) })));
      return (await countRunning()({ known, ...now() })).map(([channelId, credentialId, model, ...counts]) => ({
        channelId: Number(channelId),
        credentialId: credentialId === null ? null : Number(credentialId),
        model: String(model),
        accepted: Number(counts[0]),
        sending: Number(counts[1]),
        abandoned: Number(counts[2]),
        queued: Number(counts[3]),
      }));
    },

    beginRest: async (key, rest) => (await begin()({ ...plain(key), ...rest, ...now() })).length === 1,
    endRest: async (key, generation) => (await end()({ ...plain(key), generation, ...now() })).length === 1,
    claimTrial: async (key, trial) => (await claim()({ ...plain(key), ...trial, ...now() })).length === 1,
    putCeiling: async (key, ceiling) => (await put()({ ...plain(key), ...ceiling, ...now() })).length === 1,
    wake: async (pools) => (await wake()({ pools: encodeTexts(pools), ...now() })).length,
    clearCeilings: async (pool) => (await clear()({ pool: plainText(pool), ...now() })).length,
    clearAbandoned: async (accounts) => (await free()({ asked: JSON.stringify(accounts.map(toRow)) })).length,
  };
}

const toRow = ({ channelId, credentialId }: CountedAccount) => ({
  channel_id: channelId,
  credential_id: credentialId,
});

const toKey = (text: string): CapacityKey => {
  const [pool, model] = JSON.parse(text) as [string, string];
  return { pool, model };
};

const plain = ({ pool, model }: CapacityKey): CapacityKey => ({ pool: plainText(pool), model: plainText(model) });
