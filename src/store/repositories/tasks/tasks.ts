import { and, desc, eq, getTableColumns, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import type { LeaseBinding } from '../../drivers/memory-leases.ts';
import { type Lease, LONGEST_LEASE_MS, type TaskChange, type TaskRecord, type TaskStore } from '../../ports/index.ts';
import { type Context, isOverIn, lazy, separate } from '../context.ts';
import { columnPlaceholder, countAll } from '../prepare-by-shape.ts';
import { createTaskAdvances } from './advance-tasks.ts';
import { createTaskClaims, IS_OPEN, IS_OPEN_AT_CHANNEL, IS_SENDING, RUNNING, UNFINISHED } from './claim-tasks.ts';
import { createTaskInserts } from './insert-tasks.ts';
import { createLinkedResult } from './linked-result.ts';
import { createTaskEvents } from './task-events.ts';
import { createTaskList } from './task-list.ts';
import { createTaskSummaries } from './task-summaries.ts';

/** `memory`: set if leases of running tasks are held in memory. */
export function createTaskStore(context: Context, memory?: LeaseBinding): TaskStore {
  const {
    db,
    tables,
    nowMs,
    now,
    lookUp,
    lists: { elements, notAmong },
  } = context;
  const { tasks, users, keptResults, responseStreams: streams } = tables;
  const streamedOutputsAfter = async (taskId: string): Promise<number | undefined> => {
    const [row] = await db.select().from(streams).where(eq(streams.taskId, taskId));
    return row?.outputsAfter;
  };
  const at = sql.placeholder;
  const fieldSlots = <K extends keyof TaskRecord>(...fields: K[]) =>
    Object.fromEntries(fields.map((field) => [field, columnPlaceholder(field, tasks[field])])) as Record<K, SQL>;
  const nowSeconds = sql`${nowMs} / 1000`;
  const isUnfinished = sql`${tasks.status} in ${UNFINISHED}`;
  /**
   * The condition of every write under a lease: the claim still holds and the task has not ended.
   */
  const isHeld = and(
    eq(tasks.taskId, at('taskId')),
    eq(tasks.leaseOwner, at('leaseOwner')),
    eq(tasks.leaseSeq, at('leaseSeq')),
    isUnfinished,
  );
  /** The condition of a claim held in memory: nobody has written the row since. */
  const isUnchanged = and(
    eq(tasks.taskId, at('taskId')),
    isNull(tasks.leaseOwner),
    eq(tasks.leaseSeq, at('baseSeq')),
    isUnfinished,
  );

  const hasRunOut = and(
    eq(tasks.taskId, at('taskId')),
    sql`coalesce(${tasks.leaseOwner}, '') = ${at('leaseOwner')}`,
    eq(tasks.leaseSeq, at('leaseSeq')),
    isUnfinished,
    isOverIn(tasks.leaseUntilMs, nowMs, LONGEST_LEASE_MS),
  );

  const byTaskId = lazy(() =>
    db
      .select()
      .from(tasks)
      .where(eq(tasks.taskId, at('taskId')))
      .prepare(),
  );

  const linked = lazy(() =>
    db
      .select({
        ...getTableColumns(tasks),
        ownerStatus: users.status,
        ownerLinkVersion: users.linkVersion,
        result: getTableColumns(keptResults),
      })
      .from(tasks)
      .leftJoin(users, and(eq(users.id, tasks.userId), eq(users.deletedAt, 0)))
      .leftJoin(keptResults, and(eq(keptResults.taskId, at('taskId')), eq(keptResults.artifactKey, at('artifactKey'))))
      .where(eq(tasks.taskId, at('taskId')))
      .prepare(),
  );

  const { reserved, summary, pageByUser } = createTaskSummaries(context);
  const shown = lookUp((isSought) =>
    db
      .select({
        sought: tasks.taskId,
        row: {
          taskId: tasks.taskId,
          platform: tasks.platform,
          userId: tasks.userId,
          status: tasks.status,
          progress: tasks.progress,
          failReason: tasks.failReason,
          submitTime: tasks.submitTime,
          finishTime: tasks.finishTime,
          createdAt: tasks.createdAt,
          updatedAt: tasks.updatedAt,
          upstreamTaskId: tasks.upstreamTaskId,
          quota: tasks.quota,
          hiddenAt: tasks.hiddenAt,
          sourceHash: tasks.sourceHash,
          linkVersions: tasks.linkVersions,
          propertiesJson: sql<string>`${tasks.properties}`,
          reserved,
          dataJson: sql<string | null>`${tasks.data}`,
        },
      })
      .from(tasks)
      .where(isSought(tasks.taskId))
      .prepare(),
  );

  const changed = lazy(() =>
    db
      .select(getTableColumns(tasks))
      .from(tasks)
      .innerJoin(sql`${elements('seen')} as seen`, sql`${tasks.taskId} = seen.value ->> 'taskId'`)
      .where(
        sql`${tasks.status} <> seen.value ->> 'status' or ${tasks.polls} <> cast(seen.value ->> 'polls' as integer)`,
      )
      .prepare(),
  );

  const prepareRenewal = (leaseUntilMs: SQL) =>
    db.update(tasks).set({ leaseUntilMs }).where(isHeld).returning({ id: tasks.id }).prepare();
  const renew = lazy(() => prepareRenewal(sql`${nowMs} + ${at('leaseForMs')}`));
  const endNow = lazy(() => prepareRenewal(sql`0`));

  /** One prepared query for each set of fields that callers change; there are only a handful. */
  const prepareWrite = (fields: (keyof TaskChange)[], extra: Record<string, SQL>, condition: SQL | undefined) =>
    db
      .update(tasks)
      .set({ ...fieldSlots(...fields), ...extra })
      .where(condition)
      .returning({ id: tasks.id })
      .prepare();
  const writeQueries = new Map<string, ReturnType<typeof prepareWrite>>();

  type LeaseWrite = { extra: Record<string, SQL>; nextPollInMs?: number };
  async function write(lease: Lease, change: TaskChange, { extra, nextPollInMs = 0 }: LeaseWrite): Promise<boolean> {
    const fields = (Object.keys(change) as (keyof TaskChange)[]).filter((field) => change[field] !== undefined).sort();
    const { runOut = false, reserved } = lease;
    const fence = memory && !runOut ? memory.leases.findFence(lease) : lease;
    if (!fence) return false;
    const inMemory = fence.leaseOwner === null;
    const shape = [runOut, inMemory, reserved !== undefined, ...fields, ...Object.keys(extra)].join();
    let query = writeQueries.get(shape);
    if (!query) {
      const claimed = runOut ? hasRunOut : inMemory ? isUnchanged : isHeld;
      const condition = reserved === undefined ? claimed : and(claimed, eq(tasks.quota, at('reserved')));
      query = prepareWrite(fields, { ...extra, updatedAt: nowSeconds }, condition);
      writeQueries.set(shape, query);
    }
    const values = { ...change, ...lease, baseSeq: fence.leaseSeq, nextPollInMs, ...now() };
    const written = (await query.execute(values)).length === 1;
    if (written && inMemory && 'leaseOwner' in extra) memory?.onCommit(() => memory.leases.release(lease));
    return written;
  }

  const timeline = createTaskEvents(context);
  const { insertAll } = createTaskInserts(context);
  const release = { leaseOwner: sql`null`, leaseUntilMs: sql`0` };
  /** The row does not hold the fencing number of a memory claim yet. */
  const endLease = { ...release, leaseSeq: sql`${at('leaseSeq')}` };
  const withClaim = (row: TaskRecord): TaskRecord => memory?.leases.withClaim(row) ?? row;
  const dueAgain = { ...endLease, nextPollAtMs: sql`${nowMs} + ${at('nextPollInMs')}` };

  const advance: TaskStore['advance'] = (lease, change, nextPollInMs) =>
    write(lease, change, nextPollInMs === null ? { extra: endLease } : { extra: dueAgain, nextPollInMs });

  return {
    ...createTaskClaims(context, memory),
    ...createTaskList(context),
    ...timeline,
    insertAll,
    advance,
    ...createTaskAdvances(context, { memory, advance, addEvents: timeline.addEvents }),

    async insert(task) {
      const [row] = await insertAll([task]);
      return row as NonNullable<typeof row>;
    },

    async byTaskId(taskId) {
      const [row] = await byTaskId().execute({ taskId });
      return row && withClaim(row);
    },

    async linked(taskId, artifactKey) {
      const [row] = await linked().execute({ taskId, artifactKey });
      if (!row) return undefined;
      const { ownerStatus: status, ownerLinkVersion: linkVersion, result, ...task } = row;
      const owner = status === null || linkVersion === null ? {} : { owner: { status, linkVersion } };
      // Without a row of a left join, its columns are there, and null.
      return { task: withClaim(task), ...owner, ...(result?.id ? { result } : {}) };
    },

    linkedResult: createLinkedResult(context),

    async byUser(userId, taskId) {
      const [row] = await byTaskId().execute({ taskId });
      return row?.userId === userId && row.hiddenAt === 0 ? withClaim(row) : undefined;
    },

    async summaryByUser(userId, taskId) {
      const row = (await summary(taskId))[0]?.row;
      return row?.userId === userId && row.hiddenAt === 0 ? row : undefined;
    },

    async shownByUser(userId, taskId) {
      const row = (await shown(taskId))[0]?.row;
      return row?.userId === userId && row.hiddenAt === 0 ? row : undefined;
    },

    async byTaskIds(seen) {
      if (seen.length === 0) return [];
      return (await changed().execute({ seen: JSON.stringify(seen) })).map(withClaim);
    },

    pageByUser,

    async hide({ taskId, userId, properties, execution }) {
      const hidden = await db
        .update(tasks)
        .set({ hiddenAt: nowSeconds, data: sql`null`, state: sql`null`, properties, execution })
        .where(
          and(
            eq(tasks.taskId, taskId),
            eq(tasks.userId, userId),
            eq(tasks.hiddenAt, 0),
            inArray(tasks.status, ['SUCCESS', 'FAILURE']),
          ),
        )
        .returning({ id: tasks.id })
        .prepare()
        .execute(now());
      return hidden.length === 1;
    },

    async noteVendorJob(taskId, upstreamTaskId) {
      const noted = await db
        .update(tasks)
        .set({ upstreamTaskId })
        .where(and(eq(tasks.taskId, taskId), eq(tasks.status, 'FAILURE'), eq(tasks.upstreamTaskId, '')))
        .returning({ id: tasks.id });
      return noted.length === 1;
    },

    async setLinkVersions(taskId, { known, next }) {
      const moved = await db
        .update(tasks)
        .set({ linkVersions: next })
        .where(and(eq(tasks.taskId, taskId), eq(tasks.linkVersions, known)))
        .returning({ id: tasks.id });
      return moved.length === 1;
    },

    latestWithData: async (platform, limit) =>
      db
        .select()
        .from(tasks)
        // A literal, as in the index.
        .where(and(eq(tasks.platform, platform), sql`${tasks.upstreamTaskId} <> ''`, isNotNull(tasks.data)))
        .orderBy(desc(tasks.id))
        .limit(limit),

    async renew(lease, leaseForMs) {
      if (memory?.leases.renew(lease, leaseForMs)) return true;
      const renewed = await (leaseForMs > 0 ? renew() : endNow()).execute({ ...lease, leaseForMs, ...now() });
      return renewed.length === 1;
    },

    amend: (lease, change) => write(lease, change, { extra: {} }),

    async pullForwardDueTimes(maxAheadMs) {
      const updated = await db
        .update(tasks)
        .set({ nextPollAtMs: nowMs })
        .where(and(sql`${tasks.status} in ${RUNNING}`, sql`${tasks.nextPollAtMs} > ${nowMs} + ${at('maxAheadMs')}`))
        .returning({ id: tasks.id })
        .prepare()
        .execute({ maxAheadMs: Math.ceil(maxAheadMs), ...now() });
      return updated.length;
    },

    async releaseOwner(owner, { expireSubmits }) {
      const released = await db
        .update(tasks)
        .set(release)
        .where(
          and(IS_SENDING, expireSubmits ? undefined : sql`${tasks.status} in ${RUNNING}`, eq(tasks.leaseOwner, owner)),
        )
        .returning({ id: tasks.id });
      return released.length + (memory?.leases.expire(owner) ?? 0);
    },

    async expireAllLeases() {
      const expired = await db
        .update(tasks)
        .set(release)
        .where(and(IS_SENDING, sql`${tasks.leaseUntilMs} <> 0`))
        .returning({ id: tasks.id });
      return expired.length + (memory?.leases.expire() ?? 0);
    },

    async queueDepth() {
      const free = and(
        isOverIn(tasks.leaseUntilMs, nowMs, LONGEST_LEASE_MS),
        memory ? notAmong(sql`${tasks.id}`, 'held') : undefined,
      );
      const [all] = await db.select({ total: countAll() }).from(tasks).where(IS_OPEN);
      const [late] = await db
        .select({
          total: countAll(),
          latenessMs: sql<number>`coalesce(${nowMs} - min(${tasks.nextPollAtMs}), 0)`.mapWith(Number),
        })
        .from(tasks)
        .where(and(sql`${tasks.status} in ${RUNNING}`, sql`${tasks.nextPollAtMs} <= ${nowMs}`, free))
        .prepare()
        .execute({ held: JSON.stringify(memory?.leases.claimedIds()), ...now() });
      return { unfinished: all?.total ?? 0, due: late?.total ?? 0, latestLatenessMs: late?.latenessMs ?? 0 };
    },

    async countUnfinished({ platform, channelId }) {
      const [row] = await db
        .select({ total: countAll() })
        .from(tasks)
        .where(
          and(
            channelId === undefined ? IS_OPEN : sql`${IS_OPEN_AT_CHANNEL} = ${channelId}`,
            platform === undefined ? undefined : eq(tasks.platform, platform),
          ),
        );
      return row?.total ?? 0;
    },

    streamedOutputsAfter,

    keepStreamedOutputs: separate(async (taskId, outputsAfter) => {
      const [kept] = await db.insert(streams).values({ taskId, outputsAfter }).onConflictDoNothing().returning();
      return kept?.outputsAfter ?? (await streamedOutputsAfter(taskId)) ?? outputsAfter;
    }),

    async shiftStreamedOutputs(taskId) {
      const outputsAfter = sql`${streams.outputsAfter} + 1`;
      await db.update(streams).set({ outputsAfter }).where(eq(streams.taskId, taskId));
    },
  };
}
