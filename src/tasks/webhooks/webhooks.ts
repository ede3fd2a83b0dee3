import type { SecretBox } from '../../kernel/index.ts';
import type { Page, Paged, WebhookDelivery, WebhookRecord } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import type { CallbackUrls } from './callback-urls.ts';
import { GIVE_UP_AFTER_MS } from './retry-schedule.ts';
import { createWebhookWorker, type WebhookStats } from './webhook-worker.ts';

/** What notices to clients are made with. */
export type WebhookServices = {
  /**
   * A client of their own: receivers are chosen by users, so neither a channel's permissions nor
   * its connections are theirs.
   */
  upstream: Upstream;
  urls: CallbackUrls;
  /** Opens the secrets that sign. */
  secretBox: SecretBox;
  /** WEBHOOK_UPDATE_INTERVAL_SECONDS: least time between two `task.updated` of a task. */
  updateEveryMs: number;
  /** WEBHOOK_HOST_CONCURRENCY: requests at once to one host. */
  hostConcurrency: number;
  /** WEBHOOK_TIMEOUT_SECONDS: one attempt, from the name lookup to the last byte of the answer. */
  attemptMs: number;
};

/** A notice with the attempts made so far, the earliest first. */
export type Notice = WebhookRecord & { deliveries: WebhookDelivery[] };

export type Webhooks = {
  start(): Promise<void>;
  /** Lets deliveries under way end for up to `graceMs` and gives the others back. */
  stop(graceMs: number): Promise<void>;
  stats(): WebhookStats;
  /** Pending notices of all nodes, and the age of the oldest in seconds. */
  depth(): Promise<{ pending: number; oldestSeconds: number }>;
  /**
   * The notices of a task, the latest first. `userId`: whose it must be; null: anybody's. Throws
   * `tasks.task_not_found`.
   */
  list(taskId: string, userId: number | null, page: Page): Promise<Paged<Notice>>;
  /**
   * Sends a notice again under its old id, whatever became of it, with a new schedule of 24 hours.
   * Throws `tasks.task_not_found`, `tasks.webhook_not_found`, `tasks.webhook_underway`,
   * `tasks.webhook_unsigned` when its API key is gone.
   */
  redeliver(taskId: string, userId: number | null, eventId: string): Promise<void>;
  /** Deletes about `limit` notices of more than 7 days ago with their attempts; gives how many. */
  deleteOld(limit: number): Promise<number>;
};

const KEPT_SECONDS = 7 * 24 * 3600;

/**
 * Notices to clients after the Standard Webhooks scheme: written with the transition, delivered at
 * least once by any node.
 */
export function createWebhooks(deps: TaskDeps): Webhooks {
  const { store, clock } = deps;
  const worker = createWebhookWorker(deps);

  async function requireTask(taskId: string, userId: number | null): Promise<void> {
    const task = await store.tasks.byTaskId(taskId);
    if (!task || (userId !== null && task.userId !== userId)) throw taskErrors.task_not_found();
  }

  return {
    async start() {
      if (store.dialect === 'sqlite') await store.webhooks.expireLeases();
      worker.start();
    },
    stop: (graceMs) => worker.stop(graceMs),
    stats: () => worker.stats(),
    depth: () => store.webhooks.depth(),
    async list(taskId, userId, page) {
      await requireTask(taskId, userId);
      return store.webhooks.listOfTask(taskId, page);
    },
    async redeliver(taskId, userId, eventId) {
      await requireTask(taskId, userId);
      const notice = await store.webhooks.byEventId(taskId, eventId);
      if (!notice) throw taskErrors.webhook_not_found();
      if (!(await store.apiKeys.byId(notice.apiKeyId))) throw taskErrors.webhook_unsigned();
      if (!(await store.webhooks.redeliver(notice.id, GIVE_UP_AFTER_MS))) throw taskErrors.webhook_underway();
    },
    deleteOld: (limit) => store.webhooks.deleteOld(clock.unix() - KEPT_SECONDS, limit),
  };
}
