import { and, desc, eq, getTableName, inArray, lt, sql } from 'drizzle-orm';
import { type StoredSentence, sentence } from '../../../kernel/index.ts';
import { FOLDER_OPTION } from '../../files/guard-folder.ts';
import { BACKUP_CLOCK_SECONDS, type BackupRun, type BackupStore } from '../../ports/index.ts';
import { atomic, type Context, decodeSentence, encodeSentence, isOverIn } from '../context.ts';
import { RUNNING } from '../tasks/claim-tasks.ts';
import { invalidationStatements } from './invalidate-restored-state.ts';

const LOCK = 'backups';
const DIED = sentence('backup.died');
/** No lease is longer; one that ends later was written under a wrong clock. */
const LONGEST_LEASE_MS = 3_600_000;
const TWO_DAYS = 172_800;

export function createBackupStore(context: Context): BackupStore {
  const { db, dialect, tables, nowMs, now, prepare, lockName, statement } = context;
  const { backupRuns: runs } = tables;
  const at = sql.placeholder;
  const nowSeconds = sql`cast(${nowMs} / 1000 as bigint)`;
  const isOver = isOverIn(sql`lease_until`, nowMs, LONGEST_LEASE_MS);
  const dueAt = sql`cast(${at('dueAt')} as bigint)`;
  const isHeld = sql`id = ${at('id')} and owner = ${at('owner')} and status = 'running'`;

  /** The nodes' clocks may differ, so leases are compared by the store's. */
  const take = (alone: boolean) => {
    const isFree = alone
      ? sql`1 = 1`
      : sql`not exists (
        select 1 from backup_runs as other where other.status = 'running' and not ${isOver})`;
    return prepare(sql`
      insert into backup_runs (id, trigger_kind, status, place, owner, lease_until, started_at)
      select cast(${at('id')} as text), cast(${at('trigger')} as text), 'running', cast(${at('place')} as text),
        cast(${at('owner')} as text), ${nowMs} + cast(${at('leaseForMs')} as bigint), ${nowSeconds}
      where ${isFree} and not exists (
        select 1 from backup_runs as made where made.trigger_kind = 'schedule' and made.status = 'done'
          and made.started_at >= ${dueAt} and made.started_at < ${dueAt} + ${sql.raw(String(TWO_DAYS))})
      on conflict (id) do update set status = 'running', backup = '', place = excluded.place, owner = excluded.owner,
        lease_until = excluded.lease_until, started_at = excluded.started_at, ended_at = 0, bytes = 0, message = '',
        message_sentence = null
      where backup_runs.status = 'running' or (backup_runs.status = 'failed'
        and (backup_runs.ended_at <= ${nowSeconds} - cast(${at('retrySeconds')} as bigint)
          or backup_runs.ended_at > ${nowSeconds} + ${sql.raw(String(BACKUP_CLOCK_SECONDS))}))
      returning id`);
  };

  const columns = {
    id: runs.id,
    trigger: runs.trigger,
    status: sql<BackupRun['status']>`case when status = 'running' and ${isOver} then 'failed' else status end`,
    backup: runs.backup,
    place: runs.place,
    startedAt: runs.startedAt,
    endedAt: sql<number>`case when status = 'running' and ${isOver} then
      case when lease_until <= ${nowMs} then lease_until / 1000 else started_at end else ended_at end`.mapWith(
      (seconds: unknown) => Math.floor(Number(seconds)),
    ),
    bytes: runs.bytes,
    message: sql<string>`case when status = 'running' and ${isOver} then ${DIED.message} else message end`,
    messageSentence: sql<StoredSentence | null>`case when status = 'running' and ${isOver}
      then ${encodeSentence(DIED)} else message_sentence end`.mapWith(decodeSentence),
  };
  const newestFirst = [desc(runs.startedAt), desc(runs.id)];

  return {
    begin: atomic(async ({ alone, dueAt: due, ...run }) => {
      await lockName(LOCK);
      if (alone) {
        await statement(sql`update backup_runs set status = 'failed', message = ${DIED.message},
          message_sentence = ${encodeSentence(DIED)}, ended_at = started_at
          where status = 'running'`);
      }
      return (await take(alone)({ ...run, dueAt: due ?? null, ...now() })).length === 1;
    }),

    async renew(lease, leaseForMs) {
      const renewed = await prepare(sql`
        update backup_runs set lease_until = ${nowMs} + cast(${at('leaseForMs')} as bigint) where ${isHeld} returning id`)(
        { ...lease, leaseForMs, ...now() },
      );
      return renewed.length === 1;
    },

    async end(lease, { status, backup, bytes, said }) {
      const ended = await prepare(sql`
        update backup_runs set status = ${at('status')}, backup = ${at('backup')}, bytes = ${at('bytes')},
          message = ${at('message')}, message_sentence = ${at('sentence')}, ended_at = ${nowSeconds}, lease_until = 0
        where ${isHeld} returning id`)({
        ...{ ...lease, status, backup, bytes },
        ...{ message: said?.message ?? '', sentence: said ? encodeSentence(said) : null, ...now() },
      });
      return ended.length === 1;
    },

    latest: async (limit) =>
      db
        .select(columns)
        .from(runs)
        .orderBy(...newestFirst)
        .limit(limit)
        .prepare()
        .execute(now()),

    async latestDone() {
      const [row] = await db
        .select(columns)
        .from(runs)
        .where(eq(runs.status, 'done'))
        .orderBy(...newestFirst)
        .limit(1)
        .prepare()
        .execute(now());
      return row;
    },

    async deleteOld(before, limit) {
      const old = db.select({ id: runs.id }).from(runs).where(lt(runs.startedAt, before)).limit(limit);
      const deleted = await db
        .delete(runs)
        .where(and(inArray(runs.id, old)))
        .returning({ id: runs.id });
      return deleted.length;
    },

    async schemas() {
      if (dialect === 'sqlite') return [];
      const names = sql.join(
        ['schema_migrations', ...Object.values(tables).map((table) => getTableName(table))].map(
          (name) => sql`(${name})`,
        ),
        sql`, `,
      );
      const found = await statement(sql`select distinct nspname from (values ${names}) as own (name)
        join pg_class on pg_class.oid = to_regclass(quote_ident(own.name))
        join pg_namespace on pg_namespace.oid = relnamespace order by nspname`);
      return found.map(([name]) => String(name));
    },

    async measure() {
      const [row = []] = await statement(sql`select (select count(*) from users), (select count(*) from tasks),
        (select count(*) from ledger_entries), (select cast(coalesce(sum(amount), 0) as text) from ledger_entries)`);
      const [users, tasks, ledgerEntries, ledgerSum] = row;
      return {
        users: Number(users),
        tasks: Number(tasks),
        ledgerEntries: Number(ledgerEntries),
        ledgerSum: String(ledgerSum),
      };
    },

    ...createStateInvalidation(context),
  };
}

/**
 * What a restored database must forget. Each statement is conditional, so that a second run, after
 * one that was killed, changes nothing more.
 */
function createStateInvalidation({ statement }: Context): Pick<BackupStore, 'invalidateState'> {
  return {
    invalidateState: atomic(async (at) => {
      // A process of the past may still be submitting: its lease's number no longer fits.
      const submissions = await statement(sql`update tasks set lease_owner = null, lease_until = 0,
        lease_seq = lease_seq + 1 where status = 'NOT_START' and lease_until > 0 returning id`);
      await statement(sql`update tasks set lease_owner = null, lease_until = 0, lease_seq = lease_seq + 1
        where status in ${RUNNING} and lease_until > 0`);
      await statement(sql`update relay_requests set lease_until = 0 where status = 'OPEN' and lease_until > 0`);
      await statement(sql`update kept_results set lease_owner = null, lease_until = 0, lease_seq = lease_seq + 1
        where lease_owner is not null`);
      const ended: Record<string, number> = {};
      for (const [table, text] of Object.entries(invalidationStatements(at)))
        ended[table] = (await statement(sql.raw(text))).length;
      // The restored gateway has another folder of results, which its first use marks.
      await statement(sql`delete from options where key = ${FOLDER_OPTION}`);
      await statement(sql`delete from nodes`);
      await statement(sql`delete from backup_runs`);
      return {
        submissions: submissions.length,
        webhooks: ended.webhook_outbox ?? 0,
        sessions: ended.user_sessions ?? 0,
      };
    }),
  };
}
