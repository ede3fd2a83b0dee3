/** Claims pending results and copies them. A copy that any process leaves half done starts over. */
import { inStep, isoTime, type Sentence, sentence, sha256Hex } from '../../kernel/index.ts';
import {
  type KeptResultRecord,
  LONGEST_RESULT_TRIES_MS,
  LONGEST_WEBHOOK_TRIES_MS,
  PREVIEW_KIND,
  type Repositories,
  type ResultLease,
  type TaskRecord,
} from '../../store/ports/index.ts';
import { taskNotice } from '../../tasks/index.ts';
import { canonicalHost } from '../../upstream/index.ts';
import { makePreview } from '../previews/make-preview.ts';
import type { CopyFailure, ResultDeps } from '../types.ts';
import { copyResult, listResults } from './copy-result.ts';
import { overQuota, pauseAfter } from './retry-copy.ts';

/** Copies of this node at once: enough to fill a line, few enough to leave polls their room. */
const COPIES = 4;
/** Copies of one user: none is interrupted for another user's, so one slot stays free. */
const USER_COPIES = COPIES - 1;
/** A copy that takes longer goes on without its slot, so that slow vendors hold up nobody else. */
const HOLD_MS = 20_000;
/** Copies at once with those that have lost their slot. */
const MOST_COPIES = 12;
/**
 * A claim lives this long without its process; it is renewed while a copy runs. Some vendors drop a
 * file after a minute: until then another node must have started over.
 */
const LEASE_MS = 20_000;
const RENEW_EVERY_MS = 5_000;
/**
 * The longest interval: another node's results become due without our knowledge, those of the only
 * node of a database by a program of the command line alone.
 */
const IDLE_TICK_MS = { sqlite: 15_000, postgres: 5000 };
const RETRY_MS = 1000;
/** While copies hold all slots, how often the loop looks whether one has lost its own. */
const HELD_TICK_MS = 5000;

export type ResultStats = {
  underway: number;
  kept: number;
  keptBytes: number;
  failed: number;
  lost: number;
  /** Why the result storage took nothing at the latest attempt; undefined if it did. */
  storageError: Sentence | undefined;
};

export type ResultWorker = {
  start(): void;
  /** Call after this process has written a pending result. */
  wake(): void;
  /** Ends running copies and releases their claims. */
  stop(): Promise<void>;
  stats(): ResultStats;
};

type Copy = { id: number; userId: number; sinceMs: number; ended: Promise<void> };

export function createResultWorker(deps: ResultDeps): ResultWorker {
  const {
    store,
    clock,
    logger,
    node: { id: owner },
  } = deps;
  const idleTickMs = IDLE_TICK_MS[store.dialect];
  const stopping = new AbortController();
  const underway = new Set<Copy>();
  /** The user who was served last: the next one in order has the next turn. */
  let servedUser = 0;
  let storageError: Sentence | undefined;
  const counts = { kept: 0, keptBytes: 0, failed: 0, lost: 0 };
  let loop: Promise<void> = Promise.resolve();
  let wakeUp = new AbortController();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Created before the claim, so that what happens during the claim also ends the sleep.
      wakeUp = new AbortController();
      const free = countFree();
      const dueInMs = await untilDue(free);
      // One for each user with due results; while there are slots, for each another one.
      if (dueInMs <= 0 && free > 0 && deps.node.canStore() && (await claim(free)) > 0) continue;
      await clock.sleep(Math.min(Math.max(dueInMs, RETRY_MS), inStep(clock, idleTickMs)), wakeUp.signal);
    }
  }

  function countFree(): number {
    const now = clock.monotonicMs();
    const holding = [...underway].filter(({ sinceMs }) => now - sinceMs < HOLD_MS).length;
    return Math.min(COPIES - holding, MOST_COPIES - underway.size);
  }

  /** Milliseconds until a result may be claimed. The end of a copy wakes the loop too. */
  async function untilDue(free: number): Promise<number> {
    if (free <= 0) return HELD_TICK_MS;
    return (await store.results.untilDue().catch(() => RETRY_MS)) ?? Number.POSITIVE_INFINITY;
  }

  async function claim(limit: number): Promise<number> {
    try {
      const turn = { owner, limit, leaseForMs: LEASE_MS, except: usersWithTheirShare() };
      const held = () => [...underway].map(({ id }) => id);
      const claimed = await store.results.claim({ ...turn, held: held(), after: servedUser });
      // After the last user comes the first.
      if (claimed.length === 0 && servedUser > 0)
        claimed.push(...(await store.results.claim({ ...turn, held: held() })));
      for (const result of claimed) begin(result);
      servedUser = claimed.at(-1)?.userId ?? servedUser;
      return claimed.length;
    } catch (error) {
      logger.error({ err: error }, 'results to keep could not be claimed; retrying');
      await clock.sleep(RETRY_MS, stopping.signal);
      return 0;
    }
  }

  function usersWithTheirShare(): number[] {
    const users = [...underway].map(({ userId }) => userId);
    return [...new Set(users)].filter((user) => users.filter((other) => other === user).length >= USER_COPIES);
  }

  const toLease = ({ id, leaseSeq }: KeptResultRecord): ResultLease => ({ id, leaseOwner: owner, leaseSeq });

  function begin(result: KeptResultRecord): void {
    const ended = attempt(result)
      .catch(async (error) => {
        if (stopping.signal.aborted) return;
        logger.error({ err: error, task_id: result.taskId }, 'a result could not be kept');
        // Counted as an attempt: an error that comes every time must not be retried forever.
        const failure = { reason: sentence('results.copy_failed'), inMs: pauseAfter(result.attempts) };
        await postpone(result, toLease(result), failure);
      })
      .catch((error) =>
        logger.error({ err: error, task_id: result.taskId }, 'an attempt could not be noted; its claim will expire'),
      )
      .finally(() => {
        underway.delete(copy);
        wakeUp.abort();
      });
    const copy = { id: result.id, userId: result.userId, sinceMs: clock.monotonicMs(), ended };
    underway.add(copy);
  }

  async function attempt(result: KeptResultRecord): Promise<void> {
    const lease = toLease(result);
    const held = holdLease(lease);
    try {
      if (result.artifactKey === '') {
        const listed = await listResults(deps, result);
        if (!listed.ok) return await postpone(result, lease, listed.error);
        await store.results.list(lease, listed.value, LONGEST_RESULT_TRIES_MS);
        return;
      }
      const isPreview = result.kind === PREVIEW_KIND;
      const copy = isPreview ? makePreview : copyResult;
      const copied = await copy(deps, result, AbortSignal.any([stopping.signal, held.lost]));
      if (!copied.ok) return await postpone(result, lease, copied.error);
      const outcome = await settleResult(deps, result, {
        write: (tx) => tx.results.keep(lease, copied.value),
        isSettled: (written) => written === 'kept',
      });
      if (outcome === 'kept') {
        storageError = undefined;
        counts.kept += isPreview ? 0 : 1;
        counts.keptBytes += copied.value.bytes;
      }
      if (outcome === 'over_quota') await postpone(result, lease, overQuota);
      if (outcome === 'being_deleted') {
        await postpone(result, lease, { inMs: pauseAfter(result.attempts) });
      }
    } finally {
      held.stop();
    }
  }

  /** Renews a claim until `stop`; `lost` is aborted when another node may have it. */
  function holdLease(lease: ResultLease): { lost: AbortSignal; stop(): void } {
    const lost = new AbortController();
    const ended = new AbortController();
    void (async () => {
      for (;;) {
        await clock.sleep(RENEW_EVERY_MS, ended.signal);
        if (ended.signal.aborted) return;
        const isHeld = await store.results.renew(lease, LEASE_MS).catch(() => true);
        if (!isHeld) lost.abort(new Error('the claim of a result was lost'));
      }
    })();
    return { lost: lost.signal, stop: () => ended.abort() };
  }

  async function postpone(result: KeptResultRecord, lease: ResultLease, failure: CopyFailure): Promise<void> {
    storageError = failure.storageError ?? storageError;
    const isWritten = await settleResult(deps, result, {
      write: (tx) => tx.results.postpone(lease, failure),
      isSettled: (written) => written,
    });
    if (!isWritten) return;
    const { taskId, artifactKey, kind } = result;
    const logFields = { task_id: taskId, artifact: artifactKey, reason: failure.reason };
    if (kind === PREVIEW_KIND) return logger.debug(logFields, 'a preview was not made');
    // The store has decided it by its own clock.
    const isLost = (await store.results.find(taskId, artifactKey))?.state === 'lost';
    counts[isLost ? 'lost' : 'failed'] += 1;
    if (isLost) logger.warn(logFields, 'a result could not be kept; it is lost once its vendor drops it');
    else logger.debug({ ...logFields, in_ms: failure.inMs }, 'a result was not kept yet; retrying later');
  }

  return {
    start() {
      loop = run();
    },
    wake: () => wakeUp.abort(),
    async stop() {
      stopping.abort(new Error('stopped'));
      wakeUp.abort();
      await loop;
      if (underway.size === 0) return;
      await Promise.allSettled([...underway].map(({ ended }) => ended));
      await store.results.releaseOwner(owner);
    },
    stats: () => ({ underway: underway.size, ...counts, storageError }),
  };
}

const EVENT = 'task.artifacts_kept';

/**
 * Each notice of a task has the same one, so that the outbox takes one and receivers recognise a
 * repeat.
 */
const toEventId = (taskId: string): string => `msg_${sha256Hex(`${EVENT}\0${taskId}`).slice(0, 27)}`;

/**
 * Ends an attempt at a result by `write`. When that leaves none of its task's results to copy, the
 * same transaction writes the webhook notice of it, once in the life of a task.
 */
async function settleResult<T>(
  deps: Pick<ResultDeps, 'store' | 'clock' | 'wakeWebhooks'>,
  { taskId, kind }: Pick<KeptResultRecord, 'taskId' | 'kind'>,
  { write, isSettled }: { write: (tx: Repositories) => Promise<T>; isSettled: (written: T) => boolean },
): Promise<T> {
  const { store } = deps;
  const task = kind === PREVIEW_KIND ? undefined : await store.tasks.byTaskId(taskId);
  if (!task || !isNotified(task)) return write(store);
  let isWritten = false;
  const written = await store.transaction(async (tx) => {
    // Two results that end at once would each see the other as not ended.
    const isShown = await tx.results.lockTask(taskId);
    const result = await write(tx);
    isWritten =
      isShown && isSettled(result) && (await tx.webhooks.putKept(describeKept(deps, task), LONGEST_WEBHOOK_TRIES_MS));
    return result;
  });
  if (isWritten) deps.wakeWebhooks();
  return written;
}

type Notified = TaskRecord & { callbackUrl: string; apiKeyId: number };
const isNotified = (task: TaskRecord): task is Notified => task.callbackUrl !== null && task.apiKeyId !== null;

function describeKept({ clock }: Pick<ResultDeps, 'clock'>, task: Notified) {
  const { callbackUrl: url, taskId, userId, apiKeyId } = task;
  return {
    eventId: toEventId(taskId),
    taskId,
    userId,
    apiKeyId,
    event: EVENT,
    url,
    host: canonicalHost(new URL(url)),
    payload: { type: EVENT, timestamp: isoTime(clock.nowMs()), data: taskNotice(task) },
    createdAt: clock.unix(),
  } as const;
}
