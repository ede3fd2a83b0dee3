import { eraseLateWrites } from '../../auth/index.ts';
import type { Clock, Logger } from '../../kernel/index.ts';
import { type AgedTask, hasEnded, type Store } from '../../store/ports/index.ts';
import type { RetentionStep } from './retention-steps.ts';
import { clearContent, ERASED_PARTS } from './strip-content.ts';

/** The log gets one row for each slice of this many rows. */
const AUDIT_SLICE = 500;

type Deps = { store: Store; clock: Clock; logger: Logger };

/** How long a request that began before the deletion may still write rows about the account. */
const SETTLE_SECONDS = 60;

/** These tables have reasons of refunds, too. */
const BILLS = ['usage', 'ledger'] as const;

/** `isWaiting`: a task of the account that was looked at last still runs. */
type ErasingStep = RetentionStep & { isWaiting(): boolean };

type Erasing = {
  userId: number;
  /** The task up to which content has been erased. */
  after: number;
  isWaiting: boolean;
  /** Tables of bills to go through, and the row up to which the first of them is done. */
  bills: (typeof BILLS)[number][];
  billAfter: number;
  auditAfter: number | undefined;
};

/**
 * Erases what deleted accounts have left: prompts, requests, answers, reasons, timelines and
 * notices of their tasks, where they signed in, and their name and addresses in the audit log.
 * Bills, ledger and usage stay, under the number of the account and without reasons. The rows of
 * deleted users are the queue: a process that is killed in between begins again with the same one.
 * A task that still runs is erased after its end. `only` this account is erased at once, and again
 * when what requests from before the deletion write has had its time.
 */
export function eraseUsersStep(deps: Deps, only?: number): ErasingStep {
  const { store, clock, logger } = deps;
  let last = 0;
  let current: Erasing | undefined;
  let isWaiting = false;
  const settledUntil = () => clock.unix() - SETTLE_SECONDS;

  async function nextUser(): Promise<Erasing | undefined> {
    if (only !== undefined && last !== 0) return undefined;
    const due = { limit: 1, deletedUntil: settledUntil() };
    const [userId] = only === undefined ? await store.personalData.usersToErase(last, due) : [only];
    if (userId === undefined) return undefined;
    last = userId;
    return { userId, after: 0, isWaiting: false, bills: [...BILLS], billAfter: 0, auditAfter: 0 };
  }

  async function eraseTasks(user: Erasing, tasks: readonly AgedTask[]): Promise<number> {
    const ended = tasks.filter(hasEnded);
    const ids = ended.map(({ id }) => id);
    const taskIds = ended.map(({ taskId }) => taskId);
    const erased = await store.transaction(async (tx) => {
      const cleared = await clearContent(tx, ids, ERASED_PARTS);
      const hidden = await tx.personalData.eraseTasks(ids, clock.unix());
      await tx.retention.deleteEvents(taskIds);
      await tx.personalData.deleteNotices(taskIds);
      return Math.max(cleared, hidden);
    });
    user.isWaiting ||= ended.length < tasks.length;
    user.after = tasks.at(-1)?.id ?? user.after;
    return erased;
  }

  async function clearBills(user: Erasing, table: (typeof BILLS)[number], limit: number) {
    const part = { after: user.billAfter, limit };
    const { changed, last } = await store.personalData.clearReasons(table, user.userId, part);
    user.billAfter = last ?? 0;
    if (last === undefined) user.bills.shift();
    return { walked: limit, changed };
  }

  return {
    step: 'content of deleted accounts',
    isWaiting: () => isWaiting,
    async run(limit) {
      current ??= await nextUser();
      if (!current) return { walked: 0, changed: 0 };
      const { userId, after } = current;
      const tasks = await store.personalData.agedTasks(userId, after, limit);
      if (tasks.length > 0) return { walked: tasks.length, changed: await eraseTasks(current, tasks) };
      const [table] = current.bills;
      if (table) return clearBills(current, table, limit);
      if (current.auditAfter !== undefined) {
        const slice = { after: current.auditAfter, size: Math.min(limit, AUDIT_SLICE) };
        const { redacted, next } = await store.personalData.redactAudit(userId, slice, clock.unix());
        current.auditAfter = next;
        return { walked: slice.size, changed: redacted };
      }
      const deleted = await store.batches.deleteOfUser(userId, limit);
      if (deleted > 0) return { walked: limit, changed: deleted };
      await store.personalData.deleteIdempotencyKeys(userId);
      await store.personalData.clearSessions(userId);
      await store.transaction((tx) => eraseLateWrites(tx, userId));
      await store.personalData.deleteNotices([`balance:${userId}`]);
      isWaiting = current.isWaiting;
      const done = { at: clock.unix(), deletedUntil: settledUntil() };
      if (!isWaiting && (await store.personalData.markErased(userId, done)))
        logger.info({ userId }, 'the content of a deleted account has been erased');
      current = undefined;
      return { walked: 1, changed: 0 };
    },
  };
}
