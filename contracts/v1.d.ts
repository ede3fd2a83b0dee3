/**
 * Task Plugin API v1: the types of every hook, context and descriptor.
 *
 * A plugin is one synchronous ECMAScript module. It exports `meta` and the hooks below; the host
 * makes the HTTP calls, keeps the task, polls, bills and serves the results. There is no fetch,
 * timer, file, import or promise in a plugin: it turns JSON into JSON. There are two globals:
 * `utils` (see {@link Utils} and {@link UtilsExtensions}) and `console.log`, which writes to the
 * gateway's debug log.
 *
 * Every call starts from a fresh copy of the module: a variable that one call sets is not set in
 * the next. A hook has 5 seconds. To refuse a request, throw an `Error` with a sentence that users
 * understand: its message reaches the client, cut to 512 characters. `v1.schema.json` is the same
 * contract as JSON Schema.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

// -------------------------------------------------------------------------------------------------
// manifest

/** A text, which means `{en: text}`, or texts by BCP-47 locale: at most 16, `en` is required. */
export type LocalizedText = string | Record<string, string>;

/** A fact that prices can use, in one of three forms. */
export type UsageField =
  | { enum: string[]; enumLabels?: Record<string, LocalizedText>; description?: LocalizedText }
  | {
      type: 'number';
      unit: 'second' | 'count' | 'token' | 'credit';
      /**
       * What is counted, such as `image`, if the unit is `count`. It is shown only.
       * @since 2026-11
       */
      unitLabel?: LocalizedText;
      description?: LocalizedText;
    }
  | { type: 'boolean'; description?: LocalizedText };

/** Usage facts by the names of `meta.usageSchema`. Seconds are at most 3600, counts 128. */
export type UsageFacts = Record<string, string | number | boolean>;

/** An example of a price. `facts` has every field of its schema. It is shown only. */
export type UsageExample = { label: string; facts: UsageFacts };

/**
 * Usage facts of some models. They replace `usageSchema` and `usageExamples`; nothing is merged.
 * The vendor's name of the model decides, or else the client's.
 * @since 2026-11
 */
export type UsageProfile = {
  /** Names from `meta.models`, each in at most one profile. */
  models: string[];
  schema: Record<string, UsageField>;
  /** Required if the schema has a number field in tokens. */
  examples?: UsageExample[];
};

/**
 * What a plugin may require: `utils.json.clone`; members of JSON in the order in which they came
 * (names that are whole numbers go first, as in all of JavaScript); `-1` as a duration that the
 * vendor chooses; and the hook `parseSubmitEventDelta`.
 * @since 2026-11
 */
export type Capability = 'json-clone@1' | 'json-order@1' | 'duration-auto@1' | 'submit-sse-delta@1';

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A native endpoint of the plugin. `decode` and `render` name members of the exported `native`. */
export type Route =
  | {
      method: RouteMethod;
      /** Literals, `:name` segments and at most one final `*name`. */
      path: string;
      type: 'submit' | 'dynamic';
      decode: string;
      render: string;
      /** The action, if the decoder gives none. */
      action?: string;
      /** Narrows the route: the body's `model` must be one of these. */
      models?: string[];
      /**
       * `false`: the data of a result that is complete at once is not stored. The client gets it in
       * the answer, and no read finds the task afterwards; its bill stays.
       * @since 2026-11
       */
      retainResult?: boolean;
      /** Not used. */
      taskIdParam?: string;
    }
  | {
      method: RouteMethod;
      path: string;
      type: 'query';
      render: string;
      /** The path parameter with the task id; `task_id` by default. */
      taskIdParam?: string;
      /** Not used. */
      action?: string;
    };

export type ResponsesMode = 'stream' | 'sync' | 'background';

/** A claim on a protocol of the host, for all models or for some. */
export type ProtocolEntry =
  | 'proto_video'
  | { name: 'proto_video'; models?: string[] }
  | { name: 'proto_responses'; supports: ResponsesMode[]; models?: string[] }
  /** @since 2026-11 */
  | 'proto_image'
  | { name: 'proto_image'; models?: string[] };

export interface Meta {
  apiVersion: 1;
  /** `a-z 0-9 _ -`, at most 30 characters. */
  key: string;
  name: string;
  /** Semantic version. A changed source needs a new version. */
  version: string;
  author: { name: string; url?: string };
  models: string[];
  fetchMode: 'per_task' | 'batch';
  /**
   * A name of the LobeHub icon library such as `Kling.Color`, or `text`, or `text:AB`. The panel
   * shows initials for names without an image.
   */
  icon?: string;
  /** At most 512 code points per locale. */
  description?: LocalizedText;
  sortPriority?: number;
  website?: string;
  /** Default base URL of channels bound to this plugin. */
  baseUrl?: string;
  /** Further hosts that requests may go to: `host` or `host:port`. */
  allowedHosts?: string[];
  channelTypes?: number[];
  protocols?: ProtocolEntry[];
  routes?: Route[];
  usageSchema?: Record<string, UsageField>;
  usageExamples?: UsageExample[];
  /** @since 2026-11 */
  usageProfiles?: UsageProfile[];
  /**
   * What the driver can address; `vendor` is implied. A plugin with `new_api` may be bound to
   * channels of type 60: accounts at another gateway that has the same plugin.
   * @since 2026-11
   */
  upstreams?: ('vendor' | 'new_api')[];
  /**
   * The forms in which the vendor may answer a submission: `json` by default. `sse` needs the hook
   * `parseSubmitEvent`, or with `submit-sse-delta@1` `parseSubmitEventDelta`.
   * @since 2026-11
   */
  submitResponseTypes?: ('json' | 'sse')[];
  /** What the plugin cannot do without. @since 2026-11 */
  requiredCapabilities?: Capability[];
  /**
   * `{type: 'oauth2_jwt'}`: the host exchanges the channel's service-account key; hooks see
   * `authHeader` and `auth.projectId`.
   */
  auth?: Json;
}

// -------------------------------------------------------------------------------------------------
// requests and files

/** A file of the incoming multipart request. Its bytes never enter a plugin. */
export interface FileReference {
  /**
   * `request_file:<field>`, or `request_file:<field>#<index>` for the second and later files of a
   * field.
   */
  ref: string;
  field: string;
  filename: string;
  mimeType: string;
  size: number;
}

/**
 * A placeholder for an uploaded file, at any depth of a JSON body. The host replaces it with the
 * encoded bytes.
 */
export interface FilePlaceholder {
  __fileRef: string;
  /** Raw Base64, or `data:<mime>;base64,<data>`. */
  encoding: 'base64' | 'dataUrl';
  mimeType?: string;
  /** The vendor's size limit, in bytes. */
  maxBytes?: number;
}

export type RequestBody =
  | { kind: 'json'; value: Json }
  | { kind: 'form'; fields: Record<string, readonly string[]> }
  | { kind: 'multipart'; fields: Record<string, readonly string[]>; files: FileReference[] }
  | { kind: 'none' };

/** The context of native decoders and presenters. */
export interface RouteContext {
  path: string;
  method: string;
  /** Path parameters by name, percent-decoded. */
  params: Record<string, string>;
  query: Record<string, string[]>;
  body: RequestBody;
}

/** The context of the hooks under `protocols`. */
export interface ProtocolContext extends RouteContext {
  /** The protocol, by the name that `meta.protocols` uses. */
  protocol: string;
  /** On `proto_image` `generate` or `edit`; everywhere else `create` or `retrieve`. */
  operation: 'create' | 'retrieve' | 'generate' | 'edit';
  /** The model that the client named. */
  model: string;
  stream: boolean;
  /** The model after the channel's mapping, if there is one. */
  upstreamModel?: string;
  /** The artifacts of a succeeded task, with permanent URLs of the gateway. */
  readonly artifacts?: Readonly<Record<string, Readonly<Artifact & { url: string }>>>;
}

/** A decoded submission. */
export interface SubmitIntent {
  kind: 'submit';
  /** Must be one of `meta.models`; on a protocol, exactly the client's model. */
  model: string;
  action?: string;
  /** The normalized request. Driver hooks get it as `ctx.requestBody`. */
  requestBody?: Json;
  /** Public ids of at most 16 earlier tasks of the same user that this one builds on. */
  originTaskIds?: string[];
}

/** A decoded query of a dynamic route. */
export interface QueryIntent {
  kind: 'query';
  /** At most 100 public task ids. */
  taskIds: string[];
}

// -------------------------------------------------------------------------------------------------
// driver hooks

/**
 * Whose API answers: the vendor's, or that of another gateway with this plugin, on the plugin's
 * native routes and the host's protocols.
 * @since 2026-11
 */
export type UpstreamKind = { kind: 'vendor' | 'new_api' };

/** The channel's credential for driver hooks. */
export interface Credential {
  /**
   * The raw channel key (without `Bearer`); `Bearer <token>` for `oauth2_jwt`, and `Bearer <key>`
   * at another gateway.
   */
  authHeader?: string;
  /** The raw channel key; absent for `oauth2_jwt`. */
  apiKey?: string;
  auth?: { authHeader?: string; projectId?: string };
  /** Why there is no credential, if the exchange failed. */
  authError?: string;
}

export interface OriginTask {
  taskId: string;
  upstreamTaskId: string;
  action: string;
  status: TaskStatus;
  data: Json;
}

/**
 * The context of buildSubmitRequest, parseSubmitResponse, extractUsage and extractUsageOnSubmit.
 * These hooks must not depend on path or protocol.
 */
export interface DriverContext extends Credential {
  path: string;
  method: string;
  params: Record<string, string>;
  query: Record<string, string[]>;
  body: RequestBody;
  /** The decoder's `requestBody`; on `POST /v1/tasks/:pluginKey` the whole JSON body. */
  requestBody: Json;
  requestHeaders: { 'Content-Type'?: string; Accept?: string };
  files: FileReference[];
  action: string;
  /** Set if the decoder named origin tasks. */
  originTasks?: OriginTask[];
  /** The vendor's id of the first origin task, for remixes. */
  originTaskId?: string;
  publicTaskId: string;
  /**
   * An extension: the address at which the vendor may say that this task has changed; absent where
   * the gateway has no public address. A call makes the gateway poll the task at once and is not
   * believed otherwise. Any body will do; the answer is `ok`, or `{"challenge": …}` where the body
   * has a challenge.
   */
  callbackUrl?: string;
  /** The model that the client sent, for billing and display. */
  model: string;
  /** The model after the channel's mapping. Rate tables use `ctx.upstreamModel || ctx.model`. */
  upstreamModel: string;
  baseUrl: string;
  /** For plugins whose `meta.upstreams` names `new_api`. @since 2026-11 */
  upstream?: UpstreamKind;
  userSetting?: Json;
  /** Set for extractUsage only. */
  usagePurpose?: 'facts' | 'billing_ratios';
}

export type MultipartPart =
  | { name: string; value: string | number | boolean }
  | { name: string; fileRef: string; filename?: string };

/** A request to the vendor. Its host must be the channel's own or in `meta.allowedHosts`. */
export interface RequestDescriptor {
  url: string;
  /** POST by default for a submission, GET for a query. */
  method?: string;
  /**
   * Sent unchanged; the host adds no Authorization. At most 64, each of at most 8192 characters.
   */
  headers?: Record<string, string>;
  /** A string is sent unchanged, anything else as JSON; null or nothing sends no body. */
  body?: Json;
  bodyType?: 'json' | 'multipart';
  /** For `bodyType: 'multipart'`. The host sets the Content-Type. */
  parts?: MultipartPart[];
}

export interface SubmitDescriptor extends RequestDescriptor {
  /** Becomes the task's action. */
  action?: string;
  /**
   * Replaces the model for billing on native routes. On protocols it must be the client's model.
   */
  model?: string;
  /** Replaces the model for the vendor. */
  rewriteModel?: string;
  /** The form of the vendor's answer: one of `meta.submitResponseTypes`. @since 2026-11 */
  responseType?: 'json' | 'sse';
}

/** The vendor's 2xx answer to a submission. */
export interface SubmitResponse {
  statusCode: number;
  /** By name in lower case, as in `retry-after`. */
  headers: Record<string, string[]>;
  /** Parsed JSON, or text; "" for audio, images and video. */
  body: Json;
  /**
   * An extension: the bytes of audio, of an image or of a video (by its Content-Type) of at most
   * 765 KiB, which fit into `state`; a `data:` URL in `buildContentRequest` serves them. Other
   * hosts and larger answers leave it out.
   */
  base64?: string;
}

/** An event of a vendor that answers a submission with a stream. @since 2026-11 */
export interface SubmitEvent {
  /** `message` where the vendor names none. */
  event: string;
  id: string;
  /** Its lines, joined by line feeds. */
  data: string;
}

/** @since 2026-11 */
export interface SubmitEventResult {
  /** What the next call gets, and with `done` the body of `parseSubmitResponse`; at most 1 MiB. */
  state: Json;
  /** Ends the stream. */
  done: boolean;
}

/**
 * A change of the result that the host keeps, which begins as null. `set` replaces the value at the
 * path, or adds a member; `append` adds to a list; `appendText` adds to a text.
 * @since 2026-11
 */
export type SubmitChange = { op: 'set' | 'append' | 'appendText'; path: (string | number)[]; value: Json };

/** @since 2026-11 */
export interface SubmitEventDelta {
  changes: SubmitChange[];
  /** What the next call gets; at most 64 KiB. */
  state: Json;
  /** Ends the stream: the result is the body of `parseSubmitResponse`. */
  done: boolean;
}

export interface SubmitResult {
  /**
   * The vendor's id of the task, at most 4096 characters. This host takes a number up to 2^53 as
   * its text; a larger one of the vendor's answer arrives here as text.
   */
  taskId: string;
  /** The first snapshot of task.data. */
  taskData?: Json;
  /**
   * Set if the vendor answered with a result at once. Its `state` counts if `state` below is left
   * out.
   */
  immediate?: TaskResult;
  /** The plugin's own state, at most 1 MiB as JSON. */
  state?: Json;
}

export type TaskStatus = 'NOT_START' | 'SUBMITTED' | 'QUEUED' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE';

export interface TaskResult {
  /**
   * Return UNKNOWN for an answer that you do not recognize. It counts as a failed poll; the 20th in
   * a row ends the task.
   */
  status: TaskStatus | 'UNKNOWN';
  /** "42%", or a number from 0 to 100. */
  progress?: string | number;
  /** Why the task failed. */
  reason?: string;
  /**
   * Where the result is: a public http(s) URL that needs no credential, or a base64 `data:` URL. If
   * the plugin exports no `listArtifacts`, this is the content that clients download.
   */
  url?: string;
  /** Counts if there is no `url`. */
  remoteUrl?: string;
  completionTokens?: number;
  totalTokens?: number;
  taskId?: string;
  code?: string | number;
  /** Replaces the stored state. Null clears it; without it the state stays. */
  state?: Json;
}

export interface BatchItem extends TaskResult {
  /** The vendor's id. */
  taskId: string;
  /** Replaces the task's action; at most 40 characters. */
  action?: string;
  /**
   * Unix seconds, by the vendor's clock. Times more than five minutes before the submission or
   * after now are ignored.
   */
  submitTime?: number;
  startTime?: number;
  finishTime?: number;
  /** Replaces task.data. */
  data?: Json;
}

export interface TaskQueryContext {
  /** The vendor's id, or else the gateway's. */
  taskId: string;
  publicTaskId: string;
  action: string;
  model: string;
  upstreamModel: string;
  baseUrl: string;
  authHeader: string;
  apiKey?: string;
  auth?: Json;
  /** As in DriverContext. @since 2026-11 */
  upstream?: UpstreamKind;
  /** The vendor's latest answer. */
  data: Json;
  /** The state that a hook returned last. */
  state: Json;
}

export interface BatchQueryContext {
  baseUrl: string;
  authHeader: string;
  apiKey?: string;
  auth?: Json;
  /** As in DriverContext. @since 2026-11 */
  upstream?: UpstreamKind;
  tasks: TaskQueryContext[];
}

/** The vendor's answer to a poll, with the first value of each header. */
export interface ResponseInfo {
  status: number;
  /** By name in lower case. */
  headers: Record<string, string>;
}

/** A parsed poll, for extractUsageOnComplete. */
export interface CompletedResult {
  code?: string | number;
  task_id?: string;
  status: string;
  reason?: string;
  url?: string;
  remote_url?: string;
  progress?: string;
  completion_tokens?: number;
  total_tokens?: number;
}

// -------------------------------------------------------------------------------------------------
// artifacts and views

export interface Artifact {
  /** Unique within the task: a letter or digit, then up to 127 of letters, digits and `._~-`. */
  key: string;
  type: 'video' | 'audio' | 'image' | 'file';
  mimeType?: string;
}

export interface ArtifactContext {
  /** The gateway's id. */
  taskId: string;
  status: TaskStatus;
  action: string;
  data: Json;
  state: Json;
  /** The plugin version that submitted the task; "" if unknown. */
  producerVersion: string;
}

export interface ContentContext extends ArtifactContext, Credential {
  upstreamTaskId: string;
  artifactKey: string;
  baseUrl: string;
  /** As in DriverContext. @since 2026-11 */
  upstream?: UpstreamKind;
  /**
   * The client's method, and its headers Range, If-Range, If-None-Match and If-Modified-Since.
   */
  clientRequest: { method: 'GET' | 'HEAD'; headers: Record<string, string> };
}

export interface ContentDescriptor {
  /** http(s), or a base64 `data:` URL. */
  url: string;
  method?: 'GET' | 'HEAD' | 'POST';
  headers?: Record<string, string>;
  body?: Json;
  /** A public URL on any host: GET or HEAD without headers and body. */
  credentialless?: boolean;
  /**
   * An extension, which other hosts of this contract do not have. The answer is JSON that contains
   * the file as Base64: the gateway decodes it while it arrives, and sends it as `mimeType`.
   * `index` counts, from 0, the texts of at least 16 KiB of Base64. Ranges are not served.
   */
  base64?: { index: number; mimeType: string };
  /**
   * An extension, which other hosts ignore: at most 16 further public hosts that the vendor may
   * redirect to, as in `allowedHosts`, or `*.example.com`. They get neither headers nor body.
   */
  redirectHosts?: string[];
}

/** A task, for presenters and renderers. */
export interface TaskView {
  task_id: string;
  platform: string;
  model?: string;
  status: TaskStatus;
  /** "0%" to "100%". */
  progress: string;
  fail_reason: string;
  /** Unix seconds. */
  created_at: number;
  updated_at?: number;
  finished_at?: number;
  /** The vendor's latest answer, with its task id replaced by the public one. */
  data?: Json;
  properties?: { input?: string; origin_model_name?: string; upstream_model_name?: string };
}

export interface NativeError {
  /**
   * Depends on the status: 401 `authentication_error`, 403 `permission_denied`, 404
   * `task_not_found`, 409 `request_conflict`, 429 `rate_limit_exceeded`, 5xx `server_error`, others
   * `invalid_request`.
   */
  code: string;
  /** For the client. For statuses from 500 on it does not give the cause. */
  message: string;
  httpStatus: number;
  /** A retry may succeed, and cannot charge twice. */
  retryable: boolean;
  requestId: string;
}

export type RenderEvent =
  | { type: 'progress'; progress?: number; message?: string }
  | { type: 'output'; data: Json }
  | { type: 'error'; message: string; code?: string };

export interface RenderEventsResult {
  /** At most 16 per call. */
  events: RenderEvent[];
  done: boolean;
  /** The next call of the same stream gets it as `previousState`. */
  state?: Json;
}

// -------------------------------------------------------------------------------------------------
// the module

export interface ProtoVideoHooks {
  /**
   * Decodes the client's request into the plugin's own form. Throw to refuse it: the client reads
   * the message.
   * @when first, on `POST /v1/videos`; it may run more than once for a request, so it must depend
   * only on its argument
   * @limits request bodies of 16 MiB; files stay outside and have at most `MAX_FILE_DOWNLOAD_MB`
   */
  decodeRequest(ctx: ProtocolContext): SubmitIntent;
  /**
   * Renders the video object. The host overwrites identity, lifecycle and times. Without a valid
   * result the client gets a plain object.
   * @when a client reads a video: `GET /v1/videos/:id`
   */
  render(ctx: ProtocolContext, task: TaskView): JsonObject;
}

export interface ProtoResponsesHooks {
  /**
   * Decodes the client's request, as for videos.
   * @when first, on `POST /v1/responses`
   */
  decodeRequest(ctx: ProtocolContext): SubmitIntent;
  /**
   * Renders what has happened since the last call as events. Required for `stream`.
   * @when repeatedly, while a client follows the task's stream
   * @limits 16 events per call, 32 KiB each and 64 KiB together; `state` 16 KiB; 64 outputs and 1
   * MiB of text per stream
   */
  renderEvents?(ctx: ProtocolContext, task: TaskView, previousState?: Json): RenderEventsResult;
  /**
   * Renders the whole answer. Required for `sync` and `background`.
   * @when a task has succeeded and a client waits for it or reads it
   * @limits 64 output items, 1 MiB of output
   */
  renderFinal?(ctx: ProtocolContext, task: TaskView): JsonObject;
}

/** @since 2026-11 */
export interface ProtoImageHooks {
  /**
   * Decodes the client's request, as for videos. An edit is JSON or a form with files.
   * @when first, on `POST /v1/images/generations` and `POST /v1/images/edits`
   */
  decodeRequest(ctx: ProtocolContext): SubmitIntent;
  /**
   * Renders the images: `data` is a list of `{ url }` or `{ b64_json }`, with `revised_prompt` if
   * the vendor changed the prompt. The host adds `created`, and fetches the URLs for a client that
   * wants Base64. An extension: without a result (null) this host lists the artifacts that are
   * images, by links of its own or with their bytes.
   * @when the task has succeeded, within the client's request
   * @limits 128 images
   */
  render(ctx: ProtocolContext, task: TaskView): JsonObject | null;
}

/** Decoders and presenters of `meta.routes`, by the names that the routes use. */
export interface NativeHooks {
  /**
   * Renders a failure as the vendor's own error body. The host keeps the HTTP status. If it throws
   * or returns nothing, the client gets the host's own error body.
   * @when a request to a native route fails, even before its body is read or its key is checked;
   *   also for an unknown path or method below a first segment that only the plugin uses
   */
  error?(ctx: RouteContext, error: NativeError): Json;
  [name: string]: unknown;
}
/**
 * Decodes a request to a native route into a submission, or on a dynamic route into a query. Throw
 * to refuse it. It must depend only on its argument.
 * @when first, on the route that names it in `decode`
 * @limits 100 ids per query
 */
export type NativeDecoder = (ctx: RouteContext) => SubmitIntent | QueryIntent;
/**
 * Renders the body of the answer. Dynamic queries pass an array of tasks in the order of their ids,
 * every other route passes one task. If it throws, a query fails; a submission is answered with the
 * gateway's own object, because the task exists and is billed.
 * @when a task was submitted or queried on the route that names it in `render`
 */
export type NativePresenter = (ctx: RouteContext, task: TaskView | TaskView[]) => Json;

/** The exports of a plugin module. */
export interface PluginModule extends HookExtensions, ExportExtensions {
  meta: Meta;
  /**
   * Describes the request that submits the task. Throw to refuse it: nothing has been billed yet.
   * @when after the decoder, for the chosen channel, and again for another channel; on
   * `POST /v1/tasks/:pluginKey` it is the first hook
   */
  buildSubmitRequest(ctx: DriverContext): SubmitDescriptor;
  /**
   * Extracts facts for the price, by `meta.usageSchema`.
   * @when before the reservation, if the price uses facts
   * @limits seconds 3600, counts 128
   */
  extractUsage?(ctx: DriverContext): UsageFacts | null;
  /**
   * Parses the vendor's answer. A throw fails the task and refunds it; the request is not sent
   * again, unless `parseSubmitError` says that the answer refuses it.
   * @when the vendor has answered the submission with 2xx
   * @limits `taskData` and `state` 1 MiB each, `taskId` 4096 characters
   */
  parseSubmitResponse(ctx: DriverContext, response: SubmitResponse): SubmitResult;
  /**
   * Reads one event of a vendor's answer. Required for `submitResponseTypes: ['sse']`, unless
   * `submit-sse-delta@1` is required. A stream that ends or breaks before `done` fails the task and
   * is not sent again.
   * @when for each event of an answer that the request wanted as `responseType: 'sse'`
   * @limits an event and the state 1 MiB each; 30 s without an event
   * @since 2026-11
   */
  parseSubmitEvent?(ctx: DriverContext, event: SubmitEvent, previousState: Json): SubmitEventResult;
  /**
   * The same, where the host keeps the result and the plugin says what changes. Required for
   * `submit-sse-delta@1`.
   * @when for each event of an answer that the request wanted as `responseType: 'sse'`
   * @limits 256 changes an event, paths of 32 steps; the result 1 MiB, 32 levels, 32,768 values
   * @since 2026-11
   */
  parseSubmitEventDelta?(ctx: DriverContext, event: SubmitEvent, previousState: Json): SubmitEventDelta;
  /**
   * Extracts facts of the vendor's answer to the submission. They override the first ones when the
   * task is settled. Null keeps the first ones; so do a throw and invalid facts, because the job is
   * bought.
   * @when the submission was accepted, if the price uses facts; `taskData` is that of
   * `parseSubmitResponse`
   * @limits seconds 3600, counts 128
   */
  extractUsageOnSubmit?(ctx: DriverContext, taskData: Json): UsageFacts | null;
  /**
   * Describes the request that queries one task. Required for `fetchMode: 'per_task'`.
   * @when for every poll of a task
   */
  buildQueryRequest?(ctx: TaskQueryContext): RequestDescriptor;
  /**
   * Parses the answer to a poll. `body` is parsed JSON, or text.
   * @when for every answer but 401, 403, 404, 410, 429 and 5xx, which the host handles itself
   * @limits `state` 1 MiB; the stored answer 1 MiB
   */
  parseTaskResult(ctx: TaskQueryContext, body: Json, response: ResponseInfo): TaskResult;
  /**
   * Describes the request that queries many tasks. Required for `fetchMode: 'batch'`.
   * @when for every poll of a channel's tasks
   * @limits 100 tasks
   */
  buildBatchQueryRequest?(ctx: BatchQueryContext, tasks: TaskQueryContext[]): RequestDescriptor;
  /**
   * Parses the answer to a batch query. A task that is not in the result counts as not answered.
   * Required for `fetchMode: 'batch'`.
   * @when for every answer to `buildBatchQueryRequest`
   */
  parseBatchResult?(ctx: BatchQueryContext, body: Json, response: ResponseInfo): BatchItem[];
  /**
   * Extracts facts that are only known later. When the task is settled, the newest fact of each
   * name counts; null keeps the earlier ones. `completionTokens` and `totalTokens` need no
   * declaration: they are those of the task result unless given here, and `upstreamUnits` above 0
   * overrides both. After a throw or invalid facts for the last answer, the reservation is charged.
   * @when every parsed answer that differs from the one before, and the last, if the price uses
   * facts
   * @limits seconds 3600, counts 128
   */
  extractUsageOnComplete?(ctx: TaskQueryContext, result: CompletedResult, body: Json): UsageFacts | null;
  /**
   * Lists the results of the task. Export it together with `buildContentRequest`.
   * @when a client lists results, and before each download
   * @limits 64 artifacts
   */
  listArtifacts?(task: ArtifactContext): Artifact[];
  /**
   * Describes the request that fetches one artifact. The host streams the answer to the client.
   * @when for each download
   * @limits request body 1 MiB, URL 64 KiB, a `data:` URL 64 MiB
   */
  buildContentRequest?(ctx: ContentContext): ContentDescriptor;
  native?: NativeHooks;
  protocols?: {
    proto_video?: ProtoVideoHooks;
    proto_responses?: ProtoResponsesHooks;
    proto_image?: ProtoImageHooks;
  };
}

/** The global `utils`. Strings are encoded as UTF-8. */
export interface Utils {
  /** Seconds since 1970. */
  unixNow(): number;
  /** Whether this host has a capability, such as `json-clone@1`. @since 2026-11 */
  hasCapability(name: string): boolean;
  json: {
    /**
     * An independent copy of plain JSON. It throws on anything else.
     * @since 2026-11
     * @limits 1 MiB, 32 levels, 32,768 values
     */
    clone<T extends Json>(value: T): T;
  };
  /** A random UUID (version 4). */
  uuid(): string;
  /** Lower-case hex. */
  hmacSHA256(message: string, secret: string): string;
  /** A compact JWT. */
  jwtSignHS256(claims: JsonObject, secret: string): string;
  /** With padding. */
  base64(text: string): string;
  /** URL-safe, without padding. */
  base64URL(text: string): string;
  /** Throws on bad input. */
  base64URLDecode(text: string): string;
  /** Signs a request in Volcengine's version 4 scheme. */
  volcSignV4(request: {
    method: string;
    url: string;
    headers?: Record<string, string>;
    body?: string;
    accessKey: string;
    secretKey: string;
    /** `cn-north-1` by default. */
    region?: string;
    /** `cv` by default. */
    service?: string;
    /** Unix seconds; now by default. */
    timestamp?: number;
  }): { Authorization: string; 'X-Date': string; 'X-Content-Sha256': string };
}

// -------------------------------------------------------------------------------------------------
// Extensions

/**
 * What a refusal is about. It decides what the client reads: `bad_input` 400 `vendor_rejected`,
 * `content_policy` 400 `content_policy_violation`, `quota` (the channel's account is used up) 503
 * `vendor_quota_exhausted`, `busy` 429 `vendor_busy`, `credential` 502 `vendor_failed`.
 */
export type SubmitErrorClass = 'bad_input' | 'content_policy' | 'quota' | 'busy' | 'credential';

/**
 * What a refusal says of the channel's account. `capacity`: it runs as many jobs as it may; `rate`:
 * it started too many in a while; `balance`: it is used up; `credential`: its key is refused;
 * `vendor_busy`: the vendor has no room for anybody. After these the task may wait and be sent
 * again, also by another channel. `content` and `request` are about the request: they end the task.
 */
export type SubmitErrorKind = 'capacity' | 'rate' | 'balance' | 'credential' | 'vendor_busy' | 'content' | 'request';

/** A vendor's refusal in words. It has `kind` or `class`. */
export interface SubmitError {
  /**
   * States that the vendor refused and has no job: give it only for what the vendor documents as a
   * refusal.
   */
  kind?: SubmitErrorKind;
  /** Where there is no `kind`, which outranks it. It counts for answers of 4xx alone. */
  class?: SubmitErrorClass;
  /**
   * A sentence for the client; not shown for `quota` and `credential`, which the client cannot
   * mend: the gateway logs it.
   */
  message?: string;
  /** The client's parameter that is wrong. */
  param?: string;
  /** For what may pass; instead of the vendor's `Retry-After`. At most 3600. */
  retryAfterSeconds?: number;
}

export interface ResolveContext extends Credential {
  upstreamTaskId: string;
  baseUrl: string;
  /** In the second call: the vendor's 2xx answer to the request of the first. */
  response?: SubmitResponse;
}

/** One of `request` and `url`. */
export interface ArtifactResolution {
  /** Asks the vendor once, under the rules of a query; the hook is then called with its answer. */
  request?: RequestDescriptor;
  /** Where the content is: a public URL that needs no credential, or a base64 `data:` URL. */
  url?: string;
  /** Seconds for which `url` may be used again: 60 by default, at most 600. */
  expiresIn?: number;
}

/** Hooks that other hosts of this contract ignore. */
export interface HookExtensions {
  /**
   * Says what a vendor's refusal means. Null leaves it to the gateway, and so do a throw and an
   * invalid result. A `class` never leads to more attempts than the answer's status does; a `kind`
   * does, since it states that there is no job. After 408, 409, 504 and 524 nothing is sent again.
   * @when the vendor has answered the submission with 4xx or 5xx, or with 2xx where
   *   `parseSubmitResponse` threw
   */
  parseSubmitError?(response: SubmitResponse, ctx: DriverContext): SubmitError | null;
  /**
   * Looks up or renews the address of an artifact that `listArtifacts` lists. Null leaves it to
   * `buildContentRequest`, which hosts without this hook call. The address is remembered shortly,
   * and looked up again when the vendor refuses it.
   * @when before a download, unless the address is remembered; a second time with the vendor's
   *   answer if it returned a request
   * @limits one request per download
   */
  resolveArtifact?(task: ArtifactContext, key: string, ctx: ResolveContext): ArtifactResolution | null;
  /**
   * Asks what is left of a channel's account. Comes with `parseBalanceResponse`. The setting
   * `balance_script` of a channel, a module of these two hooks, goes before it.
   * @when once an hour for each key, and when an administrator asks
   * @limits one request to the channel's own origin, GET or POST, without redirects; a body of at
   *   most 16 KiB
   */
  buildBalanceRequest?(ctx: BalanceContext): BalanceRequest;
  /**
   * Reads the answer: a number of US dollars from 0.
   * @when the vendor has answered `buildBalanceRequest` with 2xx
   * @limits an answer of at most 256 KiB
   */
  parseBalanceResponse?(ctx: BalanceContext, response: BalanceResponse): number;
  /**
   * Reads what the vendor lets an account run, where the vendor tells it. Null: it says nothing
   * about this account. What it tells holds beside what an administrator declares, and the
   * strictest does; where nothing is declared, nothing more is learned from refusals.
   * @since 2026-11
   * @when once an hour for each key, and when an administrator asks; a second time with the
   *   vendor's 2xx answer if it returned a request
   * @limits one request, as of `buildBalanceRequest`
   */
  queryCapacity?(ctx: CapacityContext): CapacityAnswer | null;
}

/** The account whose balance is read. */
export interface BalanceContext {
  channel: { id: number; name: string; type: number; baseUrl: string; apiKey: string };
  /** Unix milliseconds. */
  now: number;
}

export interface CapacityContext extends BalanceContext {
  /** In the second call: the vendor's answer to the request of the first. */
  response?: BalanceResponse;
}

/** One of `request` and `limits`. */
export interface CapacityAnswer {
  /** Asks the vendor once; the hook is then called with its answer. */
  request?: BalanceRequest;
  /** Whole numbers from 1. `models`: by the vendor's names, beside what holds for all together. */
  limits?: CapacityLimit & { models?: Record<string, CapacityLimit> };
}

/** What is not told is left out. */
export interface CapacityLimit {
  /** Tasks at once, counted in `vendorInfo.capacity.slots`. */
  maxRunning?: number;
  /** Submissions in a minute. */
  maxPerMinute?: number;
  /** How many of a minute may be sent at once: 1 without it, so that they are spaced evenly. */
  burst?: number;
}

/** The request for a balance or for limits. */
export interface BalanceRequest {
  /** An absolute URL of the channel's own origin. */
  url: string;
  /** GET by default, or POST. */
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The vendor's answer to it. */
export interface BalanceResponse {
  statusCode: number;
  /** By name in lower case. */
  headers: Record<string, string>;
  body: string;
}

/**
 * What people who set the plugin up should know: the export `vendorInfo`, which other hosts of this
 * contract ignore. All but `capacity` is only shown; a member that does not fit is left out.
 */
export interface VendorInfo {
  /** Where the vendor gives out keys. */
  keyUrl?: string;
  /**
   * How a key looks, such as `sk-…`, the usual form first; several if there are several, at most 4.
   * `…` and a word in capitals such as `API_KEY` stand for any text, `|` joins parts. A key of none
   * of these forms is doubted, not refused. At most 100 characters each.
   */
  keyFormat?: string | string[];
  /** What else helps to get the right key. At most 512 characters per locale. */
  keyHelp?: LocalizedText;
  /**
   * For how many seconds after a submission the vendor may answer 404 for the new task, at most
   * 3,600. The form of a new channel suggests it; without the channel's setting a 404 ends the
   * task.
   */
  notFoundGraceSeconds?: number;
  /**
   * The vendor's own prices by model, as price expressions over `usageSchema` in US dollars, from
   * the page `url` as it was on `asOf` (YYYY-MM-DD). Nothing is charged by them.
   */
  listPrices?: { url?: string; asOf?: string; models: Record<string, string> };
  /**
   * How the vendor counts what an account runs at once. `slots`: how many places a request takes,
   * as an expression like a price, over the same facts (`u("images")`), rounded up; 1 without it,
   * and where it cannot be evaluated. `queues`: the vendor accepts more than it runs and says
   * `QUEUED` of the rest: nothing more is sent while more than two tasks of a model stand there.
   * @since 2026-11
   */
  capacity?: { slots?: string; queues?: boolean };
  /**
   * What requests may say, by the names of facts in `usageSchema`. `null`: nothing, the fact comes
   * from elsewhere, so forms leave it out. `models` is what differs for models, by their names in
   * `meta.models`.
   */
  ranges?: Record<string, (FactRange & { models?: Record<string, FactRange | null> }) | null>;
  /**
   * Fields that requests have besides `prompt` and the facts, by name, for forms. Those without
   * which a model refuses its request belong here. At most 50.
   */
  inputs?: Record<string, RequestInput>;
  /**
   * Short names of facts and inputs for forms, prices and bills, such as `Duration`. Without one
   * the name itself is shown. At most 100, of 64 characters per locale.
   */
  labels?: Record<string, LocalizedText>;
  /** Requests to begin with in the playground, of all models or of `models`. At most 16. */
  examples?: { label: LocalizedText; models?: string[]; request: JsonObject }[];
}

/** A field of a request: a text, or a file as its https URL or as a data URL. */
export interface RequestInput {
  type: 'text' | 'image' | 'video' | 'audio';
  /** The request is refused without it. */
  required?: boolean;
  description?: LocalizedText;
  /** A value for samples. At most 512 characters. */
  example?: string;
  /** Models that take it, by their names in `meta.models`; all without. */
  models?: string[];
}

/**
 * Numbers from `minimum` to `maximum`, whole ones alone if `whole` says so; or `values`, numbers or
 * those of the fact's `enum`, at most 50. Without either, whatever the fact allows.
 */
export interface FactRange {
  minimum?: number;
  maximum?: number;
  whole?: boolean;
  values?: (number | string)[];
}

/** Data that a plugin module may export besides `meta`. */
export interface ExportExtensions {
  vendorInfo?: VendorInfo;
}

/**
 * Bytes, for functions of `utils`: at most 1 MiB, and numbers from 0 to 255. Results that are bytes
 * are a `Uint8Array`. Nothing else takes bytes: what a hook returns is JSON.
 */
export type Bytes = Uint8Array | readonly number[];
export type DigestEncoding = 'hex' | 'base64' | 'base64url';
export type HmacAlgorithm = 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** An HMAC's algorithm and the encoding of its result. */
export type HmacForm<E> = { algorithm: HmacAlgorithm; encoding: E };

/**
 * Members of `utils` that other hosts of this contract do not have. A plugin that must run there
 * too tests for them: `typeof utils.sha256 === 'function'`. Texts are encoded as UTF-8; `encoding`
 * is `hex` if it is left out. All throw on bad input. A result varies from call to call only where
 * a signature's time or nonce is left to the host.
 */
export interface UtilsExtensions {
  sha256(data: string | Bytes, encoding?: DigestEncoding): string;
  sha256(data: string | Bytes, encoding: 'bytes'): Uint8Array;
  sha1(data: string | Bytes, encoding?: DigestEncoding): string;
  sha1(data: string | Bytes, encoding: 'bytes'): Uint8Array;
  md5(data: string | Bytes, encoding?: DigestEncoding): string;
  md5(data: string | Bytes, encoding: 'bytes'): Uint8Array;
  /** The key comes before the message. `bytes` gives what can be the key of the next HMAC. */
  hmac(how: HmacAlgorithm | HmacForm<DigestEncoding>, key: string | Bytes, message: string | Bytes): string;
  hmac(how: HmacForm<'bytes'>, key: string | Bytes, message: string | Bytes): Uint8Array;
  /** The bytes of a text in this encoding. */
  bytes(text: string, encoding?: 'utf8' | DigestEncoding): Uint8Array;
  /** With padding. */
  base64(bytes: Uint8Array): string;
  /** URL-safe, without padding. */
  base64URL(bytes: Uint8Array): string;
  /** Escapes every byte but letters, digits and `-._~`. At most 1,048,576 characters. */
  urlEncodeRFC3986(text: string): string;
  /**
   * Signs a request with AWS Signature Version 4. Gives the headers to add to `headers`; for `s3`
   * `X-Amz-Content-Sha256` is one of them.
   */
  awsSignV4(request: {
    /** `GET` by default. */
    method?: string;
    url: string;
    /**
     * Signed as well. `x-amz-content-sha256` replaces the digest of `body`: `UNSIGNED-PAYLOAD`.
     */
    headers?: Record<string, string>;
    body?: string;
    accessKeyId: string;
    secretAccessKey: string;
    sessionToken?: string;
    /** `us-east-1` by default. */
    region?: string;
    service: string;
    /** How the path is encoded to be signed: `once` for `s3`, `twice` otherwise. */
    pathEncoding?: 'once' | 'twice';
    /** Unix seconds; now by default. */
    timestamp?: number;
  }): Record<'Authorization' | 'X-Amz-Date', string> & Record<string, string>;
  /**
   * Signs a request with Tencent Cloud's signature method v3. Gives its headers, `Content-Type`
   * and `X-TC-…` included.
   */
  tencentSignTC3(request: {
    /** `POST` by default. */
    method?: string;
    url: string;
    body?: string;
    secretId: string;
    secretKey: string;
    token?: string;
    /** The first label of the host by default. */
    service?: string;
    action: string;
    version: string;
    region?: string;
    /** `application/json; charset=utf-8` by default. */
    contentType?: string;
    /** Unix seconds; now by default. */
    timestamp?: number;
  }): Record<'Authorization' | 'Content-Type' | 'X-TC-Timestamp', string> & Record<string, string>;
  /** Signs a request with Aliyun's signature V3. Gives the headers to add to `headers`. */
  aliyunSignV3(request: {
    /** `POST` by default. */
    method?: string;
    url: string;
    /** `Content-Type` and `x-acs-…` are signed. */
    headers?: Record<string, string>;
    body?: string;
    accessKeyId: string;
    accessKeySecret: string;
    securityToken?: string;
    action: string;
    version: string;
    /** A new one by default. */
    nonce?: string;
    /** Unix seconds; now by default. */
    timestamp?: number;
  }): Record<'Authorization' | 'x-acs-date' | 'x-acs-signature-nonce', string> & Record<string, string>;
  /**
   * Signs the parameters of an Aliyun request in RPC style (`SignatureVersion` 1.0). Gives all
   * parameters, for the query or a form.
   */
  aliyunSignRPC(request: {
    /** `POST` by default. */
    method?: string;
    params?: Record<string, string | number | boolean>;
    accessKeyId: string;
    accessKeySecret: string;
    securityToken?: string;
    action: string;
    version: string;
    /** `JSON` by default. */
    format?: string;
    /** A new one by default. */
    nonce?: string;
    /** Unix seconds; now by default. */
    timestamp?: number;
  }): Record<'Signature', string> & Record<string, string>;
}
