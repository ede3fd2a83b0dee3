import type { WebhookRecord } from '../../store/ports/index.ts';
import { isStoreUnavailable } from '../polling/batch-poll-writes.ts';
import type { TaskDeps } from '../types.ts';
import { type Attempt, deliverWebhook } from './deliver-webhook.ts';
import { createHostQueues } from './host-queues.ts';

/** Pause between two looks at the outbox when nothing is due. */
const TICK_MS = 250;
/** Most notices taken with one claim. */
const CLAIM = 32;
/**
 * Of these, for each request that a host takes at once: as many rounds may wait under one claim.
 */
const ROUNDS = 4;
/**
 * Attempts under way and claimed notices at once: so many that slow receivers at a few dozen hosts
 * leave room for the others.
 */
const CAPACITY = 512;

/** Longest wait for attempts that were cut short. */
const CUT_MS = 1000;

type Deps = Pick<TaskDeps, 'store' | 'clock' | 'logger' | 'upstream' | 'webhooks' | 'nodeId'>;
/** Pauses while the database is away: what came of an attempt is told as soon as it is back. */
const AWAY_PAUSES_MS = [250, 500, 1000];
const LONGEST_AWAY_PAUSE_MS = 2500;

type Claimed = { notice: WebhookRecord; claimedAtMs: number; host: string; userId: number };
export type WebhookStats = { underway: number; delivered: number; retried: number; failed: number };

export type WebhookWorker = {
  start(): void;
  /**
   * Claims nothing more, lets attempts under way end for up to `graceMs`, and gives every claim
   * back.
   */
  stop(graceMs: number): Promise<void>;
  /** Attempts of this node: under way, and by what became of them. */
  stats(): WebhookStats;
};

/**
 * Takes notices out of the outbox and delivers them, each host in its own lane, so that a slow
 * receiver holds up nobody else; users take turns, so that neither does one with many.
 */
export function createWebhookWorker(deps: Deps): WebhookWorker {
  const { store, clock, logger, webhooks, nodeId: owner } = deps;
  const underway = new Set<AbortController>();
  const counts = { delivered: 0, retried: 0, failed: 0 };
  const { attemptMs } = webhooks;
  // A claim outlives its attempt and the rounds before it: a host is offered again only when none
  // of its notices waits.
  const leaseForMs = (ROUNDS + 2) * attemptMs;
  const batch = Math.min(CLAIM, ROUNDS * webhooks.hostConcurrency);
  const { hostConcurrency } = webhooks;
  const lanes = createHostQueues<Claimed>({ hostConcurrency, mostWaiting: batch, capacity: CAPACITY });
  const stopping = new AbortController();
  let loop: Promise<void> = Promise.resolve();
  let nap = new AbortController();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Before the claim, so that room made meanwhile is not slept over.
      nap = new AbortController();
      const limit = Math.min(batch, CAPACITY - lanes.held());
      const taken = limit > 0 ? await claim(limit) : 0;
      if (taken < batch && !stopping.signal.aborted) await clock.sleep(TICK_MS, nap.signal);
    }
  }

  async function claim(limit: number): Promise<number> {
    try {
      const notices = await store.webhooks.claim({ owner, limit, leaseForMs, unoffered: lanes.unoffered() });
      const claimedAtMs = clock.monotonicMs();
      for (const notice of notices) {
        const { host, userId } = notice;
        lanes.add({ notice, claimedAtMs, host, userId });
      }
      for (const host of new Set(notices.map((notice) => notice.host))) drain(host);
      return notices.length;
    } catch (error) {
      logger.error({ err: error }, 'notices could not be claimed');
      await clock.sleep(1000, nap.signal);
      return 0;
    }
  }

  /** Starts as many attempts at a host as it has free slots. */
  function drain(host: string): void {
    while (!stopping.signal.aborted) {
      const next = lanes.next(host);
      if (!next) break;
      void attempt(next)
        .catch((error) =>
          logger.error(
            { err: error, host },
            'a delivery could not be recorded; its claim runs out and it is made again',
          ),
        )
        .finally(() => {
          const wasFull = lanes.isFull(next);
          lanes.ended(next);
          drain(host);
          if (wasFull && !lanes.isFull(next)) nap.abort();
        });
    }
  }

  async function attempt({ notice, claimedAtMs }: Claimed): Promise<void> {
    const key = await whileAway(claimedAtMs, () => store.apiKeys.byId(notice.apiKeyId));
    // Another node may take it at any moment: it is theirs.
    if (stopping.signal.aborted || clock.monotonicMs() - claimedAtMs > leaseForMs - 2 * attemptMs) return;
    const cutting = new AbortController();
    underway.add(cutting);
    try {
      const made = await deliverWebhook(deps, notice, key, cutting);
      if (made) await record(notice, claimedAtMs, made);
    } finally {
      underway.delete(cutting);
    }
  }

  /** Asks a database that is away again and again, for as long as the claim holds. */
  async function whileAway<T>(claimedAtMs: number, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const pauseMs = AWAY_PAUSES_MS[attempt] ?? LONGEST_AWAY_PAUSE_MS;
        const isOver = stopping.signal.aborted || clock.monotonicMs() + pauseMs - claimedAtMs > leaseForMs;
        if (!isStoreUnavailable(error) || isOver) throw error;
        await clock.sleep(pauseMs, stopping.signal);
      }
    }
  }

  async function record(notice: WebhookRecord, claimedAtMs: number, { outcome, delivery }: Attempt): Promise<void> {
    const lease = { id: notice.id, leaseOwner: owner, leaseSeq: notice.leaseSeq };
    if (!(await whileAway(claimedAtMs, () => store.webhooks.settle(lease, outcome, delivery)))) return;
    counts[outcome.status === 'retry' ? 'retried' : outcome.status] += 1;
    if (outcome.status === 'delivered') return;
    const told = { task_id: notice.taskId, webhook_id: notice.eventId, host: notice.host };
    const why = { status: delivery.httpStatus, reason: delivery.error, ms: delivery.durationMs };
    if (outcome.status === 'failed') logger.info({ ...told, ...why }, 'a notice was given up');
    else logger.debug({ ...told, ...why }, 'a notice was not delivered and is tried again');
  }

  return {
    start() {
      loop = run();
    },
    async stop(graceMs) {
      stopping.abort();
      nap.abort();
      await loop;
      const deadline = clock.monotonicMs() + graceMs;
      while (underway.size > 0 && clock.monotonicMs() < deadline) await clock.sleep(20);
      for (const cutting of underway) cutting.abort('stopped');
      while (underway.size > 0 && clock.monotonicMs() < deadline + CUT_MS) await clock.sleep(20);
      await store.webhooks.releaseOwner(owner);
    },
    stats: () => ({ underway: underway.size, ...counts }),
  };
}
