/**
 * Sends the items of batches, on one node at a time, each by its own idempotency key: a node that
 * takes over from one that died finds by it what was sent. An item that cannot be taken for now is
 * tried again until the batch expires.
 */
import type { Quote } from '../../billing/index.ts';
import { type AppError, isOver, sleepInStep } from '../../kernel/index.ts';
import {
  type BatchCounts,
  type BatchItem,
  type BatchRecord,
  type BatchStatus,
  ROLE,
  STATUS,
  type StoredFailure,
} from '../../store/ports/index.ts';
import { type Caller, cancelTask, isWaiting, taskErrors, toStoredFailure } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';
import { itemKey, quoteItem, retryAfterSeconds, submitItem } from './batch-items.ts';
import { writeBatchNotice } from './batch-object.ts';
import { MAX_BATCH_ITEMS } from './read-batch.ts';

/** An item that was not sent within a day never is: this is OpenAI's only window. */
export const WINDOW_SECONDS = 24 * 3600;
/** An idempotency key tells for a day what came of an item: none is sent again after this. */
const SENT_AGAIN_SECONDS = 23 * 3600;
/** Tasks of a batch that wait for a slot at once: its user's other requests may wait, too. */
const WAITING_AT_ONCE = 20;
/** Items of a batch that are sent before another batch has its turn, and at the same time. */
const TURN = 40;
const AT_ONCE = 4;
/** Others have their turn in between. */
const SOON_MS = 20;
/** Batches that have their turn at the same time. */
const BATCHES_AT_ONCE = 4;
const DUE_AT_ONCE = 50;

/** How often a node looks for batches that are due, and looks at a batch whose tasks run. */
const LOOK_MS = { sqlite: 15_000, postgres: 5000 };
const RUNNING_MS = { young: 1000, old: 10_000 };
const YOUNG_SECONDS = 120;
const LONGEST_PAUSE_SECONDS = 300;
/** How long a stop waits for items that are being sent; the next start finds their outcome. */
const STOP_GRACE_MS = 5000;

/**
 * Counts a request of the caller by their limits, and gives what to call once it was taken.
 * `isRepeat`: it was counted when it was sent first.
 * @throws what they are refused with
 */
export type CountRequest = (caller: Caller, isRepeat: boolean) => Promise<() => Promise<void>>;

type BatchRunner = {
  /** `count`: asked before each item is sent. */
  start(count: CountRequest): void;
  /** Call after this process has written a batch. */
  wake(): void;
  stop(): Promise<void>;
};

export function createBatchRunner(deps: SurfaceDeps, wakeWebhooks: () => void): BatchRunner {
  const { store, clock, logger } = deps;
  const lookMs = LOOK_MS[store.dialect];
  const stopping = new AbortController();
  let running = Promise.resolve();
  let woken = new AbortController();

  async function runDue(count: CountRequest): Promise<void> {
    const due = await store.batches.due(DUE_AT_ONCE);
    await inTurns(due, BATCHES_AT_ONCE, async (batch) => {
      if (stopping.signal.aborted) return;
      let pause: number | undefined = RUNNING_MS.old;
      try {
        pause = await runBatch(deps, batch, { count, signal: stopping.signal });
      } catch (error) {
        logger.warn({ err: error, batch_id: batch.batchId }, 'a batch could not go on; it is tried again');
      }
      if (pause === undefined) wakeWebhooks();
      else await store.batches.postpone(batch.batchId, pause);
    });
  }

  async function run(count: CountRequest): Promise<void> {
    while (!stopping.signal.aborted) {
      woken = new AbortController();
      let next = lookMs;
      try {
        if (((await store.batches.untilDue()) ?? lookMs) <= 0) await store.exclusively('batches', () => runDue(count));
        const ms = (await store.batches.untilDue()) ?? lookMs;
        // Another node works on what is still due.
        next = ms <= 0 ? RUNNING_MS.young : Math.min(ms, lookMs);
      } catch (error) {
        if (!stopping.signal.aborted) logger.warn({ err: error }, 'due batches could not be read; trying again');
      }
      const either = AbortSignal.any([stopping.signal, woken.signal]);
      // A look that comes early finds nothing.
      await (next < lookMs ? clock.sleep(next, either) : sleepInStep(clock, next, either));
    }
  }

  return {
    start(count) {
      running = run(count);
    },
    wake: () => woken.abort(),
    async stop() {
      stopping.abort();
      await Promise.race([running, clock.sleep(STOP_GRACE_MS)]);
    },
  };
}

type Run = { count: CountRequest; signal: AbortSignal };

/**
 * Takes a batch as far as it goes now. Resolves to the milliseconds until it is looked at again;
 * undefined: it has ended.
 */
async function runBatch(deps: SurfaceDeps, batch: BatchRecord, run: Run): Promise<number | undefined> {
  const { store, clock } = deps;
  const { batchId } = batch;
  const caller = await findCaller(deps, batch);
  const now = clock.unix();
  await store.batches.followTasks(batchId);
  const stops = findStop(batch, caller, now);
  let pause: number | undefined;
  if (stops) {
    await endUnsent(deps, batch, stops.items);
    if (stops.items === 'cancelled') await cancelWaiting(deps, batchId);
  } else if (caller) {
    if (batch.status === 'validating') {
      const refused = await validate(deps, batch, { ...run, caller });
      if (typeof refused === 'number') return refused * 1000;
      if (refused) return endBatch(deps, batch, { status: 'failed', error: refused });
      await store.batches.start(batchId, clock.unix());
    }
    pause = await sendItems(deps, batch, { ...run, caller });
  }
  await store.batches.followTasks(batchId);
  const counts = (await store.batches.counts([batchId])).get(batchId);
  if (counts && isDone(counts)) {
    const ending = stops ?? { status: 'completed', error: null };
    return endBatch(deps, batch, ending);
  }
  const isYoung = now - batch.createdAt < YOUNG_SECONDS;
  return pause ?? (isYoung ? RUNNING_MS.young : RUNNING_MS.old);
}

const isDone = ({ pending, sending, submitted }: BatchCounts): boolean => pending + sending + submitted === 0;

const NO_CALLER = 'The user or the API key was disabled, or the key expired, before all requests were sent.';
type Stop = Ending & { items: 'cancelled' | 'expired' };
type Ending = { status: BatchStatus; error: StoredFailure | null };

/** Why nothing more of a batch is sent; undefined: more is. */
function findStop(batch: BatchRecord, caller: Caller | undefined, now: number): Stop | undefined {
  if (batch.status === 'cancelling') return { items: 'cancelled', status: 'cancelled', error: null };
  if (!caller)
    return {
      items: 'cancelled',
      status: 'failed',
      error: toStoredFailure(taskErrors.caller_disabled({ message: NO_CALLER })),
    };
  if (isOver(batch.expiresAt, { now, longest: WINDOW_SECONDS }))
    return { items: 'expired', status: 'expired', error: null };
  return undefined;
}

/** The user and the key of a batch as they are now; undefined: one is gone, disabled or expired. */
async function findCaller(
  { store, clock }: SurfaceDeps,
  { userId, apiKeyId }: BatchRecord,
): Promise<Caller | undefined> {
  const [user, key] = await Promise.all([store.users.byId(userId), store.apiKeys.byId(apiKeyId)]);
  if (user?.status !== STATUS.enabled || key?.status !== STATUS.enabled) return undefined;
  if (key.expiresAt !== 0 && key.expiresAt <= clock.unix()) return undefined;
  const group = key.group !== null && user.role >= ROLE.admin ? key.group : user.group;
  return { user, key, walletId: key.walletId, group };
}

type Sending = Run & { caller: Caller };

/** Sends what it may now. Resolves to the milliseconds until more may be sent. */
async function sendItems(deps: SurfaceDeps, batch: BatchRecord, { caller, count, signal }: Sending) {
  const { store } = deps;
  let room = WAITING_AT_ONCE - (await store.batches.waitingTasks(batch.batchId)).length;
  if (room <= 0) return undefined;
  const unsent = await store.batches.unsent(batch.batchId, TURN);
  let again: number | undefined;
  /** What refuses one request for now refuses those like it. */
  const held = new Set<string>();
  await inTurns(unsent, AT_ONCE, async (item) => {
    const kind = `${item.path} ${(item.body as { model: string }).model}`;
    if (room <= 0 || held.has(kind) || signal.aborted) return;
    room -= 1;
    const sent = await sendItem(deps, item, { caller, batch, count });
    if (sent === 'waits') return;
    room += 1;
    if (typeof sent !== 'number') return;
    held.add(kind);
    again = Math.min(again ?? LONGEST_PAUSE_SECONDS, sent);
  });
  if (again !== undefined) return again * 1000;
  return unsent.length === TURN && room > 0 ? SOON_MS : undefined;
}

type OneItem = { caller: Caller; batch: BatchRecord; count: CountRequest };

/** Resolves to what came of an item, or the seconds after which it is tried again. */
async function sendItem(
  deps: SurfaceDeps,
  item: BatchItem,
  { caller, batch, count }: OneItem,
): Promise<'sent' | 'waits' | 'refused' | number> {
  const { store, clock } = deps;
  const now = clock.unix();
  const isLate = item.begunAt > 0 && isOver(item.begunAt + SENT_AGAIN_SECONDS, { now, longest: SENT_AGAIN_SECONDS });
  const refuse = async (error: unknown): Promise<'refused'> => {
    await store.batches.endItem(item, { status: 'failed', taskId: null, error: toStoredFailure(error) });
    return 'refused';
  };
  if (isLate) return (await findTask(deps, item, batch.userId)) ?? refuse(taskErrors.submission_interrupted());
  try {
    if (!mayUse(caller, item)) return await refuse(taskErrors.model_not_allowed({ param: 'model' }));
    const counted = await count(caller, item.begunAt > 0);
    if (!(await store.batches.begin(item, now))) return 'refused';
    const task = await submitItem(deps, { caller, requestId: batch.requestId }, item);
    await store.batches.endItem(item, { status: 'submitted', taskId: task.taskId, error: null });
    await counted();
    return isWaiting(task) ? 'waits' : 'sent';
  } catch (error) {
    // It may have become a task, which then tells its outcome.
    const known = await findTask(deps, item, batch.userId);
    if (known) return known;
    const again = retryAfterSeconds(error);
    return again === undefined ? refuse(error) : again;
  }
}

const mayUse = ({ key }: Caller, { body }: BatchItem): boolean =>
  !key || key.models.length === 0 || key.models.includes((body as { model: string }).model);

/** Finds by its key what an item became, and notes it; a number while it is being submitted. */
async function findTask(
  { store, clock }: SurfaceDeps,
  item: BatchItem,
  userId: number,
): Promise<'sent' | 'waits' | number | undefined> {
  // Its key may have expired while no process ran.
  const known = await store.idempotency.find(userId, itemKey(item), item.begunAt || clock.unix());
  if (!known) return undefined;
  const task = await store.tasks.byTaskId(known.taskId);
  if (task?.status === 'NOT_START' && !isWaiting(task)) return 1;
  await store.batches.endItem(item, { status: 'submitted', taskId: known.taskId, error: null });
  return task && isWaiting(task) ? 'waits' : 'sent';
}

/** Ends what was not sent. What a dead process was sending may be a task. */
async function endUnsent(deps: SurfaceDeps, batch: BatchRecord, status: Stop['items']): Promise<void> {
  const { store } = deps;
  await store.batches.endPending(batch.batchId, status);
  for (const item of await store.batches.unsent(batch.batchId, MAX_BATCH_ITEMS)) {
    if ((await findTask(deps, item, batch.userId)) === undefined)
      await store.batches.endItem(item, { status, taskId: null, error: null });
  }
}

/** Cancels what no vendor has; a vendor's jobs go on. */
async function cancelWaiting(deps: SurfaceDeps, batchId: string): Promise<void> {
  for (const taskId of await deps.store.batches.waitingTasks(batchId)) {
    const task = await deps.store.tasks.byTaskId(taskId);
    if (task && isWaiting(task)) await cancelTask(deps, task).catch((error: AppError) => error);
  }
}

/**
 * Whether all items would be accepted and paid for. Undefined: they would; a number: nobody can
 * tell before this many seconds have passed. Each item that would not be accepted says why.
 */
async function validate(
  deps: SurfaceDeps,
  batch: BatchRecord,
  { caller, signal }: Sending,
): Promise<StoredFailure | number | undefined> {
  const { store, billing } = deps;
  let again: number | undefined;
  const unsent = await store.batches.unsent(batch.batchId, MAX_BATCH_ITEMS);
  // Nothing is sent yet: a process that died here had refused the others.
  let [quota, refused] = [0, batch.total - unsent.length];
  let priced: Quote['snapshot'] | undefined;
  await inTurns(unsent, AT_ONCE, async (item) => {
    if (signal.aborted) again = 1;
    if (again !== undefined) return;
    try {
      if (!mayUse(caller, item)) throw taskErrors.model_not_allowed({ param: 'model' });
      const quote = await quoteItem(deps, { caller, requestId: batch.requestId }, item);
      quota += quote.quota;
      // A price by facts asks for a balance even where it reserves nothing.
      if (!priced || billing.readsFacts(quote.snapshot)) priced = quote.snapshot;
    } catch (error) {
      again = retryAfterSeconds(error);
      if (again !== undefined) return;
      refused += 1;
      await store.batches.endItem(item, { status: 'failed', taskId: null, error: toStoredFailure(error) });
    }
  });
  if (again !== undefined && refused === 0) return again;
  const message =
    refused > 0
      ? `${refused} of ${batch.total} requests would be refused, so nothing was sent.`
      : 'The balance or a budget does not cover all requests, so nothing was sent.';
  if (refused === 0 && (!priced || (await covers(deps, caller, { batch, quota, billing: priced })))) return undefined;
  await store.batches.endPending(batch.batchId, 'cancelled');
  return toStoredFailure(surfaceErrors.batch_refused({ message }));
}

type Total = { batch: BatchRecord; quota: number; billing: Quote['snapshot'] };

/** Whether balance, key and budgets would take all of it at once. What is free needs none. */
async function covers({ billing }: SurfaceDeps, caller: Caller, { batch, ...total }: Total): Promise<boolean> {
  if (total.quota === 0 && !billing.readsFacts(total.billing)) return true;
  const { user, key, walletId, group } = caller;
  const payer = { userId: user.id, apiKeyId: key?.id ?? null, walletId, group };
  const [isCovered = false] = await billing.canReserveAll([{ taskId: batch.batchId, ...payer, ...total }]);
  return isCovered;
}

/** Ends the batch, once, with its one webhook. */
async function endBatch(deps: SurfaceDeps, batch: BatchRecord, { status, error }: Ending): Promise<undefined> {
  const { store, clock } = deps;
  const endedAt = clock.unix();
  await store.transaction(async (tx) => {
    if (!(await tx.batches.end(batch.batchId, { status, error, endedAt }))) return;
    await writeBatchNotice(deps, tx, batch.batchId);
    // Its file has the prompts, which this key's requests do not leave here.
    const key = batch.inputFileId === '' ? undefined : await tx.apiKeys.byId(batch.apiKeyId);
    if (key?.storeRequests === false) await tx.batches.deleteFile(batch.inputFileId);
  });
  return undefined;
}

/** Works through the list, some at the same time. A failure waits for what the others are at. */
async function inTurns<T>(list: readonly T[], atOnce: number, work: (each: T) => Promise<void>): Promise<void> {
  const left = list.values();
  const turns = await Promise.allSettled(
    Array.from({ length: atOnce }, async () => {
      for (const each of left) await work(each);
    }),
  );
  for (const turn of turns) if (turn.status === 'rejected') throw turn.reason;
}
