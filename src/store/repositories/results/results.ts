import { and, eq, gt, inArray, isNotNull, lte, not, type SQL, sql } from 'drizzle-orm';
import {
  INPUT_KIND,
  type KeptResultRecord,
  LONGEST_LEASE_MS,
  LONGEST_RESULT_PAUSE_MS,
  LONGEST_RESULT_TRIES_MS,
  PREVIEW_KIND,
  type ResultStore,
} from '../../ports/index.ts';
import { STORED_PENDING } from '../../schema/dialect-columns.ts';
import {
  atomic,
  type Context,
  createPullForward,
  encodeSentence,
  encodeTexts,
  isOverIn,
  lazy,
  separate,
} from '../context.ts';
import { columnPlaceholders, countAll } from '../prepare-by-shape.ts';
import { createFileReferences, createRequestFiles } from './file-references.ts';
import { createKeptUsage, createPendingInsert, isKeptByUser } from './previews.ts';

/** Literals and not parameters, so that the partial indexes apply. */
const PENDING = sql.raw(`'${STORED_PENDING}'`);
const KEPT = sql.raw(`'kept'`);
const LOST = sql.raw(`'lost'`);
const PREVIEW = sql.raw(`'${PREVIEW_KIND}'`);

const NO_REASON = { reason: '', reasonSentence: sql`null` };

export function createResultStore(context: Context): ResultStore {
  const {
    db,
    tables,
    nowMs,
    now,
    lockRows,
    prepare,
    lists: { notAmong, amongRows, amongTexts },
  } = context;
  const { keptResults: results, keptFiles: files, users, wallets } = tables;
  const at = sql.placeholder;
  const isPending = sql`${results.state} = ${PENDING}`;
  const isKept = sql`${results.state} = ${KEPT}`;
  const isNoPreview = sql`${results.kind} <> ${PREVIEW}`;
  const isUsersOwn = isKeptByUser(results);
  const references = createFileReferences(context);
  const insertPending = createPendingInsert(context);
  const sumKept = createKeptUsage(context);
  const isInput = eq(results.kind, INPUT_KIND);
  const ofTask = (taskId: string) => eq(results.taskId, taskId);
  const isFree = isOverIn(results.leaseUntilMs, nowMs, LONGEST_LEASE_MS);
  const leaseIsOver = isOverIn(sql`lease_until`, nowMs, LONGEST_LEASE_MS);
  const pullForward = createPullForward(context, {
    rows: { table: sql`kept_results`, isWaiting: sql`state = ${PENDING}` },
    longestMs: LONGEST_RESULT_PAUSE_MS,
    triesMs: LONGEST_RESULT_TRIES_MS,
  });
  const isHeld = and(
    eq(results.id, at('id')),
    eq(results.leaseOwner, at('leaseOwner')),
    eq(results.leaseSeq, at('leaseSeq')),
  );
  const released = { leaseOwner: sql`null`, leaseUntilMs: sql`0` };
  const endLeases = async (leases: SQL): Promise<number> =>
    (await db.update(results).set(released).where(leases).returning({ id: results.id })).length;

  const findNextDue = lazy(() =>
    prepare(sql`select case when ${pullForward.isNeeded} then 0 else next_attempt_at - ${nowMs} end
      from kept_results where state = ${PENDING} and ${leaseIsOver} order by next_attempt_at limit 1`),
  );
  const claim = lazy(() => {
    // From user to user over the index of pending results, however many of them one user has.
    const following = (user: SQL) =>
      sql`(select min(user_id) from kept_results where state = ${PENDING} and user_id > ${user})`;
    const first = sql`(select id from kept_results where state = ${PENDING} and user_id = turn.user_id
      and next_attempt_at <= ${nowMs} and ${leaseIsOver} and ${notAmong(sql`id`, 'held')} order by next_attempt_at limit 1)`;
    const inTurn = sql`with recursive turn (user_id) as (
        select ${following(sql`${at('after')}`)}
        union all select ${following(sql`turn.user_id`)} from turn where turn.user_id is not null)
      select id from (select ${first} as id from turn where not ${amongTexts(sql`cast(turn.user_id as text)`, 'except')}) as firsts
      where id is not null limit ${at('limit')}`;
    const due = sql`select ${results.id} from ${results} where ${results.id} in (${inTurn}) and ${isFree}`;
    return db
      .update(results)
      .set({
        leaseOwner: sql`${at('owner')}`,
        leaseUntilMs: sql`${nowMs} + ${at('leaseForMs')}`,
        leaseSeq: sql`${results.leaseSeq} + 1`,
      })
      .where(and(amongRows(results.id, due), isPending))
      .returning()
      .prepare();
  });
  const renew = lazy(() =>
    db
      .update(results)
      .set({ leaseUntilMs: sql`${nowMs} + ${at('forMs')}` })
      .where(and(isHeld, isPending))
      .returning({ id: results.id })
      .prepare(),
  );
  const removeListed = lazy(() =>
    db
      .delete(results)
      .where(and(isHeld, isPending, eq(results.artifactKey, '')))
      .returning({ id: results.id })
      .prepare(),
  );
  const lockTask = lazy(() =>
    prepare(sql`select task_id from tasks where task_id = ${at('taskId')} and hidden_at = 0 ${lockRows}`),
  );
  const findOwner = lazy(() => prepare(sql`select user_id from kept_results where id = ${at('id')}`));
  const expect = lazy(() =>
    prepare(sql`insert into kept_files (sha256, bytes, refs, changed_at)
      values (${at('sha256')}, ${at('bytes')}, 0, ${nowMs} / 1000)
      on conflict (sha256) do update set changed_at = excluded.changed_at
      where kept_files.refs >= 0 returning refs`),
  );
  const markKept = lazy(() => {
    const { sha256, bytes, mimeType, keptAt, keptUntil, width, height } = results;
    const given = columnPlaceholders({ sha256, bytes, mimeType, keptAt, keptUntil, width, height });
    return db
      .update(results)
      .set({ ...released, ...given, ...NO_REASON, state: 'kept', attempts: sql`${results.attempts} + 1` })
      .where(and(isHeld, isPending))
      .returning({ id: results.id })
      .prepare();
  });
  const postpone = lazy(() => {
    const next = sql`${nowMs} + ${at('inMs')}`;
    const isOver = sql`${at('isFinal')} = 1 or ${results.giveUpAtMs} <= ${nowMs}`;
    return db
      .update(results)
      .set({
        ...released,
        reason: sql`${at('reason')}`,
        reasonSentence: sql`${at('reasonSentence')}`,
        state: sql`case when ${isOver} then ${LOST} else ${PENDING} end`,
        attempts: sql`${results.attempts} + 1`,
        // The last attempt is made at the give-up time.
        nextAttemptAtMs: sql`case when ${next} < ${results.giveUpAtMs} then ${next} else ${results.giveUpAtMs} end`,
      })
      .where(and(isHeld, isPending))
      .returning({ id: results.id })
      .prepare();
  });
  const find = lazy(() =>
    db
      .select()
      .from(results)
      .where(and(eq(results.taskId, at('taskId')), eq(results.artifactKey, at('artifactKey')), not(isInput)))
      .prepare(),
  );
  const ofTasks = lazy(() =>
    db
      .select()
      .from(results)
      .where(and(amongTexts(results.taskId, 'taskIds'), not(isInput)))
      .orderBy(results.taskId, results.id)
      .prepare(),
  );
  /** Bytes that the owner of a result keeps. */
  async function usageWith({ id }: Pick<KeptResultRecord, 'id'>): Promise<number> {
    const [owner] = await findOwner()({ id });
    return owner ? sumKept(Number(owner[0])) : 0;
  }

  return {
    schedule: atomic(insertPending),

    async untilDue() {
      const [first] = await findNextDue()(now());
      return first && Number(first[0]);
    },

    claim: separate(async ({ owner, limit, leaseForMs, after = 0, except = [], held = [] }) => {
      const turn = { owner, leaseForMs, after, except: encodeTexts(except.map(String)), held: JSON.stringify(held) };
      const take = (most: number) => claim().execute({ ...turn, limit: most, ...now() });
      const claimed = await take(limit);
      if (claimed.length < limit && (await pullForward.run())) claimed.push(...(await take(limit - claimed.length)));
      // `returning` promises no order.
      return claimed.sort((a, b) => a.userId - b.userId);
    }),

    async renew(lease, forMs) {
      return (await renew().execute({ ...lease, forMs, ...now() })).length === 1;
    },

    list: atomic(async (lease, artifacts, forMs) => {
      if ((await removeListed().execute({ ...lease })).length === 0) return false;
      await insertPending(artifacts, forMs);
      return true;
    }),

    async expectFile({ sha256, bytes }) {
      return (await expect()({ sha256, bytes, ...now() })).length === 1;
    },

    keep: atomic(async (lease, { quotaBytes, size: { width, height } = { width: 0, height: 0 }, ...file }) => {
      if (quotaBytes !== undefined && (await usageWith(lease)) + file.bytes > quotaBytes) return 'over_quota';
      if (!(await references.add(file))) return 'being_deleted';
      if ((await markKept().execute({ ...lease, ...file, width, height })).length === 1) return 'kept';
      await references.release([file]);
      return 'lost_claim';
    }),

    async postpone(lease, { inMs, reason }) {
      const said = { reason: reason?.message ?? '', reasonSentence: reason ? encodeSentence(reason) : null };
      const change = { ...said, inMs: Math.round(inMs ?? 0), isFinal: inMs === null ? 1 : 0 };
      return (await postpone().execute({ ...lease, ...change, ...now() })).length === 1;
    },

    async lockTask(taskId) {
      return (await lockTask()({ taskId })).length === 1;
    },

    async retry(id, forMs) {
      const rows = await db
        .update(results)
        .set({
          ...released,
          ...NO_REASON,
          state: 'pending',
          nextAttemptAtMs: nowMs,
          giveUpAtMs: sql`${nowMs} + ${at('forMs')}`,
        })
        .where(and(eq(results.id, id), sql`${results.state} <> ${KEPT}`, isFree))
        .returning({ id: results.id })
        .prepare()
        .execute({ forMs, ...now() });
      return rows.length === 1;
    },

    async find(taskId, artifactKey) {
      const [row] = await find().execute({ taskId, artifactKey });
      return row;
    },

    ofTasks: (taskIds) => ofTasks().execute({ taskIds: encodeTexts(taskIds) }),

    listInputs: async (taskId) =>
      db
        .select()
        .from(results)
        .where(and(ofTask(taskId), isInput)),

    ...createRequestFiles(context, { references, sumKept }),
    forgetInputs: atomic(async (taskId) =>
      references.release(
        await db
          .delete(results)
          .where(and(ofTask(taskId), isInput))
          .returning(),
      ),
    ),

    forget: atomic(async (taskId) => references.release(await db.delete(results).where(ofTask(taskId)).returning())),

    forgetExpired: atomic(async (until, limit) => {
      const isOver = and(isKept, gt(results.keptUntil, 0), lte(results.keptUntil, until));
      const rows = sql`select ${results.id} from ${results} where ${isOver} order by ${results.keptUntil} limit ${limit}`;
      return references.release(
        await db
          .delete(results)
          .where(and(amongRows(results.id, rows), isOver))
          .returning(),
      );
    }),

    forgetOfDeletedUsers: atomic(async (limit) => {
      const isTheirs = sql`${results.userId} in (select id from users where deleted_at > 0)`;
      const rows = sql`select ${results.id} from ${results} where ${isTheirs} order by ${results.id} limit ${limit}`;
      return references.release(
        await db
          .delete(results)
          .where(and(amongRows(results.id, rows), isTheirs))
          .returning(),
      );
    }),

    async usage(userId) {
      const [row] = await db
        .select({
          bytes: sumBytes(results.bytes),
          results: sql<number>`count(case when ${isNoPreview} then 1 end)`.mapWith(Number),
        })
        .from(results)
        .where(and(eq(results.userId, userId), isUsersOwn));
      return row ?? { bytes: 0, results: 0 };
    },

    usageByUser: () =>
      db
        .select({
          userId: results.userId,
          walletId: wallets.id,
          group: users.group,
          bytes: sumBytes(results.bytes),
        })
        .from(results)
        .innerJoin(users, and(eq(users.id, results.userId), eq(users.deletedAt, 0)))
        .innerJoin(wallets, eq(wallets.userId, users.id))
        .where(isUsersOwn)
        .groupBy(results.userId, wallets.id, users.group)
        .orderBy(results.userId),

    async depth(lostSince) {
      const isLost = and(sql`${results.state} = ${LOST}`, gt(results.createdAt, lostSince), isNoPreview);
      const [[pending], [kept], [lost], [stored]] = await Promise.all([
        db.select({ total: countAll() }).from(results).where(and(isPending, isNoPreview)),
        db.select({ total: countAll() }).from(results).where(and(isKept, isNoPreview)),
        db.select({ total: countAll() }).from(results).where(isLost),
        db
          .select({ total: countAll(), bytes: sumBytes(files.bytes) })
          .from(files)
          .where(gt(files.refs, 0)),
      ]);
      return {
        pending: pending?.total ?? 0,
        kept: kept?.total ?? 0,
        lost: lost?.total ?? 0,
        bytes: stored?.bytes ?? 0,
        files: stored?.total ?? 0,
      };
    },

    files: (after, limit) =>
      db
        .select({ sha256: files.sha256, bytes: files.bytes, refs: files.refs })
        .from(files)
        .where(gt(files.sha256, after))
        .orderBy(files.sha256)
        .limit(limit),

    async knownFiles(digests) {
      if (digests.length === 0) return [];
      const rows = await db
        .select({ sha256: files.sha256 })
        .from(files)
        .where(inArray(files.sha256, [...digests]));
      return rows.map(({ sha256 }) => sha256);
    },

    async takeUnused(until, limit) {
      const isUnused = and(lte(files.refs, 0), lte(files.changedAt, until));
      const rows = sql`select ${files.sha256} from ${files} where ${isUnused} order by ${files.changedAt} limit ${limit}`;
      const taken = await db
        .update(files)
        // The new time keeps others from deleting the same files once more, when they are back.
        .set({ refs: -1, changedAt: sql`${nowMs} / 1000` })
        .where(and(amongRows(files.sha256, rows), isUnused))
        .returning({ sha256: files.sha256 })
        .prepare()
        .execute(now());
      return taken.map(({ sha256 }) => sha256);
    },

    async takeOrphan(sha256, changedAt) {
      const taken = await db
        .insert(files)
        .values({ sha256, bytes: 0, refs: -1, changedAt })
        .onConflictDoNothing({ target: files.sha256 })
        .returning({ sha256: files.sha256 });
      return taken.length === 1;
    },

    async deleted(sha256) {
      await db.delete(files).where(and(eq(files.sha256, sha256), eq(files.refs, -1)));
    },

    releaseOwner: (owner) => endLeases(eq(results.leaseOwner, owner)),
    expireLeases: () => endLeases(isNotNull(results.leaseOwner)),
  };
}

const sumBytes = (column: Parameters<typeof sql.param>[1] & { getSQL(): ReturnType<typeof sql> }) =>
  sql<number>`coalesce(sum(${column}), 0)`.mapWith(Number);
