import type { Quote } from '../billing/index.ts';
import { findRetryBlock, type RetryBlock } from '../files/index.ts';
import type { JsonObject } from '../kernel/index.ts';
import type { Relay } from '../relay/index.ts';
import { hasEnded, type TaskRecord } from '../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  cancelTask,
  type DescribedTask,
  deleteTask,
  findOwnTask,
  type SubmittedTask,
  taskErrors,
} from '../tasks/index.ts';
import { createSpeech, createTranscription, type SpeechAnswer, type TranscriptionAnswer } from './create-audio.ts';
import { findArtifactPlugin, mayMakeAudio, outranksRelay } from './find-artifact-plugin.ts';
import { createImages, findImageMaker, type ImageCreation, type ImagesAnswer } from './images/create-images.ts';
import type { ImageOperation } from './images/read-image-request.ts';
import { jsonRequest, type RequestOptions } from './json-request.ts';
import { type CallableModel, listModels, listNamedModels, type NamedModel } from './list-models.ts';
import { type NativePath, openNativePath } from './open-native-path.ts';
import { quoteTask, type RequestToQuote } from './quote-task.ts';
import { createResponse, type ResponseAnswer } from './responses/create-response.ts';
import {
  type ItemPage,
  listInputItems,
  ownResponse,
  resumeResponse,
  retrieveResponse,
} from './responses/retrieve-response.ts';
import { retryTask } from './tasks/retry-task.ts';
import { submitGeneric } from './tasks/submit-generic.ts';
import type { SurfaceDeps } from './types.ts';
import { describeVideos, renderOwnVideo, renderVideo, type VideoRequest } from './videos/render-video.ts';
import { createRenderedVideoCache } from './videos/rendered-video-cache.ts';
import { submitVideo } from './videos/submit-video.ts';

/** What clients speak, each as one call. */
export type Surfaces = {
  /** `POST /v1/tasks/:pluginKey`: the whole JSON body is the plugin's request body. */
  submitGeneric(
    caller: Caller,
    input: { requestId: string; pluginKey: string; request: ClientRequest },
  ): Promise<SubmittedTask>;
  /** Submits JSON that has already been read, such as the panel's; needs no API key. */
  submitBody(
    caller: Caller,
    input: {
      requestId: string;
      pluginKey: string;
      body: JsonObject;
      repeats?: string | undefined;
      options: RequestOptions;
      /** Called unless the request repeats an order. What it throws refuses the order. */
      beforeOrder?: () => Promise<void>;
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
  /** The quota that a request would reserve. Nothing is sent, written or charged. */
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
  /**
   * `GET /v1/videos/:id`: the plugin's rendering inside the gateway's object, as JSON.
   * @throws tasks.task_not_found
   */
  renderOwnVideo(userId: number, request: VideoRequest): ReturnType<typeof renderOwnVideo>;
  /** Describes the user's own videos without their plugins, in OpenAI's form. */
  describeVideos(userId: number): Promise<(task: DescribedTask) => JsonObject>;
  /** Renders a task that was read already. */
  renderVideo(task: TaskRecord, request: ClientRequest): Promise<JsonObject>;
  /** Whether a plugin makes or edits images of the model for the caller. */
  makesImages(caller: Caller, model: string, operation: ImageOperation): boolean;
  /** `POST /v1/images/generations` and `POST /v1/images/edits` for such a model. */
  createImages(caller: Caller, input: ImageCreation): Promise<ImagesAnswer>;
  /** Whether a plugin with results other than videos and images serves the model to the caller. */
  makesAudio(caller: Caller, model: string): boolean;
  /** `POST /v1/audio/speech` for such a model. @throws tasks.audio_* */
  createSpeech(caller: Caller, requestId: string, request: ClientRequest): Promise<SpeechAnswer>;
  /** `POST /v1/audio/transcriptions` for such a model. @throws tasks.audio_* */
  createTranscription(caller: Caller, requestId: string, request: ClientRequest): Promise<TranscriptionAnswer>;
  /** `POST /v1/responses`. @throws tasks.model_not_found when no plugin claims the model */
  createResponse(caller: Caller, requestId: string, request: ClientRequest): Promise<ResponseAnswer>;
  /** `GET /v1/responses/:id`. @throws tasks.not_found, also for another user's response */
  retrieveResponse(userId: number, id: string, request: ClientRequest): Promise<JsonObject>;
  /** Gives the response as a stream, from its beginning or after one of its events. */
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
};

export function createSurfaces(deps: SurfaceDeps, relay: Pick<Relay, 'serves'>): Surfaces {
  const rendered = createRenderedVideoCache();
  deps.telemetry.reportCacheSize?.('rendered_videos', rendered.size);
  return {
    submitGeneric: (caller, input) => submitGeneric(deps, { caller, ...input }),
    async submitBody(caller, { body, options, ...order }) {
      const request = await jsonRequest(`/v1/tasks/${order.pluginKey}`, body, options);
      return submitGeneric(deps, { caller, request, ...order });
    },
    async retry(caller, { requestId, taskId, options }) {
      const task = await findOwnTask(deps, caller.user.id, taskId);
      if (!task) throw taskErrors.task_not_found();
      return retryTask(deps, { caller, requestId, task, options });
    },
    retryBlock: async (task) => (hasEnded(task) ? findRetryBlock(deps, task) : 'task_running'),
    models: (caller) => listModels(deps, caller),
    namedModels: (caller) => listNamedModels(deps, caller),
    quote: (caller, requestId, request) => quoteTask(deps, { caller, requestId, ...request }),
    submitVideo: (caller, requestId, request) => submitVideo(deps, { caller, requestId, request }),
    remixVideo: (caller, requestId, { of, request }) => submitVideo(deps, { caller, requestId, request, remix: of }),

    openNativePath: (method, path) => openNativePath(deps, method, path),

    renderOwnVideo: (userId, request) => renderOwnVideo({ ...deps, rendered }, userId, request),
    describeVideos: (userId) => describeVideos(deps, userId),
    renderVideo: (task, request) => renderVideo(deps, task, request),

    makesImages: (caller, model, operation) =>
      outranksRelay({ ...deps, relay }, { caller, model }, (wanted) => findImageMaker(deps.vendors, wanted, operation)),
    createImages: (caller, input) => createImages(deps, { caller, ...input }),
    makesAudio: (caller, model) =>
      outranksRelay({ ...deps, relay }, { caller, model }, (wanted) =>
        findArtifactPlugin(deps.vendors, wanted, mayMakeAudio),
      ),
    createSpeech: (caller, requestId, request) => createSpeech(deps, { caller, requestId, request }),
    createTranscription: (caller, requestId, request) => createTranscription(deps, { caller, requestId, request }),
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
  };
}
