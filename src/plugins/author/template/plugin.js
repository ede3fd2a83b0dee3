// A plugin for Taskgate. As it is, it works with the built-in demo vendor: change it piece by piece
// into a plugin for your own vendor.
//
//   taskgate plugin lint plugin-key.js      what an upload would refuse
//   taskgate plugin test plugin-key.js      the cases of plugin-key.fixture.json
//   taskgate plugin dev plugin-key.js       a gateway of its own that reloads on save
//
// A plugin describes requests and reads answers. It sends nothing itself: no fetch, no timers, no
// imports, no promises. Every call starts from a fresh copy of this module, so variables keep
// nothing from one call to the next.

/** @typedef {Required<import('taskgate-plugin-types').PluginModule>} Plugin */
/** @typedef {Required<import('taskgate-plugin-types').ProtoVideoHooks>} VideoHooks */

/** @type {import('taskgate-plugin-types').Meta} */
export const meta = {
  apiVersion: 1,
  key: 'plugin-key',
  name: 'Plugin Name',
  // A version never changes its source: raise it for every upload.
  version: '1.0.0',
  author: { name: 'You' },
  // What clients put into "model".
  models: ['plugin-key-video'],
  // One poll per task. With 'batch', one request polls up to 100 tasks: see buildBatchQueryRequest
  // and parseBatchResult.
  fetchMode: 'per_task',
  // Where channels of this plugin send their requests if they have no base URL of their own.
  baseUrl: 'http://127.0.0.1:4010',
  // POST /v1/videos of the OpenAI API. Paths of your own go into `routes`, their hooks into an
  // exported `native`.
  protocols: ['proto_video'],
  // The facts that prices can use.
  usageSchema: { seconds: { type: 'number', unit: 'second' } },
};

const MAX_SECONDS = 60;

/** @type {Record<string, import('taskgate-plugin-types').TaskStatus>} */
const STATUSES = { queued: 'QUEUED', running: 'IN_PROGRESS', succeeded: 'SUCCESS', failed: 'FAILURE' };

/**
 * Validates a client's request. It comes from a stranger: throw to refuse it; the client receives
 * your message.
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
     * Runs first, for POST /v1/videos: turns the client's request into your own form. Returns
     * {kind: 'submit', model, requestBody, action?}, with the model exactly as in ctx.model. Throw
     * to refuse; nothing has been billed yet. It may run twice, so it must depend on ctx only.
     * @type {VideoHooks['decodeRequest']}
     */
    decodeRequest(ctx) {
      const { body } = ctx;
      if (body.kind === 'json') return { kind: 'submit', model: ctx.model, requestBody: readOrder(body.value) };
      if (body.kind === 'none') throw new Error('Please send JSON or a form.');
      // A form has a list of values for each name.
      const order = readOrder({ prompt: body.fields.prompt?.[0], seconds: body.fields.seconds?.[0] });
      return { kind: 'submit', model: ctx.model, requestBody: order };
    },

    /**
     * Runs when a client reads the video, GET /v1/videos/:id. Returns the object that the client
     * sees; the gateway sets id, status, progress and times. task.data is the vendor's latest
     * answer.
     * @type {VideoHooks['render']}
     */
    render(_ctx, task) {
      return { id: task.task_id, object: 'video', model: task.model ?? '' };
    },
  },
};

/**
 * Runs for the chosen channel, before anything is billed. Returns the vendor request: {url,
 * method?, headers?, body?}. The gateway adds no credential; the channel's key is ctx.apiKey.
 * Requests to POST /v1/tasks/plugin-key arrive here without a decoder, hence readOrder again. Throw
 * to refuse.
 * @type {Plugin['buildSubmitRequest']}
 */
export function buildSubmitRequest(ctx) {
  return {
    url: `${ctx.baseUrl}/v1/jobs`,
    method: 'POST',
    headers: { Authorization: `Bearer ${ctx.apiKey}` },
    // ctx.model is the model that the client requested, ctx.upstreamModel what the channel maps it
    // to.
    body: { model: ctx.upstreamModel, ...readOrder(ctx.requestBody), reference_id: ctx.publicTaskId },
  };
}

/**
 * Runs next, if the price of the model uses facts. Returns the facts of meta.usageSchema, or null.
 * @type {Plugin['extractUsage']}
 */
export function extractUsage(ctx) {
  return { seconds: readOrder(ctx.requestBody).seconds };
}

/**
 * Runs when the vendor has answered 2xx. Returns the vendor's id of the job, and its answer as
 * taskData; with `immediate` also a result that is complete at once. A throw fails the task and
 * refunds it; the request is not sent again.
 * @type {Plugin['parseSubmitResponse']}
 */
export function parseSubmitResponse(_ctx, response) {
  const job = /** @type {any} */ (response.body);
  if (typeof job?.id !== 'string') throw new Error('The vendor answered without a job.');
  return { taskId: job.id, taskData: job };
}

/**
 * Runs for every poll. Returns the request that reads the job; ctx.taskId is the vendor's id.
 * @type {Plugin['buildQueryRequest']}
 */
export function buildQueryRequest(ctx) {
  return {
    url: `${ctx.baseUrl}/v1/jobs/${encodeURIComponent(ctx.taskId)}`,
    headers: { Authorization: `Bearer ${ctx.apiKey}` },
  };
}

/**
 * Runs for every answer to a poll except 401, 403, 404, 410, 429 and 5xx. Returns {status,
 * progress?, reason?, state?}. Return UNKNOWN for what you do not recognise: it counts as a failed
 * poll, and the 20th in a row ends the task. A guess would keep a lost task alive.
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
 * Runs on every answer about the task, if its price uses facts. Returns facts that replace those of
 * extractUsage, or null to keep them.
 * @type {Plugin['extractUsageOnComplete']}
 */
export function extractUsageOnComplete(_ctx, _result, body) {
  const job = /** @type {any} */ (body);
  return job?.usage ? { seconds: job.usage.seconds } : null;
}

/**
 * Runs when the results of a task are listed. Returns at most 64 artifacts: {key, type: 'video' |
 * 'audio' | 'image' | 'file', mimeType?}.
 * @type {Plugin['listArtifacts']}
 */
export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

/**
 * Runs for each download. Returns the request that fetches ctx.artifactKey; the gateway streams the
 * answer to the client. For a file at a public address, return {url, credentialless: true} without
 * headers.
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
