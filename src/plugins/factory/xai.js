// Grok Imagine of xAI: https://docs.x.ai/developers/rest-api-reference/inference/videos. A video is
// made, changed or continued at an address each, and asked for at one.

const words = (text) => text.split(' ');
/** `resolutions`: the usual one first. `changes`: takes a video. */
const MODELS = {
  'grok-imagine-video': { resolutions: words('480p 720p'), changes: true },
  'grok-imagine-video-1.5': { resolutions: words('480p 720p 1080p') },
  'grok-imagine-video-1.5-lite': { resolutions: words('480p 720p 1080p') },
};
/** A newer model that a channel maps to. */
const UNLISTED = { resolutions: words('480p 720p 1080p'), changes: true };
const ACTIONS = { generations: 'generate', edits: 'edit', extensions: 'extend' };

const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

export const meta = {
  apiVersion: 1,
  key: 'xai',
  name: 'xAI',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'xAI Grok Imagine: text, image or video to video',
    zh: 'xAI Grok Imagine：文生、图生视频，视频编辑与延长',
    ja: 'xAI Grok Imagine：テキスト・画像・動画から動画',
    es: 'xAI Grok Imagine: texto, imagen o vídeo a vídeo',
    de: 'xAI Grok Imagine: Text, Bild oder Video zu Video',
    pt: 'xAI Grok Imagine: texto, imagem ou vídeo para vídeo',
  },
  icon: 'XAI',
  sortPriority: 44,
  website: 'https://docs.x.ai/developers/model-capabilities/video/generation',
  baseUrl: 'https://api.x.ai',
  fetchMode: 'per_task',
  channelTypes: [48],
  models: Object.keys(MODELS),
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // A client of the vendor reaches them with `<gateway>/xai` as its base address.
  routes: [
    ...Object.keys(ACTIONS).map((path) => ({
      method: 'POST',
      path: `/xai/v1/videos/${path}`,
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentId',
    })),
    { method: 'GET', path: '/xai/v1/videos/:task_id', type: 'query', render: 'presentVideo' },
  ],
  usageSchema: {
    seconds: {
      type: 'number',
      unit: 'second',
      description: {
        en: 'Result length (seconds); the maximum if the input video sets it',
        zh: '结果时长（秒）；由输入视频决定时按最长计',
        ja: '結果の長さ（秒）。入力動画で決まる場合は最大値',
        es: 'Duración del resultado (segundos); la máxima si la fija el vídeo de entrada',
        de: 'Länge des Ergebnisses (Sekunden); die maximale, wenn das Eingabevideo sie bestimmt',
        pt: 'Duração do resultado (segundos); a máxima se o vídeo de entrada a define',
      },
    },
    resolution: {
      enum: ['480p', '720p', '1080p', 'source'],
      enumLabels: {
        source: {
          en: 'Same as the input video',
          zh: '与输入视频相同',
          ja: '入力動画と同じ',
          es: 'Igual que el vídeo de entrada',
          de: 'Wie das Eingabevideo',
          pt: 'Igual ao vídeo de entrada',
        },
      },
      description: {
        en: 'Video resolution',
        zh: '视频分辨率',
        ja: '動画の解像度',
        es: 'Resolución del vídeo',
        de: 'Videoauflösung',
        pt: 'Resolução do vídeo',
      },
    },
    input_images: {
      type: 'number',
      unit: 'count',
      description: {
        en: 'Number of input images',
        zh: '输入图片数量',
        ja: '入力画像の枚数',
        es: 'Número de imágenes de entrada',
        de: 'Anzahl der Eingabebilder',
        pt: 'Número de imagens de entrada',
      },
    },
    cost: {
      type: 'number',
      unit: 'credit',
      description: {
        en: 'xAI cost in US dollars, estimated until xAI reports it',
        zh: 'xAI 收取的费用（美元），xAI 返回前为估算值',
        ja: 'xAIの料金（米ドル、xAIの報告までは見積もり）',
        es: 'Coste de xAI en dólares, estimado hasta que xAI lo comunique',
        de: 'Kosten bei xAI in US-Dollar, geschätzt, bis xAI sie meldet',
        pt: 'Custo da xAI em dólares, estimado até que a xAI o informe',
      },
    },
  },
  usageExamples: [
    { label: '8 sec at 480p', facts: { seconds: 8, resolution: '480p', input_images: 0, cost: 0.4 } },
    { label: '8 sec at 720p from an image', facts: { seconds: 8, resolution: '720p', input_images: 1, cost: 0.56 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    input_images: {
      en: 'Input images',
      zh: '输入图片',
      ja: '入力画像',
      es: 'Imágenes de entrada',
      de: 'Eingabebilder',
      pt: 'Imagens de entrada',
    },
    cost: {
      en: 'Vendor’s cost',
      zh: '服务商成本',
      ja: 'ベンダーの費用',
      es: 'Coste del proveedor',
      de: 'Kosten beim Anbieter',
      pt: 'Custo do fornecedor',
    },
  },
  keyUrl: 'https://console.x.ai',
  keyFormat: 'xai-…',
  // As https://apidog.com/blog/grok-text-to-video-api quotes it on this day.
  listPrices: {
    url: 'https://docs.x.ai/developers/models',
    asOf: '2026-04-03',
    models: { 'grok-imagine-video': '(u("resolution") == "480p" ? 0.05 : 0.07) * u("seconds")' },
  },
  ranges: {
    seconds: { minimum: 1, maximum: 15, whole: true },
    resolution: byModel(({ resolutions }) => ({ values: resolutions })),
    input_images: null,
    cost: null,
  },
  examples: [
    {
      label: {
        en: 'Paper boat',
        zh: '纸船',
        ja: '紙の舟',
        es: 'Barco de papel',
        de: 'Papierboot',
        pt: 'Barco de papel',
      },
      request: { prompt: 'A paper boat drifts across a still lake at dawn' },
    },
  ],
};

const RATIOS = words('16:9 9:16 1:1 4:3 3:4 3:2 2:3');
const USUAL = { generate: 8, extend: 6 };
/** What comes of the longest video that may be changed. */
const EDITED_SECONDS = 9;
const MAX_FILE_BYTES = 20 * 1024 * 1024;
const MAX_REFERENCES = 7;
/** A dollar has ten thousand million of the vendor's ticks. */
const TICKS = 10_000_000_000;
/** Dollars a second, until the vendor tells what it charges. */
const ESTIMATE = { '480p': 0.05, '720p': 0.07, '1080p': 0.25, source: 0.07 };
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** Fields that this plugin reads, then what the gateway decides. All others go on as they are. */
const OWN = new Set(
  words(
    'prompt seconds duration resolution size aspect_ratio ratio image input_reference images reference_images last_frame ' +
      'video action model metadata user output storage_options callback_url webhook_url',
  ).map(stripSeparators),
);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

/** An address, a data URL, or `{ref}` of an uploaded file. */
function readSource(name, given) {
  const value = isObject(given) ? firstGiven(given.url, given.image_url, given) : given;
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^(https?:\/\/|data:)/i.test(text.slice(0, 10))) return text;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be an http(s) URL, a data URL, or an uploaded file.`);
}

/** A form holds numbers, flags and objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** Any incoming request as one intent: OpenAI's fields, the vendor's, or this intent again. */
function normalize(sent) {
  const metadata = parsed(sent.metadata) ?? {};
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const fields = { ...metadata, ...sent };
  const intent = {};
  const read = (name, given, as = (value) => value) => {
    if (isGiven(given)) intent[name] = as(given);
  };
  read('action', fields.action, String);
  read('prompt', fields.prompt, (prompt) => {
    if (typeof prompt !== 'string') throw new Error('prompt must be a string.');
    return prompt;
  });
  read('seconds', firstGiven(fields.duration, fields.seconds), (given) => {
    if (!Number.isInteger(Number(given))) throw new Error('Seconds are a whole number.');
    return Number(given);
  });
  read('resolution', fields.resolution, String);
  read('ratio', firstGiven(fields.aspect_ratio, fields.ratio), String);
  read('size', fields.size, String);
  read('image', firstGiven(fields.image, fields.input_reference), (given) => readSource('image', given));
  read('last_frame', fields.last_frame, (given) => readSource('last_frame', given));
  read('video', fields.video, (given) => readSource('video', given));
  read('references', firstGiven(fields.reference_images, fields.images, fields.references), (given) =>
    (Array.isArray(given) ? given : [given]).map((image) => readSource('reference_images', image)),
  );
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)) && name !== 'references');
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  return intent;
}

/** Shape and resolution of `1280x720`. */
function toShape(size) {
  const match = /^([1-9]\d{1,4})[x*]([1-9]\d{1,4})$/i.exec(size);
  if (!match) throw new Error('The size is not in the form WIDTHxHEIGHT.');
  const [width, height] = [Number(match[1]), Number(match[2])];
  const distance = (name) =>
    Math.abs(Math.log(name.split(':').reduce((across, down) => across / down) / (width / height)));
  const ratio = RATIOS.reduce((best, name) => (distance(name) < distance(best) ? name : best));
  const side = Math.min(width, height);
  return { ratio, resolution: side >= 1080 ? '1080p' : side >= 720 ? '720p' : '480p' };
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const spec = MODELS[model] ?? UNLISTED;
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const action = order.action ?? (order.video ? 'edit' : 'generate');
  if (!Object.values(ACTIONS).includes(action)) throw new Error('action is generate, edit or extend.');
  const isMade = action === 'generate';
  if (!isMade && !spec.changes) throw new Error(`${model} takes no video.`);
  if (!isMade && !order.video) throw new Error('Please give a video.');
  if (isMade && order.video) throw new Error('A video is made from images; to change one, leave action out.');
  if (!order.prompt?.trim() && !order.image) throw new Error('Please give a prompt.');
  const { image, last_frame, references = [] } = order;
  const images = [image, last_frame].filter(isGiven).length + references.length;
  if (!isMade && images > 0) throw new Error('A video that is changed takes no images.');
  if (references.length > MAX_REFERENCES) throw new Error(`At most ${MAX_REFERENCES} reference images are taken.`);
  if (image && references.length > 0) throw new Error('Give a first frame or reference images, not both.');
  const wished = order.size === undefined || order.size === 'auto' ? {} : toShape(order.size);
  const resolution = isMade ? (order.resolution ?? wished.resolution ?? spec.resolutions[0]) : 'source';
  if (isMade && !spec.resolutions.includes(resolution)) {
    throw new Error(`The resolution of ${model} is one of ${spec.resolutions.join(', ')}.`);
  }
  const ratio = order.ratio ?? wished.ratio;
  if (ratio !== undefined && !RATIOS.includes(ratio)) throw new Error(`The ratio is one of ${RATIOS.join(', ')}.`);
  const seconds = action === 'edit' ? EDITED_SECONDS : (order.seconds ?? USUAL[action]);
  const [least, most] = action === 'extend' ? [2, 10] : [1, 15];
  if (seconds < least || seconds > most) throw new Error(`The length is from ${least} to ${most} seconds.`);
  return { model, order, action, isMade, resolution, ratio, seconds, images };
}

const place = (source) => ({
  url: isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_FILE_BYTES } : source,
});

export function buildSubmitRequest(ctx) {
  const { model, order, action, isMade, resolution, ratio, seconds } = plan(ctx);
  const body = { ...order.metadata, model, prompt: order.prompt };
  if (action !== 'edit') body.duration = seconds;
  if (isMade) Object.assign(body, { resolution, aspect_ratio: ratio });
  for (const name of ['image', 'last_frame', 'video']) if (order[name]) body[name] = place(order[name]);
  if (order.references) body.reference_images = order.references.map(place);
  const path = Object.keys(ACTIONS).find((name) => ACTIONS[name] === action);
  return {
    url: `${apiUrl(ctx)}/videos/${path}`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    // Members that are undefined are not sent.
    body,
    action,
  };
}

export function extractUsage(ctx) {
  const { seconds, resolution, images } = plan(ctx);
  return { seconds, resolution, input_images: images, cost: seconds * ESTIMATE[resolution] };
}

/** The vendor explains in `error`, as a text or an object, beside a `code`. */
const readMessage = (body) =>
  textAt(body, 'error') || textAt(isObject(body) ? body.error : null, 'message') || textAt(body, 'message');

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'request_id');
  if (taskId === '') throw new Error(readMessage(body) || 'xAI answered without a request.');
  return { taskId, taskData: body };
}

const REFUSALS = { 400: 'request', 401: 'credential', 402: 'balance', 404: 'request', 422: 'request', 429: 'rate' };

/** A body that is not the vendor's is left to the gateway. */
export function parseSubmitError({ statusCode, body }) {
  if (!isGiven(body?.error)) return null;
  const message = readMessage(body);
  if (/content (policy|moderation)|usage guidelines/i.test(message)) return { kind: 'content', message };
  // A key without rights and an account without credits are both answered with 403, and a wrong key
  // with 400.
  if (statusCode === 403) return { kind: /credits|spending limit/i.test(message) ? 'balance' : 'credential', message };
  if (/incorrect api key/i.test(message)) return { kind: 'credential', message };
  const kind = REFUSALS[statusCode];
  return kind ? { kind, message } : null;
}

export function buildQueryRequest(ctx) {
  return { url: `${apiUrl(ctx)}/videos/${encodeURIComponent(ctx.taskId)}`, headers: bearer(ctx) };
}

const readVideo = (body) => (isObject(body) && isObject(body.video) ? body.video : {});

/** What is not known is said to be unknown, and so is a success without a video. */
export function parseTaskResult(_ctx, body) {
  const named = textAt(body, 'status');
  if (named === 'pending') {
    const progress = Number(body.progress);
    return { status: 'IN_PROGRESS', ...(progress > 0 && progress <= 100 ? { progress: Math.round(progress) } : {}) };
  }
  if (named === 'failed') return { status: 'FAILURE', reason: readMessage(body) || 'The video failed at xAI.' };
  if (named === 'expired') return { status: 'FAILURE', reason: 'The request expired at xAI.' };
  if (named !== 'done') return { status: 'UNKNOWN', reason: readMessage(body) || named };
  const video = readVideo(body);
  if (video.respect_moderation === false) {
    return { status: 'FAILURE', reason: readMessage(body) || 'The video was withheld by the moderation of xAI.' };
  }
  const url = textAt(video, 'url');
  return url === '' ? { status: 'UNKNOWN', reason: 'xAI names no video.' } : { status: 'SUCCESS', url };
}

/** What was made and charged. A continued video has its first part in its length. */
export function extractUsageOnComplete(ctx, result, body) {
  if (result.status !== 'SUCCESS') return null;
  const usage = {};
  const length = Number(readVideo(body).duration);
  if (length > 0 && length <= 3600 && ctx.action !== 'extend') usage.seconds = length;
  const ticks = Number(body?.usage?.cost_in_usd_ticks);
  if (ticks > 0) usage.cost = ticks / TICKS;
  return usage;
}

export function listArtifacts(task) {
  const isThere = task.status === 'SUCCESS' && textAt(readVideo(task.data), 'url') !== '';
  return isThere ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

export function buildContentRequest(ctx) {
  const url = textAt(readVideo(ctx.data), 'url');
  if (ctx.artifactKey !== 'video' || url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

/** The fields of a body; files of a field that is repeated are a list. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    const name = field.replace(/\[\]$/, '');
    const isList = name === 'images' || name === 'reference_images';
    fields[name] = isList ? [...(Array.isArray(fields[name]) ? fields[name] : []), { ref }] : { ref };
  }
  return fields;
}

/** Texts in order, one a line, and images of a Responses request; fields stand beside `input`. */
function decodeResponses(body) {
  const { input, metadata: _labels, ...request } = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (!Array.isArray(input)) return typeof input === 'string' ? { ...request, prompt: input } : request;
  const parts = input.flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  const images = parts.filter((part) => part?.type === 'input_image').map((part) => part.image_url);
  const given = images.length > 1 ? { images } : { image: images[0] };
  return { ...request, prompt: texts.join('\n').trim(), ...given };
}

const shown = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) }),
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest: (ctx) => ({
      kind: 'submit',
      model: ctx.model,
      requestBody: normalize(decodeResponses(ctx.body)),
    }),
    renderEvents(ctx, task, previous) {
      if (task.status === 'SUCCESS') return { events: [{ type: 'output', data: shown(ctx) }], done: true };
      if (task.status === 'FAILURE') return { events: [{ type: 'error', message: task.fail_reason }], done: true };
      const state = `${task.status} ${task.progress}`;
      const progress = { type: 'progress', progress: Number.parseInt(task.progress, 10) || 0, message: task.status };
      return { events: state === previous ? [] : [progress], done: false, state };
    },
    renderFinal(ctx) {
      const text = { type: 'output_text', text: shown(ctx), annotations: [], logprobs: [] };
      return { output: [{ type: 'message', role: 'assistant', content: [text] }] };
    },
  },
};

const STATUSES = { SUCCESS: 'done', FAILURE: 'failed' };

export const native = {
  /** Fields that are newer than this plugin go on as they are. */
  decodeSubmit({ body, path }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    const { model } = body.value;
    if (typeof model !== 'string' || model === '') throw new Error('Please name the model.');
    const action = ACTIONS[path.split('/').pop()];
    return { kind: 'submit', model, requestBody: normalize({ ...body.value, metadata: body.value, action }) };
  },
  presentId: (_ctx, task) => ({ request_id: task.task_id }),
  presentVideo(_ctx, task) {
    const status = STATUSES[task.status] ?? 'pending';
    const data = isObject(task.data) ? task.data : {};
    const seen = { ...data, status, model: task.model, request_id: undefined };
    return task.status === 'FAILURE' ? { ...seen, error: task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ code: error.code, error: error.message }),
};
