// A plugin for Taskgate. It runs against the built-in demo vendor as it is: change it piece by piece into one for your own vendor.
//
//   taskgate plugin lint plugin-key.js      what an upload would refuse
//   taskgate plugin test plugin-key.js      the cases of plugin-key.fixture.json
//   taskgate plugin dev plugin-key.js       a gateway of its own that reloads on save
//
// A plugin describes requests and reads answers. It makes none itself: no fetch, no timers, no imports, no promises. Every call starts
// from a fresh copy of this module, so that a variable keeps nothing from one call to the next.

/** @typedef {Required<import('./v1.d.ts').PluginModule>} Plugin */
/** @typedef {Required<import('./v1.d.ts').ProtoVideoHooks>} VideoHooks */

/** @type {import('./v1.d.ts').Meta} */
export const meta = {
  apiVersion: 1,
  key: 'plugin-key',
  name: 'Plugin Name',
  // A version is never used again with other source: raise it for every upload.
  version: '1.0.0',
  author: { name: 'You' },
  // What clients put into "model".
  models: ['plugin-key-video'],
  // One poll a task. With 'batch' one request asks for up to 100 tasks: buildBatchQueryRequest and parseBatchResult.
  fetchMode: 'per_task',
  // Where channels of this plugin send their requests if they name no address of their own.
  baseUrl: 'http://127.0.0.1:4010',
  // POST /v1/videos of the OpenAI API. Paths of your own go into `routes`, their hooks into an exported `native`.
  protocols: ['proto_video'],
  // The facts that a price may be made of.
  usageSchema: { seconds: { type: 'number', unit: 'second' } },
};

const MAX_SECONDS = 60;

/** @type {Record<string, import('./v1.d.ts').TaskStatus>} */
const STATUSES = { queued: 'QUEUED', running: 'IN_PROGRESS', succeeded: 'SUCCESS', failed: 'FAILURE' };

/**
 * What a client asks for, checked. A stranger wrote it: throw to refuse it, and the client reads your sentence.
 * @param {any} fields
 */
function readOrder(fields) {
  const { prompt, seconds = 4 } = fields ?? {};
  if (typeof prompt !== 'string' || prompt.trim() === '') throw new Error('Please give a prompt.');
  const length = Number(seconds);
  if (!(length >= 1 && length <= MAX_SECONDS)) throw new Error(`A video has from 1 to ${MAX_SECONDS} seconds.`);
  return { prompt, seconds: length };
}

export const protocols = {
  proto_video: {
    /**
     * Runs first, for POST /v1/videos: turns the client's request into your own form of it. Returns {kind: 'submit', model, requestBody, action?},
     * with the model exactly as in ctx.model. Throw to refuse; nothing has been billed yet. It may run twice, so it must only depend on ctx.
     * @type {VideoHooks['decodeRequest']}
     */
    decodeRequest(ctx) {
      const { body } = ctx;
      if (body.kind === 'json') return { kind: 'submit', model: ctx.model, requestBody: readOrder(body.value) };
      if (body.kind === 'none') throw new Error('Please send JSON or a form.');
      // A form gives a list of values for each name.
      const order = readOrder({ prompt: body.fields.prompt?.[0], seconds: body.fields.seconds?.[0] });
      return { kind: 'submit', model: ctx.model, requestBody: order };
    },

    /**
     * Runs when a client reads the video, GET /v1/videos/:id. Returns the object that it sees; the gateway puts id, status, progress and times into
     * it. task.data is the vendor's latest answer.
     * @type {VideoHooks['render']}
     */
    render(_ctx, task) {
      return { id: task.task_id, object: 'video', model: task.model ?? '' };
    },
  },
};

/**
 * Runs for the channel that was chosen, before anything is billed. Returns the vendor request: {url, method?, headers?, body?}. The gateway adds no
 * credential; the channel's key is ctx.apiKey. POST /v1/tasks/plugin-key comes here without a decoder, hence readOrder again. Throw to refuse.
 * @type {Plugin['buildSubmitRequest']}
 */
export function buildSubmitRequest(ctx) {
  return {
    url: `${ctx.baseUrl}/v1/jobs`,
    method: 'POST',
    headers: { Authorization: `Bearer ${ctx.apiKey}` },
    // ctx.model is what the client asked for, ctx.upstreamModel what the channel maps it to.
    body: { model: ctx.upstreamModel, ...readOrder(ctx.requestBody), reference_id: ctx.publicTaskId },
  };
}

/**
 * Runs next, if the price of the model asks for facts. Returns the facts of meta.usageSchema, or null.
 * @type {Plugin['extractUsage']}
 */
export function extractUsage(ctx) {
  return { seconds: readOrder(ctx.requestBody).seconds };
}

/**
 * Runs when the vendor has answered 2xx. Returns the vendor's id of the job, and its answer as taskData; with `immediate` also a result that is
 * there at once. A throw fails the task and refunds it; the request is not sent again.
 * @type {Plugin['parseSubmitResponse']}
 */
export function parseSubmitResponse(_ctx, response) {
  const job = /** @type {any} */ (response.body);
  if (typeof job?.id !== 'string') throw new Error('The vendor answered without a job.');
  return { taskId: job.id, taskData: job };
}

/**
 * Runs for every poll. Returns the request that asks for the job; ctx.taskId is the vendor's id.
 * @type {Plugin['buildQueryRequest']}
 */
export function buildQueryRequest(ctx) {
  return {
    url: `${ctx.baseUrl}/v1/jobs/${encodeURIComponent(ctx.taskId)}`,
    headers: { Authorization: `Bearer ${ctx.apiKey}` },
  };
}

/**
 * Runs for every answer to a poll that is no 401, 403, 404, 410, 429 or 5xx. Returns {status, progress?, reason?, state?}. Say UNKNOWN for what you
 * do not recognise: it counts as a failed poll, and the 20th in a row ends the task. A guess would keep a lost task alive.
 * @type {Plugin['parseTaskResult']}
 */
export function parseTaskResult(_ctx, body) {
  const job = /** @type {any} */ (body);
  if (!job || !Object.hasOwn(STATUSES, job.status)) return { status: 'UNKNOWN' };
  const status = STATUSES[job.status];
  if (status === 'FAILURE') return { status, reason: job.error?.message ?? 'The video could not be made.' };
  return { status, progress: job.progress };
}

/**
 * Runs on every answer about the task, if its price asks for facts. Returns facts that replace those of extractUsage, or null to keep them.
 * @type {Plugin['extractUsageOnComplete']}
 */
export function extractUsageOnComplete(_ctx, _result, body) {
  const job = /** @type {any} */ (body);
  return job?.usage ? { seconds: job.usage.seconds } : null;
}

/**
 * Runs when somebody asks what a task has made. Returns at most 64 artifacts: {key, type: 'video' | 'audio' | 'image' | 'file', mimeType?}.
 * @type {Plugin['listArtifacts']}
 */
export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

/**
 * Runs for each download. Returns the request that fetches ctx.artifactKey; the gateway streams the answer through. For a file on a public address
 * return {url, credentialless: true}, without headers.
 * @type {Plugin['buildContentRequest']}
 */
export function buildContentRequest(ctx) {
  if (ctx.artifactKey !== 'video') throw new Error('artifact_not_found');
  return {
    url: `${ctx.baseUrl}/v1/jobs/${encodeURIComponent(ctx.upstreamTaskId)}/content`,
    method: ctx.clientRequest.method,
    headers: { ...ctx.clientRequest.headers, Authorization: `Bearer ${ctx.apiKey}` },
  };
}
