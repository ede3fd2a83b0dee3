import type { Quote } from '../billing/index.ts';
import { createSmallFiles, findRetryBlock, type RetryBlock } from '../files/index.ts';
import { type CleanUpStep, createFairLimiter, holdSlotUntilSent, type JsonObject } from '../kernel/index.ts';
import { createWebhooks, type NotificationDeps, type Webhooks } from '../notifications/index.ts';
import { createRelay, type Relay } from '../relay/index.ts';
import { createReports, type Reports } from '../reports/index.ts';
import {
  type ArtifactChoice,
  type ArtifactLink,
  type ArtifactList,
  acceptPreview,
  type Content,
  createLinkLimit,
  createResolvedLinks,
  createResults,
  createVerifiedLinks,
  describeArtifacts,
  describePosters,
  type OfferedPreview,
  openContent,
  openLinkedArtifact,
  type Preview,
  type Results,
  revokeTaskLinks,
} from '../results/index.ts';
import type {
  ChannelRecord,
  LedgerEntryRecord,
  TaskEventRecord,
  TaskListStore,
  TaskRecord,
  TaskSummary,
} from '../store/ports/index.ts';
import {
  awaitChange,
  type Caller,
  type ClientRequest,
  cancelTask,
  createLeaseRenewal,
  createObservationLimit,
  createOutcomeCounter,
  createPollEngine,
  createRepeatLimit,
  createSourceKeeper,
  createTaskWatchers,
  deleteTask,
  deleteUnusedSources,
  followTask,
  hasEnded,
  ownTask,
  ownTaskSummary,
  type PollEngine,
  pageTasks,
  type SubmittedTask,
  type TaskEvent,
  type TaskPage,
  type TaskPageRequest,
  type TaskServices,
  type TaskWatchers,
  taskErrors,
} from '../tasks/index.ts';
import {
  type ChannelTrial,
  type ContentRequest,
  createDownloadLimit,
  createKeySecrets,
  recordTrial,
  tryChannel,
} from '../vendors/index.ts';
import { createImages, type ImagesAnswer } from './images/create-images.ts';
import { makesImages } from './images/find-image-plugin.ts';
import { type CallableModel, listModels, listNamedModels, type NamedModel } from './models/list-models.ts';
import { type NativePath, openNativePath } from './native/open-native-path.ts';
import { createResponse, type ResponseAnswer } from './responses/create-response.ts';
import { type ItemPage, listInputItems } from './responses/list-input-items.ts';
import { resumeResponse } from './responses/resume-response.ts';
import { ownResponse, retrieveResponse } from './responses/retrieve-response.ts';
import { jsonRequest, type RequestOptions } from './tasks/json-request.ts';
import { quoteRequest, type RequestToQuote } from './tasks/quote-request.ts';
import { retryTask } from './tasks/retry-task.ts';
import { submitGeneric, submitVideo } from './tasks/submit-surfaces.ts';
import type { SurfaceDeps } from './types.ts';
import { readVideo, renderVideo, type VideoRequest } from './videos/read-video.ts';
import { createRenderedVideos } from './videos/rendered-videos.ts';

/**
 * Submissions that are prepared concurrently, and by one user beside others. With more, more of
 * them share a commit; with a smaller share, a new one waits less. SQLite has one writer,
 * PostgreSQL as many as the pool has connections. Work that takes longer than a database does, such
 * as a slow plugin, continues without its slot.
 */
const SUBMISSION_SLOTS = { sqlite: { slots: 16, share: 2 }, postgres: { slots: 16, share: 8 } } as const;
const SUBMISSION_HOLD_MS = 100;

export type TaskDetail = { task: TaskRecord; events: TaskEventRecord[]; ledger: LedgerEntryRecord[] };

export type Tasks = Reports & {
  /**
   * Expires the leases of an earlier process of the same SQLite database, ends interrupted
   * submissions, and polls running tasks unless `poll` is false.
   */
  start(options?: { poll?: boolean }): Promise<void>;
  /** Stops polling and releases the leases. */
  stop(graceMs: number): Promise<void>;
  stats(): ReturnType<PollEngine['stats']>;
  queueDepth(): Promise<{ unfinished: number; due: number; latestLatenessMs: number }>;
  /** `POST /v1/tasks/:pluginKey`: the whole JSON body is the plugin's request body. */
  submitGeneric(
    caller: Caller,
    input: { requestId: string; pluginKey: string; request: ClientRequest },
  ): Promise<SubmittedTask>;
  /** The same for JSON that has already been read, such as the panel's; needs no API key. */
  submitBody(
    caller: Caller,
    input: {
      requestId: string;
      pluginKey: string;
      body: JsonObject;
      repeats?: string | undefined;
      options: RequestOptions;
    },
  ): Promise<SubmittedTask>;
  /**
   * Submits the caller's own ended task again, as a new task.
   * @throws tasks.task_running, tasks.request_not_kept, tasks.inputs_not_kept, tasks.inputs_gone
   */
  retry(caller: Caller, input: { requestId: string; taskId: string; options: RequestOptions }): Promise<SubmittedTask>;
  /** Why `retry` would refuse this task; undefined where it would not. */
  retryBlock(task: TaskRecord): Promise<RetryBlock | 'task_running' | undefined>;
  /** All models that the caller may request of plugins. */
  models(caller: Caller): CallableModel[];
  /** The models that requests with the caller's key may name, once each. */
  namedModels(caller: Caller): NamedModel[];
  /** What a request would reserve. Nothing is sent, written or charged. */
  quote(caller: Caller, requestId: string, request: RequestToQuote): Promise<Quote>;
  /** `POST /v1/videos`. @throws tasks.model_not_found when no plugin claims the model */
  submitVideo(caller: Caller, requestId: string, request: ClientRequest): Promise<SubmittedTask>;
  /**
   * `POST /v1/videos/:id/remix`, of the caller's own task.
   * @throws tasks.remix_unsupported when its plugin has no remixes
   */
  remixVideo(
    caller: Caller,
    requestId: string,
    remix: { of: TaskRecord; request: ClientRequest },
  ): Promise<SubmittedTask>;
  /**
   * The plugin's own route at a percent-encoded path; release it after use. Undefined: no plugin
   * has this path.
   */
  openNativePath(method: string, path: string): NativePath | undefined;
  /** The caller's own task. @throws tasks.task_not_found, also for another user's task */
  own(userId: number, taskId: string): Promise<TaskRecord>;
  /** The task once its status has changed, or after `ms`. @throws tasks.rate_limit_exceeded */
  awaitChange(caller: Caller, task: TaskRecord, wait: { ms: number; left: AbortSignal }): Promise<TaskRecord>;
  /** The same for its status alone. @throws tasks.task_not_found */
  ownSummary(userId: number, taskId: string): Promise<TaskSummary>;
  /**
   * `GET /v1/tasks/:id/events`, until the client has `left`. `anyTask`: other users' tasks too.
   * @throws tasks.task_not_found, tasks.rate_limit_exceeded when too many are being observed
   */
  follow(
    caller: Omit<Caller, 'group'> & { anyTask?: boolean },
    input: { taskId: string; left: AbortSignal; requestId: string },
  ): Promise<AsyncIterableIterator<TaskEvent, undefined>>;
  /**
   * Cancels the caller's own task and returns it ended.
   * @throws tasks.task_not_found, tasks.task_finished, tasks.cancel_unsupported
   */
  cancel(userId: number, taskId: string): Promise<TaskRecord>;
  /**
   * Hides the user's own task from them and removes its content; cancels it first where it runs.
   * @throws tasks.task_not_found, tasks.cancel_unsupported
   */
  delete(userId: number, taskId: string): Promise<void>;
  /** A page of the user's own tasks, for API clients. @throws tasks.page_not_found */
  page(userId: number, request: TaskPageRequest): Promise<TaskPage>;
  /** Ends all waiting clients, now and from now on: the gateway is stopping. */
  endObservations(): void;
  /**
   * `GET /v1/videos/:id`: the plugin's rendering inside the gateway's object, as JSON.
   * @throws tasks.task_not_found
   */
  readVideo(userId: number, request: VideoRequest): Promise<string>;
  /** The same for a task that was read already. */
  renderVideo(task: TaskRecord, request: ClientRequest): Promise<JsonObject>;
  /** Whether a plugin serves the model to the caller on `POST /v1/images/generations`. */
  makesImages(caller: Caller, model: string): boolean;
  /** `POST /v1/images/generations` for such a model: submits and waits for the end. */
  createImages(caller: Caller, requestId: string, request: ClientRequest): Promise<ImagesAnswer>;
  /** `POST /v1/responses`. @throws tasks.model_not_found when no plugin claims the model */
  createResponse(caller: Caller, requestId: string, request: ClientRequest): Promise<ResponseAnswer>;
  /** `GET /v1/responses/:id`. @throws tasks.not_found, also for another user's response */
  retrieveResponse(userId: number, id: string, request: ClientRequest): Promise<JsonObject>;
  /** The same as a stream, from its beginning or after one of its events. */
  resumeResponse(
    caller: Parameters<typeof resumeResponse>[1],
    input: Parameters<typeof resumeResponse>[2],
  ): ReturnType<typeof resumeResponse>;
  /** As `cancel`, by the response's id. @throws tasks.not_found and what `cancel` throws */
  cancelResponse(userId: number, id: string, request: ClientRequest): Promise<JsonObject>;
  /** As `delete`, by the response's id. @throws tasks.not_found and what `delete` throws */
  deleteResponse(userId: number, id: string): Promise<void>;
  /** `GET /v1/responses/:id/input_items`. @throws tasks.not_found, tasks.request_not_kept */
  inputItems(userId: number, id: string, page: ItemPage): Promise<JsonObject>;
  /** `expiresIn`: seconds until its links end, as the client sent them. @throws tasks.artifact_* */
  artifacts(task: TaskRecord, expiresIn?: string | null): Promise<ArtifactList>;
  /**
   * Takes a preview that the browser of the task's owner made.
   * @throws tasks.task_not_found, also for another user's task, tasks.preview_*, tasks.artifact_*
   */
  acceptPreview(preview: OfferedPreview): Promise<void>;
  /** A preview of each of these tasks that has one, by its id. */
  posters(
    tasks: readonly Pick<TaskRecord, 'taskId' | 'userId' | 'status' | 'linkVersions'>[],
  ): Promise<Map<string, Preview>>;
  /** Ends the links of an ended task made so far, or of one artifact. @throws tasks.artifact_* */
  revokeLinks(task: TaskRecord, artifactKey?: string): Promise<void>;
  /** Downloads an artifact. @throws tasks.artifact_*, also when too many downloads are running */
  content(task: TaskRecord, choice: ArtifactChoice, request: ContentRequest): Promise<Content>;
  /**
   * The same for anyone who has a link.
   * @throws tasks.artifact_not_found for any failure, tasks.artifact_access_limited for too many
   */
  contentByLink(link: ArtifactLink, request: ContentRequest): Promise<Content>;
  /** Tasks by any filter, at a bounded cost. */
  readonly lists: TaskListStore;
  /** `userId`: the task's required owner; null: any user. @throws tasks.task_not_found */
  detail(taskId: string, userId: number | null): Promise<TaskDetail>;
  /**
   * Tests a channel step by step and at no cost: is its vendor reachable, does it accept the key?
   */
  tryChannel(channel: ChannelRecord, userId: number, signal: AbortSignal): Promise<ChannelTrial>;
  /** Webhook notices. They start and stop separately from polling. */
  readonly webhooks: Webhooks;
  /** Results that the gateway keeps. */
  readonly results: Results;
  /** Requests for models that no plugin serves. */
  readonly relay: Relay;
  /** The rows of this room that the hourly clean-up deletes. */
  readonly cleanUpSteps: readonly CleanUpStep[];
};

/** What `app` passes for all that concerns tasks. */
export type AllServices = TaskServices &
  Pick<SurfaceDeps, 'linkLimits' | 'cryptoSecrets' | 'publicAddress' | 'counters'> &
  Pick<NotificationDeps, 'keptDays'>;

export function createTasks(services: AllServices): Tasks {
  const { store, clock, logger, limits, linkLimits } = services;
  const watching = createTaskWatchers({ store, clock, logger, ...limits });
  const watchers: TaskWatchers = {
    ...watching,
    changed(task) {
      watching.changed(task);
      engine.taskWritten();
      if (task.callbackUrl !== null) webhooks.taskChanged();
    },
  };
  const observations = createObservationLimit(limits.observations);
  const { node, address: user } = linkLimits.downloads;
  const downloads = createDownloadLimit({ node, user });
  const submissions = createFairLimiter({ ...SUBMISSION_SLOTS[store.dialect], holdMs: SUBMISSION_HOLD_MS, clock });
  const deps: SurfaceDeps = {
    ...services,
    watchers,
    observations,
    downloads,
    submissions,
    leases: createLeaseRenewal(services),
    repeats: createRepeatLimit(),
    resolvedLinks: createResolvedLinks(services),
    smallFiles: createSmallFiles(services.results, services.watchCache),
    keySecrets: createKeySecrets(),
    sources: createSourceKeeper(),
    outcomes: createOutcomeCounter(clock, services.onOutcome ?? (() => {})),
    wakeResults: () => results.wake(),
    wakeWebhooks: () => webhooks.taskChanged(),
  };
  const engine = createPollEngine(deps);
  const relay = createRelay(deps);
  const linkDeps = {
    ...deps,
    links: createLinkLimit(services, linkLimits),
    verifiedLinks: createVerifiedLinks(services.cryptoSecrets, services.watchCache),
  };
  const webhooks = createWebhooks({
    ...deps,
    keptDays: services.keptDays,
    async listArtifacts(task) {
      const { task_id: _, ...listed } = await describeArtifacts(deps, task);
      return listed as unknown as JsonObject;
    },
    async requireTask(taskId, userId) {
      const task = await store.tasks.byTaskId(taskId);
      if (!task || (userId !== null && task.userId !== userId)) throw taskErrors.task_not_found();
    },
  });
  const results = createResults(deps);
  const { cleanUpStep: reportCleanUp, ...reports } = createReports(deps);
  const rendered = createRenderedVideos();
  services.watchCache?.('rendered_videos', rendered.size);

  return {
    webhooks,
    results,
    ...reports,
    relay,
    cleanUpSteps: [
      {
        step: 'idempotency keys',
        deleteBatch: (limit) => store.idempotency.deleteExpired(clock.unix(), limit),
      },
      { step: 'plugin sources', deleteBatch: (limit) => deleteUnusedSources(deps, limit) },
      { step: 'webhooks', deleteBatch: (limit) => webhooks.deleteOld(limit) },
      { step: 'relayed requests', deleteBatch: (limit) => relay.deleteOld(limit) },
      ...results.cleanUpSteps,
      reportCleanUp,
    ],
    async start({ poll = true } = {}) {
      if (store.dialect === 'sqlite') {
        const freed = await store.tasks.expireAllLeases();
        if (freed > 0) deps.logger.info({ tasks: freed }, 'expired the leases of an earlier process');
      }
      await relay.start();
      engine.start({ poll });
      await results.start();
    },
    async stop(graceMs) {
      await Promise.all([engine.stop(graceMs), relay.stop(), results.stop()]);
    },
    stats: () => engine.stats(),
    queueDepth: () => store.tasks.queueDepth(),
    submitGeneric: (caller, input) => submitGeneric(deps, { caller, ...input }),
    async submitBody(caller, { requestId, pluginKey, body, repeats, options }) {
      const request = await jsonRequest(`/v1/tasks/${pluginKey}`, body, options);
      return submitGeneric(deps, { caller, requestId, pluginKey, request, repeats });
    },
    async retry(caller, { requestId, taskId, options }) {
      const task = await this.own(caller.user.id, taskId);
      return retryTask(deps, { caller, requestId, task, options });
    },
    retryBlock: async (task) => (hasEnded(task) ? findRetryBlock(deps, task) : 'task_running'),
    models: (caller) => listModels(deps, caller),
    namedModels: (caller) => listNamedModels(deps, caller),
    async tryChannel(channel, userId, signal) {
      const trial = await tryChannel(deps, { channel, userId, signal });
      if (!signal.aborted) await recordTrial(deps, channel.id, trial);
      reports.channelHealth.forget();
      return trial;
    },
    quote: (caller, requestId, request) => quoteRequest(deps, { caller, requestId, ...request }),
    submitVideo: (caller, requestId, request) => submitVideo(deps, { caller, requestId, request }),
    remixVideo: (caller, requestId, { of, request }) => submitVideo(deps, { caller, requestId, request, remix: of }),

    openNativePath: (method, path) => openNativePath(deps, method, path),

    async own(userId, taskId) {
      const task = await ownTask(deps, userId, taskId);
      if (!task) throw taskErrors.task_not_found();
      return task;
    },

    awaitChange: ({ user, key }, task, wait) =>
      awaitChange(deps, { ...wait, task, observer: { userId: user.id, keyId: key?.id ?? null } }),

    async ownSummary(userId, taskId) {
      const task = await ownTaskSummary(deps, userId, taskId);
      if (!task) throw taskErrors.task_not_found();
      return task;
    },

    async follow({ user, key, anyTask = false }, { taskId, left, requestId }) {
      const task = anyTask ? (await this.detail(taskId, null)).task : await this.own(user.id, taskId);
      // The observation counts for the observer, not for the task's owner.
      const observed = { ...task, userId: user.id };
      return followTask(deps, { task: observed, keyId: key?.id ?? null, left, requestId });
    },
    async cancel(userId, taskId) {
      return cancelTask(deps, await this.own(userId, taskId));
    },
    delete: (userId, taskId) => deleteTask(deps, userId, taskId),
    page: (userId, request) => pageTasks(deps, userId, request),
    endObservations: () => watchers.close(),

    readVideo: (userId, request) => readVideo({ ...deps, rendered }, userId, request),
    renderVideo: (task, request) => renderVideo(deps, task, request),

    makesImages: (caller, model) => makesImages({ ...deps, relay }, caller, model),
    createImages: (caller, requestId, request) => createImages(deps, { caller, requestId, request }),
    createResponse: (caller, requestId, request) => createResponse(deps, { caller, requestId, request }),
    retrieveResponse: (userId, id, request) => retrieveResponse(deps, { userId, id, request }),
    resumeResponse: (caller, input) => resumeResponse(deps, caller, input),
    async cancelResponse(userId, id, request) {
      await cancelTask(deps, await ownResponse(deps, userId, id));
      return retrieveResponse(deps, { userId, id, request });
    },
    async deleteResponse(userId, id) {
      await deleteTask(deps, userId, (await ownResponse(deps, userId, id)).taskId);
    },
    inputItems: async (userId, id, page) => listInputItems(await ownResponse(deps, userId, id), page),

    artifacts: (task, expiresIn) => describeArtifacts(deps, task, expiresIn),
    acceptPreview: (preview) => acceptPreview(deps, preview),
    posters: (tasks) => describePosters(deps, tasks),
    revokeLinks: (task, artifactKey) => revokeTaskLinks(deps, task, artifactKey),
    content: async (task, choice, request) =>
      holdSlotUntilSent(deps.downloads.acquire(task.userId, 'download'), (onStreamEnd) =>
        openContent(deps, { task, choice, client: { ...request, onStreamEnd } }),
      ),
    contentByLink: (link, request) => openLinkedArtifact(linkDeps, link, request),

    lists: store.tasks,

    async detail(taskId, userId) {
      const task = await store.tasks.byTaskId(taskId);
      if (!task || (userId !== null && (task.userId !== userId || task.hiddenAt !== 0)))
        throw taskErrors.task_not_found();
      const [events, ledger] = await Promise.all([store.tasks.events(taskId), store.ledger.byTask(taskId)]);
      return { task, events, ledger };
    },
  };
}
