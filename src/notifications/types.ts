import type { Clock, JsonObject, Logger, Random, Result, SecretBox, Sentence } from '../kernel/index.ts';
import type { Store, TaskRecord, WebhookRecord } from '../store/ports/index.ts';
import type { Upstream } from '../upstream/index.ts';

/** WEBHOOK_ALLOWED_HOSTS, parsed: receivers allowed over plain http or at a private address. */
export type AllowedReceivers = {
  /** Host names as a URL holds them. */
  names: readonly string[];
  /** Canonical CIDRs. */
  ranges: readonly string[];
};

/** The rules for callback addresses. */
export type CallbackUrls = {
  /** The URL, or the broken rule as a sentence that quotes no part of the URL. */
  check(text: string): Result<URL, Sentence>;
  /**
   * For `UpstreamRequest.privateHosts`: the host of a URL that passed `check`, when it is allowed
   * by name.
   */
  privateHosts(url: URL): string[];
};

/** How notices of the gateway are delivered, which no API key signs. */
export type GatewayDelivery = {
  /** The keys that sign it; undefined: nobody wants it any more. Empty: they cannot be read. */
  signingKeys(notice: WebhookRecord): Promise<Uint8Array[] | undefined>;
  /** Emails it to its user. `refused` is final, `failed` is tried again. */
  sendMail(notice: WebhookRecord): Promise<'sent' | 'refused' | 'failed'>;
};

/** What webhook delivery depends on. */
export type WebhookServices = {
  /**
   * A separate HTTP client: users choose the receivers, so these get neither a channel's
   * permissions nor its connections.
   */
  upstream: Upstream;
  urls: CallbackUrls;
  /** Opens the sealed signing secrets. */
  secretBox: SecretBox;
  gateway?: GatewayDelivery | undefined;
  /** Days for which notices are kept; 0: without end. */
  keptDays: () => number;
  /** WEBHOOK_UPDATE_INTERVAL_SECONDS: shortest time between two `task.updated` of a task. */
  updateEveryMs: number;
  /** WEBHOOK_HOST_CONCURRENCY: concurrent requests to one host. */
  hostConcurrency: number;
  /** WEBHOOK_TIMEOUT_SECONDS: one attempt, from the name lookup to the last byte of the answer. */
  attemptMs: number;
};

export type NotificationDeps = {
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  webhooks: WebhookServices;
  /** This process's name in leases, different at each start. */
  nodeId: string;
  tracer?: DeliveryTracer | undefined;
  /** The artifacts of a task that succeeded, as clients read them. */
  listArtifacts: (task: TaskRecord) => Promise<JsonObject>;
  /**
   * `taskId` may name a batch, too. `userId`: the required owner; null: any user.
   * @throws tasks.task_not_found
   */
  requireTask: (taskId: string, userId: number | null) => Promise<void>;
};

/** Runs deliveries as traces of their own, linked to the submissions of their tasks. */
export type DeliveryTracer = {
  later<T>(
    work: {
      name: string;
      facts: Readonly<Record<`taskgate.${string}`, string | number | boolean>>;
      contexts: readonly (string | undefined)[];
    },
    run: () => Promise<T>,
  ): Promise<T>;
};
