import { isoTime, newMessageId, type Sentence, sentence } from '../kernel/index.ts';
import {
  LONGEST_WEBHOOK_TRIES_MS,
  NO_API_KEY,
  OPERATOR,
  type Page,
  type Paged,
  type WebhookDelivery,
  type WebhookRecord,
} from '../store/ports/index.ts';
import { canonicalHost } from '../upstream/index.ts';
import { createAttachArtifacts } from './attach-artifacts.ts';
import { deliverWebhook } from './deliver-webhook.ts';
import { notificationErrors } from './errors.ts';
import { createOutboxWorker, type WebhookStats } from './outbox-worker.ts';
import { readSecret } from './sign-message.ts';
import type { NotificationDeps } from './types.ts';

/** A notice with its attempts so far, the earliest first. */
export type Notice = WebhookRecord & { deliveries: WebhookDelivery[] };

export type Webhooks = {
  start(): Promise<void>;
  /** Call after this process has written a task: its notice is delivered without delay. */
  taskChanged(): void;
  /** Call after this process has written a notice of the gateway. */
  noticeWritten(): void;
  /** Sends a notice of the type `test` now. `fault`: why nothing was sent. */
  test(receiver: { url: string; secret: string }): ReturnType<typeof tryWebhook>;
  /** Waits up to `graceMs` for running deliveries, and releases all leases. */
  stop(graceMs: number): Promise<void>;
  stats(): WebhookStats;
  /** Pending notices of all nodes, and the age of the oldest one in seconds. */
  depth(): Promise<{ pending: number; oldestSeconds: number }>;
  /**
   * The notices of a task, the latest first. `userId`: the task's required owner; null: any user.
   * @throws tasks.task_not_found
   */
  list(taskId: string, userId: number | null, page: Page): Promise<Paged<Notice>>;
  /**
   * Sends a notice again under its old id, in any state, with a new schedule of 24 hours.
   * @throws tasks.task_not_found, tasks.webhook_not_found, tasks.webhook_underway, and
   * tasks.webhook_unsigned when its API key was deleted
   */
  redeliver(taskId: string, userId: number | null, eventId: string): Promise<void>;
  /**
   * Deletes about `limit` notices past their retention with their attempts. Returns how many.
   */
  deleteOld(limit: number): Promise<number>;
};

const DAY_SECONDS = 24 * 3600;

/**
 * Webhook notices after the Standard Webhooks scheme: written in the transaction of the transition,
 * and delivered at least once by any node.
 */
export function createWebhooks(deps: NotificationDeps): Webhooks {
  const { store, clock } = deps;
  const worker = createOutboxWorker({ ...deps, attachArtifacts: createAttachArtifacts(deps) });

  return {
    async start() {
      if (store.dialect === 'sqlite') await store.webhooks.expireLeases();
      worker.start();
    },
    taskChanged: worker.wake,
    noticeWritten: worker.wake,
    test: (receiver) => tryWebhook(deps, receiver),
    stop: (graceMs) => worker.stop(graceMs),
    stats: () => worker.stats(),
    depth: () => store.webhooks.depth(),
    async list(taskId, userId, page) {
      await deps.requireTask(taskId, userId);
      return store.webhooks.listOfTask(taskId, page);
    },
    async redeliver(taskId, userId, eventId) {
      await deps.requireTask(taskId, userId);
      const notice = await store.webhooks.byEventId(taskId, eventId);
      if (!notice) throw notificationErrors.webhook_not_found();
      if (!(await store.apiKeys.byId(notice.apiKeyId))) throw notificationErrors.webhook_unsigned();
      if (!(await store.webhooks.redeliver(notice.id, LONGEST_WEBHOOK_TRIES_MS)))
        throw notificationErrors.webhook_underway();
      worker.wake();
    },
    async deleteOld(limit) {
      const webhookDays = deps.webhooks.keptDays();
      return webhookDays === 0 ? 0 : store.webhooks.deleteOld(clock.unix() - webhookDays * DAY_SECONDS, limit);
    },
  };
}

/**
 * Sends one notice of the type `test` now, signed as every other, and stores nothing. `fault`: why
 * the address or the secret cannot be used; then nothing was sent.
 */
async function tryWebhook(
  deps: Pick<NotificationDeps, 'clock' | 'random' | 'webhooks'>,
  { url, secret }: { url: string; secret: string },
): Promise<{ fault: Sentence } | { delivered: boolean; delivery: WebhookDelivery }> {
  const { clock, webhooks } = deps;
  const checked = webhooks.urls.check(url);
  if (!checked.ok) return { fault: checked.error };
  const key = readSecret(secret);
  if (!key) return { fault: sentence('trial.webhook_secret') };
  const now = clock.nowMs();
  const notice: WebhookRecord = {
    ...{ id: 0, eventId: newMessageId(deps.random), taskId: '', userId: OPERATOR, apiKeyId: NO_API_KEY, event: 'test' },
    ...{ url: checked.value.href, host: canonicalHost(checked.value), status: 'pending' },
    payload: { type: 'test', timestamp: isoTime(now), data: {} },
    ...{ attempts: 0, retries: 0, nextAttemptAtMs: now, giveUpAtMs: now, lastAttemptAtMs: now },
    ...{ leaseOwner: null, leaseUntilMs: 0, leaseSeq: 0, createdAt: clock.unix() },
  };
  const controller = new AbortController();
  const attempt = await deliverWebhook(
    { ...deps, attachArtifacts: async () => ({}) },
    { notice, keys: [key], controller },
  );
  const delivery = attempt?.delivery ?? { at: clock.unix(), httpStatus: 0, durationMs: 0, error: 'stopped' };
  return { delivered: attempt?.outcome.status === 'delivered', delivery };
}
