/**
 * Claims notices and emails from the outbox and delivers them. Each host has its own queue, so a
 * slow receiver delays no other. Users take turns within it, so a user with many notices delays no
 * other either.
 *
 * `PAUSES_MS` in `deliver-webhook.ts` are the pauses between attempts. Notices are given up after
 * `LONGEST_WEBHOOK_TRIES_MS` (`store/ports/outbox.ts`).
 */
import { inStep } from '../kernel/index.ts';
import { isStoreUnavailable, LONGEST_LEASE_MS, MAIL, NO_API_KEY, type WebhookRecord } from '../store/ports/index.ts';
import { type AttachArtifacts, LONGEST_LIST_MS } from './attach-artifacts.ts';
import { type Attempt, deliverMail, deliverWebhook } from './deliver-webhook.ts';
import { createHostQueues } from './host-queues.ts';
import { signingKeys } from './sign-message.ts';
import type { DeliveryTracer, NotificationDeps } from './types.ts';

/** Interval of claims while notices are due. */
const TICK_MS = 250;
/** The longest interval: another node's notices become due without our knowledge. */
const IDLE_TICK_MS = 1000;
/**
 * The longest interval of the only node of a database. Its own writes of notices wake the loop, but
 * a command may write beside it.
 */
const ONLY_NODE_TICK_MS = 15_000;
/** The most notices in one claim. */
const MAX_CLAIM = 32;
/**
 * A claim holds at most this many notices per slot of a host: its lease covers that many rounds.
 */
const ROUNDS = 4;
/**
 * Claimed notices and running attempts of this node. Enough for slow receivers at a few dozen hosts
 * without blocking the others.
 */
const CAPACITY = 512;
/** The longest attempt to mail: `upstream/mail/send-mail.ts` ends each of its steps. */
const LONGEST_MAIL_MS = 60_000;

/** Longest wait for aborted attempts to end. */
const ABORT_WAIT_MS = 1000;

type Deps = Pick<NotificationDeps, 'store' | 'clock' | 'random' | 'logger' | 'webhooks' | 'nodeId' | 'tracer'> & {
  attachArtifacts: AttachArtifacts;
};
/** Pauses while the database is unavailable: an outcome is stored soon after it has recovered. */
const UNAVAILABLE_PAUSES_MS = [250, 500, 1000];
const LONGEST_UNAVAILABLE_PAUSE_MS = 2500;

/** `leaseEndsMs`: by the monotonic clock. */
type Claimed = { notice: WebhookRecord; leaseEndsMs: number; host: string; userId: number };
export type WebhookStats = { underway: number; delivered: number; retried: number; failed: number };

export type OutboxWorker = {
  start(): void;
  /** Call after this process has written a notice: it is claimed within a tick. */
  wake(): void;
  /** Stops claiming, waits up to `graceMs` for running attempts, and releases all leases. */
  stop(graceMs: number): Promise<void>;
  /** Attempts of this node: running ones, and ended ones by outcome. */
  stats(): WebhookStats;
};

export function createOutboxWorker(deps: Deps): OutboxWorker {
  const { store, clock, logger, webhooks, nodeId: owner } = deps;
  const underway = new Set<AbortController>();
  /** The ids of claimed notices, which wait or are under way. */
  const held = new Set<number>();
  const counts = { delivered: 0, retried: 0, failed: 0 };
  /** The longest attempt. */
  const longestMs = (notice: WebhookRecord): number =>
    notice.url === MAIL ? LONGEST_MAIL_MS : LONGEST_LIST_MS + webhooks.attemptMs;
  // A lease outlives its attempt and the rounds before it: a user's notices for a host are claimed
  // again only when none of them waits.
  const toLease = (attemptMs: number): number => Math.min((ROUNDS + 2) * attemptMs, LONGEST_LEASE_MS);
  const [leaseForMs, mailLeaseForMs] = [toLease(LONGEST_LIST_MS + webhooks.attemptMs), toLease(LONGEST_MAIL_MS)];
  const batch = Math.min(MAX_CLAIM, ROUNDS * webhooks.hostConcurrency);
  const { hostConcurrency } = webhooks;
  const queues = createHostQueues<Claimed>({ hostConcurrency, maxWaiting: batch, capacity: CAPACITY });
  const stopping = new AbortController();
  const longestSleepMs = store.dialect === 'sqlite' ? ONLY_NODE_TICK_MS : IDLE_TICK_MS;
  let loop: Promise<void> = Promise.resolve();
  let idle = new AbortController();
  let wakeUp = new AbortController();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Created before the claim, so that what happens during the claim also ends the sleep.
      idle = new AbortController();
      wakeUp = new AbortController();
      const limit = Math.min(batch, CAPACITY - queues.held());
      const dueInMs = limit > 0 ? await untilDue() : 0;
      if (dueInMs > 0) await clock.sleep(Math.min(dueInMs, inStep(clock, longestSleepMs)), wakeUp.signal);
      else {
        const taken = limit > 0 ? await claim(limit) : 0;
        if (taken < batch && !stopping.signal.aborted) await clock.sleep(TICK_MS, idle.signal);
      }
    }
  }

  /** Milliseconds until a notice of the outbox may be claimed, as far as this node knows. */
  async function untilDue(): Promise<number> {
    try {
      return (await store.webhooks.untilDue()) ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      logger.error({ err: error }, 'webhook notices could not be read; retrying');
      return IDLE_TICK_MS;
    }
  }

  async function claim(limit: number): Promise<number> {
    try {
      const notices = await store.webhooks.claim({
        owner,
        limit,
        leaseForMs,
        mailLeaseForMs,
        exclude: { ...queues.unoffered(), held: [...held] },
      });
      const claimedAtMs = clock.monotonicMs();
      for (const notice of notices) {
        const { host, userId } = notice;
        held.add(notice.id);
        const leaseEndsMs = claimedAtMs + (notice.url === MAIL ? mailLeaseForMs : leaseForMs);
        queues.add({ notice, leaseEndsMs, host, userId });
      }
      for (const host of new Set(notices.map((notice) => notice.host))) drain(host);
      return notices.length;
    } catch (error) {
      logger.error({ err: error }, 'webhook notices could not be claimed; retrying');
      await clock.sleep(1000, idle.signal);
      return 0;
    }
  }

  /** Starts as many attempts at a host as it has free slots. */
  function drain(host: string): void {
    while (!stopping.signal.aborted) {
      const next = queues.next(host);
      if (!next) break;
      void attempt(next)
        .catch((error) =>
          logger.error(
            { err: error, host, task_id: next.notice.taskId, webhook_id: next.notice.eventId },
            'webhook delivery could not be recorded; it is repeated when its lease expires',
          ),
        )
        .finally(() => {
          const wasFull = queues.isFull(next);
          queues.ended(next);
          held.delete(next.notice.id);
          drain(host);
          if (wasFull && !queues.isFull(next)) idle.abort();
        });
    }
  }

  async function attempt({ notice, leaseEndsMs }: Claimed): Promise<void> {
    const keys = await retryWhileUnavailable(leaseEndsMs, () => findSigningKeys(notice));
    // The lease is about to expire: another node will claim the notice.
    if (stopping.signal.aborted || clock.monotonicMs() + 2 * longestMs(notice) > leaseEndsMs) return;
    const controller = new AbortController();
    underway.add(controller);
    try {
      const deliver = () =>
        notice.url === MAIL ? deliverMail(deps, notice) : deliverWebhook(deps, { notice, keys, controller });
      const ended = await (deps.tracer ? traceDelivery(deps.tracer, notice, deliver) : deliver());
      if (ended) await record(notice, leaseEndsMs, ended);
    } finally {
      underway.delete(controller);
    }
  }

  async function findSigningKeys(notice: WebhookRecord): Promise<Uint8Array[] | undefined> {
    if (notice.apiKeyId === NO_API_KEY) return webhooks.gateway?.signingKeys(notice);
    const key = await store.apiKeys.byId(notice.apiKeyId);
    return key && signingKeys(webhooks.secretBox, key, clock.unix());
  }

  async function traceDelivery<T>(
    tracer: DeliveryTracer,
    notice: WebhookRecord,
    deliver: () => Promise<T>,
  ): Promise<T> {
    const { taskId, event } = notice;
    const task = await store.tasks.byTaskId(taskId).catch(() => undefined);
    const facts = { 'taskgate.task_id': taskId, 'taskgate.event': event, 'taskgate.attempts': notice.attempts + 1 };
    return tracer.later({ name: 'webhook', facts, contexts: [task?.execution.trace] }, deliver);
  }

  /** Repeats `work` while the database is unavailable and the lease is held. */
  async function retryWhileUnavailable<T>(leaseEndsMs: number, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const pauseMs = UNAVAILABLE_PAUSES_MS[attempt] ?? LONGEST_UNAVAILABLE_PAUSE_MS;
        const isOver = stopping.signal.aborted || clock.monotonicMs() + pauseMs > leaseEndsMs;
        if (!isStoreUnavailable(error) || isOver) throw error;
        await clock.sleep(pauseMs, stopping.signal);
      }
    }
  }

  async function record(notice: WebhookRecord, leaseEndsMs: number, { outcome, delivery }: Attempt): Promise<void> {
    const lease = { id: notice.id, leaseOwner: owner, leaseSeq: notice.leaseSeq };
    const settle = () => store.webhooks.settle(lease, outcome, delivery);
    if (!(await retryWhileUnavailable(leaseEndsMs, settle))) return;
    // It, or the one that waits for it, may be due before the loop would look.
    wakeUp.abort();
    counts[outcome.status === 'retry' ? 'retried' : outcome.status] += 1;
    if (outcome.status === 'delivered') return;
    const logFields = {
      task_id: notice.taskId,
      webhook_id: notice.eventId,
      host: notice.host,
      status: delivery.httpStatus,
      reason: delivery.error,
      ms: delivery.durationMs,
    };
    if (outcome.status === 'failed') {
      const requestId = await findRequestId(notice.taskId);
      logger.info({ ...logFields, request_id: requestId }, 'webhook notice failed; it is not retried');
    } else logger.debug(logFields, 'webhook notice not delivered; retrying later');
  }

  /** The id of the request that made the task; `undefined` where nobody knows it any more. */
  async function findRequestId(taskId: string): Promise<string | undefined> {
    const task = await store.tasks.byTaskId(taskId).catch(() => undefined);
    return task?.execution.requestId || undefined;
  }

  return {
    start() {
      loop = run();
    },
    wake: () => wakeUp.abort(),
    async stop(graceMs) {
      stopping.abort();
      idle.abort();
      wakeUp.abort();
      await loop;
      const deadline = clock.monotonicMs() + graceMs;
      while (underway.size > 0 && clock.monotonicMs() < deadline) await clock.sleep(20);
      for (const controller of underway) controller.abort('stopped');
      while (underway.size > 0 && clock.monotonicMs() < deadline + ABORT_WAIT_MS) await clock.sleep(20);
      await store.webhooks.releaseOwner(owner);
    },
    stats: () => ({ underway: underway.size, ...counts }),
  };
}
