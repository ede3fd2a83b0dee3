import type { Quote } from '../billing/index.ts';
import { type CleanUpStep, createFairLimiter, holdSlotUntilSent, type JsonObject, userOwner } from '../kernel/index.ts';
import { describeHookFailure, renderVideo } from '../plugins/index.ts';
import type {
  ChannelRecord,
  LedgerEntryRecord,
  Page,
  Paged,
  TaskEventRecord,
  TaskRecord,
} from '../store/ports/index.ts';
import { createDownloadLimit } from './artifacts/limit-downloads.ts';
import { createLinkLimit } from './artifacts/limit-links.ts';
import { type Content, type ContentRequest, openArtifact } from './artifacts/open-artifact.ts';
import { type ArtifactLink, openLinkedArtifact } from './artifacts/open-linked-artifact.ts';
import { type ArtifactList, describeArtifacts } from './artifacts/read-artifacts.ts';
import { taskErrors } from './errors.ts';
import { createRepeatLimit } from './idempotency/limit-repeats.ts';
import { type SubmittedTask, submitOnce } from './idempotency/submit-once.ts';
import { type OpenedNativeRoute, openNativeRoute } from './native/open-native-route.ts';
import { followTask, type TaskEvent } from './observation/follow-task.ts';
import { createObservationLimit } from './observation/limit-observations.ts';
import { createTaskWatchers } from './observation/watch-task.ts';
import { createPollEngine, type PollEngine } from './polling/poll-engine.ts';
import { createRelay, type Relay } from './relay/relay.ts';
import { createFigureReader, type FigureReader } from './reports/read-figures.ts';
import { createHealthReader, type HealthReader } from './reports/read-health.ts';
import { createResponse, type ResponseAnswer } from './responses/create-response.ts';
import { retrieveResponse } from './responses/retrieve-response.ts';
import { cancelTask } from './state/cancel-task.ts';
import { renderedVideo, taskView, videoObject } from './state/describe-task.ts';
import { ownTasks } from './state/own-tasks.ts';
import { jsonRequest, type RequestOptions } from './submission/json-request.ts';
import { type CallableModel, listModels } from './submission/list-models.ts';
import { quoteRequest, type RequestToQuote } from './submission/quote-request.ts';
import { retryTask } from './submission/retry-task.ts';
import { submitGeneric, submitVideo } from './submission/submit-surfaces.ts';
import type { Caller, ClientRequest, TaskDeps, TaskServices } from './types.ts';
import { protocolContext } from './vendor/build-contexts.ts';
import { type ChannelTrial, tryChannel } from './vendor/try-channel.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';

/**
 * Submissions that are prepared or recorded at once: the fewer, the less somebody waits who has
 * just come. SQLite has one writer (measured: more than four are made no faster), PostgreSQL takes
 * as many as the pool has connections. What takes longer than a database does (a slow plugin) goes
 * on without its slot.
 */
const SUBMISSION_SLOTS = { sqlite: 4, postgres: 16 } as const;
const SUBMISSION_HOLD_MS = 100;

export type TaskFilter = { userId?: number; status?: string; platform?: string; channelId?: number; query?: string };
export type TaskDetail = { task: TaskRecord; events: TaskEventRecord[]; ledger: LedgerEntryRecord[] };

export type Tasks = {
  /**
   * Takes back what an earlier process of the same SQLite database held, ends what died half-way,
   * and polls running tasks unless `poll` is false.
   */
  start(options?: { poll?: boolean }): Promise<void>;
  /** Stops polling and gives the leases back. */
  stop(graceMs: number): Promise<void>;
  stats(): ReturnType<PollEngine['stats']>;
  queueDepth(): Promise<{ unfinished: number; due: number; latestLatenessMs: number }>;
  /** `POST /v1/tasks/:pluginKey`: the whole JSON body is the plugin's request body. */
  submitGeneric(caller: Caller, requestId: string, pluginKey: string, request: ClientRequest): Promise<SubmittedTask>;
  /** The same for a JSON body that was read already, of somebody who needs no API key. */
  submitBody(
    caller: Caller,
    requestId: string,
    pluginKey: string,
    body: JsonObject,
    manner: RequestOptions,
  ): Promise<SubmittedTask>;
  /**
   * The caller's own ended task once more, as a new one. Throws `tasks.task_running`,
   * `tasks.request_not_kept`.
   */
  retry(caller: Caller, requestId: string, taskId: string, manner: RequestOptions): Promise<SubmittedTask>;
  /** Every model that the caller may ask a plugin for. */
  models(caller: Caller): CallableModel[];
  /** What a request would be reserved for. Nothing is sent, written or charged. */
  quote(caller: Caller, requestId: string, request: RequestToQuote): Promise<Quote>;
  /** `POST /v1/videos`. Throws `tasks.model_not_found` when no plugin claims the model. */
  submitVideo(caller: Caller, requestId: string, request: ClientRequest): Promise<SubmittedTask>;
  /**
   * The plugin's own route at a percent-encoded path; a `route` is to be released. Undefined: no
   * plugin's path.
   */
  openNativeRoute(method: string, path: string): OpenedNativeRoute | undefined;
  /** The caller's own task. Throws `tasks.task_not_found`, also for a task of somebody else. */
  own(userId: number, taskId: string): Promise<TaskRecord>;
  /**
   * `GET /v1/tasks/:id/events`, until the client has `left`; of whichever task, where `anyTask`
   * says so. Throws `tasks.task_not_found`, and `tasks.rate_limit_exceeded` where too many are
   * observed already.
   */
  follow(
    caller: Omit<Caller, 'group'> & { anyTask?: boolean },
    taskId: string,
    left: AbortSignal,
    requestId: string,
  ): Promise<AsyncIterableIterator<TaskEvent, undefined>>;
  /**
   * The caller's own task, ended. Throws `tasks.task_not_found`, `tasks.task_finished`,
   * `tasks.cancel_unsupported`.
   */
  cancel(userId: number, taskId: string): Promise<TaskRecord>;
  /** Ends everything that clients wait for here, now and from now on: the gateway stops. */
  endObservations(): void;
  /** `GET /v1/videos/:id`: the plugin's rendering within the host's object. */
  renderVideo(task: TaskRecord, request: ClientRequest): Promise<JsonObject>;
  /** `POST /v1/responses`. Throws `tasks.model_not_found` when no plugin claims the model. */
  createResponse(caller: Caller, requestId: string, request: ClientRequest): Promise<ResponseAnswer>;
  /** `GET /v1/responses/:id`. Throws `tasks.not_found`, also for a response of somebody else. */
  retrieveResponse(userId: number, id: string, request: ClientRequest): Promise<JsonObject>;
  artifacts(task: TaskRecord): Promise<ArtifactList>;
  /** Throws `tasks.artifact_*`, also where too many download at once. */
  content(task: TaskRecord, artifactKey: string | null, request: ContentRequest): Promise<Content>;
  /**
   * The same for whoever has a link. Any trouble is `tasks.artifact_not_found`, too much of it
   * `tasks.artifact_access_limited`.
   */
  contentByLink(link: ArtifactLink, request: ContentRequest): Promise<Content>;
  list(filter: TaskFilter, page: Page): Promise<Paged<TaskRecord>>;
  detail(taskId: string, userId: number | null): Promise<TaskDetail>;
  /** What the last days came to; a few seconds old. */
  readonly figures: FigureReader;
  /** Whether a channel's vendor can be reached and takes its key, step by step and at no cost. */
  tryChannel(channel: ChannelRecord, userId: number, signal: AbortSignal): Promise<ChannelTrial>;
  /** How each channel has done lately, by its id; a few seconds old. */
  readonly channelHealth: HealthReader;
  /** Notices to clients; they start and stop apart from polling. */
  readonly webhooks: Webhooks;
  /** What no plugin serves. */
  readonly relay: Relay;
  /** The rows of this room that the hourly clean-up deletes. */
  readonly cleanUpSteps: readonly CleanUpStep[];
};

export function createTasks(services: TaskServices): Tasks {
  const { store, clock, logger, limits } = services;
  const watchers = createTaskWatchers({ store, clock, logger, ...limits });
  const observations = createObservationLimit(limits.observations);
  const { node, address: user } = limits.links.downloads;
  const downloads = createDownloadLimit({ node, user });
  const submissions = createFairLimiter({ slots: SUBMISSION_SLOTS[store.dialect], holdMs: SUBMISSION_HOLD_MS, clock });
  const deps: TaskDeps = { ...services, watchers, observations, downloads, submissions, repeats: createRepeatLimit() };
  const engine = createPollEngine(deps);
  const relay = createRelay(deps);
  const links = createLinkLimit(services, limits.links);
  const webhooks = createWebhooks(deps);

  return {
    webhooks,
    figures: createFigureReader(deps),
    channelHealth: createHealthReader(deps),
    relay,
    cleanUpSteps: [
      {
        step: 'idempotency keys',
        deleteBatch: (limit) => store.idempotency.deleteExpired(clock.unix(), limit),
      },
      { step: 'webhooks', deleteBatch: (limit) => webhooks.deleteOld(limit) },
      { step: 'relayed requests', deleteBatch: (limit) => relay.deleteOld(limit) },
    ],
    async start({ poll = true } = {}) {
      if (store.dialect === 'sqlite') {
        const freed = await store.tasks.expireAllLeases();
        if (freed > 0) deps.logger.info({ tasks: freed }, 'leases of an earlier process were ended');
      }
      await relay.start();
      engine.start({ poll });
    },
    async stop(graceMs) {
      await Promise.all([engine.stop(graceMs), relay.stop()]);
    },
    stats: () => engine.stats(),
    queueDepth: () => store.tasks.queueDepth(),
    submitGeneric: (caller, requestId, pluginKey, request) =>
      submitOnce(deps, caller, request, (idempotency) =>
        submitGeneric(deps, caller, requestId, pluginKey, request, idempotency),
      ),
    submitBody(caller, requestId, pluginKey, body, manner) {
      return this.submitGeneric(caller, requestId, pluginKey, jsonRequest(`/v1/tasks/${pluginKey}`, body, manner));
    },
    retry: async (caller, requestId, taskId, manner) => {
      const [task] = (await ownTasks(deps, caller.user.id, [taskId])) ?? [];
      if (!task) throw taskErrors.task_not_found();
      return retryTask(deps, caller, requestId, task, manner);
    },
    models: (caller) => listModels(deps, caller),
    tryChannel: (channel, userId, signal) => tryChannel(deps, { channel, userId, signal }),
    quote: (caller, requestId, request) => quoteRequest(deps, caller, requestId, request),
    submitVideo: (caller, requestId, request) =>
      submitOnce(deps, caller, request, (idempotency) => submitVideo(deps, caller, requestId, request, idempotency)),

    openNativeRoute: (method, path) => openNativeRoute(deps, method, path),

    async own(userId, taskId) {
      const [task] = (await ownTasks(deps, userId, [taskId])) ?? [];
      if (!task) throw taskErrors.task_not_found();
      return task;
    },

    async follow({ user, key, anyTask = false }, taskId, left, requestId) {
      const task = anyTask ? (await this.detail(taskId, null)).task : await this.own(user.id, taskId);
      return followTask(deps, { ...task, userId: user.id }, key?.id ?? null, left, requestId);
    },
    async cancel(userId, taskId) {
      return cancelTask(deps, await this.own(userId, taskId));
    },
    endObservations: () => watchers.close(),

    async renderVideo(task, request) {
      const pin = deps.pin();
      try {
        const plugin = pin.generation.plugins.get(task.platform);
        if (!plugin?.has('protocols.proto_video.render')) return videoObject(task);
        const model = task.properties.originModelName;
        const context = protocolContext(plugin.manifest, 'proto_video', request, { operation: 'retrieve', model });
        const rendered = await renderVideo(
          plugin,
          { ctx: context, task: taskView(task) },
          { owner: userOwner(task.userId) },
        );
        if (rendered.ok) return renderedVideo(task, rendered.value);
        // Retrieval always works: a plugin that renders badly costs its additions, not the answer.
        deps.logger.warn(
          { task_id: task.taskId, reason: describeHookFailure(rendered.error) },
          'a video could not be rendered by its plugin',
        );
        return videoObject(task);
      } finally {
        pin.release();
      }
    },

    createResponse: (caller, requestId, request) => createResponse(deps, caller, requestId, request),
    retrieveResponse: (userId, id, request) => retrieveResponse(deps, userId, id, request),

    artifacts: (task) => describeArtifacts(deps, task),
    content: async (task, artifactKey, request) =>
      holdSlotUntilSent(deps.downloads.enter(task.userId, 'download'), (onStreamEnd) =>
        openArtifact(deps, task, artifactKey, { ...request, onStreamEnd }),
      ),

    contentByLink: (link, request) => openLinkedArtifact(deps, links, link, request),

    list: (filter, page) => store.tasks.list(filter, page),

    async detail(taskId, userId) {
      const task = await store.tasks.byTaskId(taskId);
      if (!task || (userId !== null && task.userId !== userId)) throw taskErrors.task_not_found();
      const [events, ledger] = await Promise.all([store.tasks.events(taskId), store.ledger.byTask(taskId)]);
      return { task, events, ledger };
    },
  };
}
