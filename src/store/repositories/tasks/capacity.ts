import { and, desc, eq, lte, sql } from 'drizzle-orm';
import type {
  CapacityKey,
  CapacityStore,
  CountedAccount,
  RestEvent,
  RestEventRecord,
  ScopeCount,
} from '../../ports/index.ts';
import { atomic, type Context, encodeTexts, isFromFuture, lazy, toJsonSafeText } from '../context.ts';
import { IS_SENDING } from './claim-tasks.ts';

/** A start that is further ahead was written under a wrong clock. */
const AHEAD_MS = 1000;

export function createCapacityStore(context: Context): CapacityStore {
  const { dialect, nowMs, now, prepare, lockRows, lists } = context;
  const at = sql.placeholder;
  const nowSeconds = sql`cast(${nowMs} / 1000 as bigint)`;
  const isKey = sql`pool = ${at('pool')} and model = ${at('model')}`;
  // The database's clock wrote both of them in the statement that ended the task.
  const isAbandoned = sql`tasks.slot_until > 0 and tasks.slot_until > ${nowSeconds}
    and not ${isFromFuture(sql`tasks.updated_at * 1000`, nowMs)}`;
  const isRested = sql`(resting_until <= ${nowMs} or ${isFromFuture(sql`changed_at * 1000`, nowMs)})`;

  const all = lazy(() =>
    prepare(sql`select pool, model, ceiling, ceiling_reason,
      case when ${isRested} then 0 else resting_until - ${nowMs} end,
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
  const scopes = lists.records('asked', {
    no: 'integer',
    ...account,
    model: 'text',
    starts: 'integer',
    relays_except: 'text',
  });
  const isOfAccount = sql`tasks.channel_id = asked.channel_id
    and (asked.credential_id = 0 or tasks.credential_id = asked.credential_id)`;
  const isOpen = sql`relay_requests.status = 'OPEN' and relay_requests.lease_until > ${nowMs}`;
  const isRelayedBy = sql`${isOpen} and relay_requests.channel_id = asked.channel_id
    and (asked.credential_id = 0 or relay_requests.credential_id = asked.credential_id)`;
  const ofScope = sql`${scopes} join tasks on ${isOfAccount}
    and (asked.model = '' or tasks.upstream_model = asked.model)`;
  const countAll = lazy(() =>
    prepare(sql`select 'now', 0, ${nowMs}
      union all select 'running', asked.no, sum(tasks.slots) from ${ofScope} where ${IS_SENDING} group by asked.no
      union all select 'running', asked.no, count(*) from ${scopes} join relay_requests on ${isRelayedBy}
        where asked.relays_except is not null and relay_requests.lease_owner <> asked.relays_except group by asked.no
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
        sum(case when status = 'QUEUED' then 1 else 0 end), sum(case when status in ('NOT_START', 'SUBMITTED') then 1 else 0 end)
      from tasks where ${IS_SENDING} and ${isOther} group by channel_id, credential_id, upstream_model
      union all select channel_id, credential_id, upstream_model, 0, 0, sum(slots), 0, 0
      from tasks where ${isAbandoned} and ${isOther} group by channel_id, credential_id, upstream_model
      union all select channel_id, credential_id, '', count(*), 0, 0, 0, 0
      from relay_requests where ${isOpen} and lease_owner <> ${at('node')} group by channel_id, credential_id`),
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
  const ofPools = lists.amongTexts(sql`pool`, 'pools');
  const listRests = lazy(() =>
    prepare(sql`select pool, model, rest_reason from capacity where ${ofPools} and rest_reason <> ''
      order by pool, model ${lockRows}`),
  );
  const wake = lazy(() =>
    prepare(sql`update capacity set ${NO_REST}, rest_generation = rest_generation + 1
      where ${ofPools} and rest_reason <> '' returning 1`),
  );

  // The lease of the task that has the trial: while it is being sent, nobody else tries.
  const isTried = sql`exists (select 1 from tasks where tasks.task_id = capacity.trial_task_id
    and tasks.status = 'NOT_START' and tasks.phase = 'sending' and tasks.lease_until > ${nowMs})`;
  const claim = lazy(() =>
    prepare(sql`update capacity set trial_task_id = ${at('taskId')}
      where ${isKey} and rest_generation = ${at('generation')} and rest_reason <> ''
        and ${isRested}
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
      where ${lists.amongTexts(sql`pool`, 'pools')} and ceiling > 0 returning 1`),
  );
  const free = lazy(() =>
    prepare(sql`update tasks set slot_until = 0 from ${lists.records('asked', account)}
      where ${isOfAccount} and tasks.slot_until > 0 returning 1`),
  );

  const events = lazy(() => createRestEvents(context));

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
      const wanted = new Set(
        asked.map(({ pool, model }) => JSON.stringify([toJsonSafeText(pool), toJsonSafeText(model)])),
      );
      const values = { asked: JSON.stringify([...wanted].map(toKey)), ...now() };
      if ((await lockAll()(values)).length === wanted.size) return;
      await createRows()(values);
      await lockAll()(values);
    }),

    async count(asked, withinMs) {
      const rows = asked.flatMap(({ accounts, model, starts, relaysExcept: relays_except }, no) =>
        accounts.map((each) => ({
          no,
          ...toRow(each),
          model: toJsonSafeText(model),
          starts: starts ? 1 : 0,
          relays_except,
        })),
      );
      const counts = asked.map((): ScopeCount => ({ running: 0, abandoned: 0, startsMs: [] }));
      let at = 0;
      for (const [what, no, value] of await countAll()({ asked: JSON.stringify(rows), withinMs, ...now() })) {
        const count = counts[Number(no)];
        if (what === 'now') at = Number(value);
        else if (what === 'start') count?.startsMs.push(Number(value));
        else if (count) count[what === 'running' ? 'running' : 'abandoned'] += Number(value);
      }
      for (const { startsMs } of counts) startsMs.sort((a, b) => a - b);
      return { nowMs: at, scopes: counts };
    },

    async running(except, node) {
      const known = JSON.stringify(except.map((id) => ({ id: toJsonSafeText(id) })));
      return (await countRunning()({ known, node, ...now() })).map(([channelId, credentialId, model, ...counts]) => ({
        channelId: Number(channelId),
        credentialId: credentialId === null ? null : Number(credentialId),
        model: String(model),
        accepted: Number(counts[0]),
        sending: Number(counts[1]),
        abandoned: Number(counts[2]),
        queued: Number(counts[3]),
        unpolled: Number(counts[4]),
      }));
    },

    beginRest: atomic(async (key, rest, event) => {
      if ((await begin()({ ...plain(key), ...rest, ...now() })).length !== 1) return false;
      if (event) await events().note(event, rest.forMs);
      return true;
    }),
    endRest: atomic(async (key, generation, event) => {
      if ((await end()({ ...plain(key), generation, ...now() })).length !== 1) return false;
      if (event) await events().note(event, 0);
      return true;
    }),
    claimTrial: async (key, trial) => (await claim()({ ...plain(key), ...trial, ...now() })).length === 1,
    putCeiling: async (key, ceiling) => (await put()({ ...plain(key), ...ceiling, ...now() })).length === 1,
    wake: atomic(async (pools, channelId) => {
      const named = { pools: encodeTexts(pools), ...now() };
      for (const [pool, model, reason] of await listRests()(named)) {
        // A full account is not an event.
        if (reason === 'capacity') continue;
        const [own, credentialId = 0] = readOwnPool(String(pool)) ?? [channelId];
        const what = 'resumed' as const;
        const event = { channelId: own, credentialId, model: String(model), reason: String(reason), what };
        await events().note(event, 0);
      }
      return (await wake()(named)).length;
    }),
    restEvents: (channelId, limit) => events().ofChannel(channelId, limit),
    clearCeilings: async (pools) => (await clear()({ pools: encodeTexts(pools), ...now() })).length,
    clearAbandoned: async (accounts) => (await free()({ asked: JSON.stringify(accounts.map(toRow)) })).length,
  };
}

/** `#CHANNEL` and `#CHANNEL/CREDENTIAL`, where nobody named a pool. */
const readOwnPool = (pool: string): [number, number?] | undefined => {
  const [, channelId, credentialId] = /^#(\d+)(?:\/(\d+))?$/.exec(pool) ?? [];
  return channelId === undefined ? undefined : [Number(channelId), credentialId ? Number(credentialId) : 0];
};

const toRow = ({ channelId, credentialId }: CountedAccount) => ({
  channel_id: channelId,
  credential_id: credentialId,
});

const toKey = (text: string): CapacityKey => {
  const [pool, model] = JSON.parse(text) as [string, string];
  return { pool, model };
};

const plain = ({ pool, model }: CapacityKey): CapacityKey => ({
  pool: toJsonSafeText(pool),
  model: toJsonSafeText(model),
});

/**
 * Rest events kept per channel and reason, so that a frequent reason does not push out the others.
 */
const KEPT = 50;

/** What people read of an account's rests. */
function createRestEvents({ db, tables: { restEvents }, nowMs, prepare, now }: Context) {
  const at = sql.placeholder;
  const nowSeconds = sql`cast(${nowMs} / 1000 as bigint)`;
  const insert = prepare(sql`insert into rest_events (channel_id, credential_id, model, reason, what, until, at)
    values (${at('channelId')}, ${at('credentialId')}, ${at('model')}, ${at('reason')}, ${at('what')},
      case when cast(${at('forMs')} as bigint) = 0 then 0
        else cast((${nowMs} + cast(${at('forMs')} as bigint)) / 1000 as bigint) end,
      ${nowSeconds})`);

  return {
    /** `forMs`: how long it rests from now on; 0: no longer. */
    async note(event: RestEvent, forMs: number): Promise<void> {
      await insert({ ...event, model: toJsonSafeText(event.model), forMs, ...now() });
      const isOfReason = and(eq(restEvents.channelId, event.channelId), eq(restEvents.reason, event.reason));
      const [oldest] = await db
        .select({ id: restEvents.id })
        .from(restEvents)
        .where(isOfReason)
        .orderBy(desc(restEvents.id))
        .limit(1)
        .offset(KEPT);
      if (oldest) await db.delete(restEvents).where(and(isOfReason, lte(restEvents.id, oldest.id)));
    },
    ofChannel: (channelId: number, limit: number): Promise<RestEventRecord[]> =>
      db.select().from(restEvents).where(eq(restEvents.channelId, channelId)).orderBy(desc(restEvents.id)).limit(limit),
  };
}
