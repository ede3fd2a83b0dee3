// Videos of OpenRouter: https://openrouter.ai/docs/api_reference/videos. One API for the models of
// many vendors; what a job cost stands in its answer.

const words = (text) => text.split(' ');
const PREFIX = 'openrouter/';
const WIDE = words('720p 1080p');
/** `only`, `lengths`: seconds that it can have, the usual one first, or least, most and usual. */
const MODELS = {
  'openrouter/google/veo-3.1': { only: [8, 6, 4], resolutions: WIDE, audio: true, estimate: 0.4 },
  'openrouter/google/veo-3.1-fast': { only: [8, 6, 4], resolutions: WIDE, audio: true, estimate: 0.15 },
  'openrouter/bytedance/seedance-2.0': { lengths: [4, 15, 5], resolutions: words('720p 480p 1080p'), audio: true },
  'openrouter/bytedance/seedance-1.5-pro': { lengths: [4, 12, 5], resolutions: words('720p 480p 1080p'), audio: true },
  'openrouter/alibaba/wan-2.7': { lengths: [2, 15, 5], resolutions: WIDE },
  'openrouter/alibaba/wan-2.6': { only: [5, 10, 15], resolutions: WIDE },
  // A name for any other model: the settings of a channel say which.
  'openrouter/video': { any: true },
};
/** Seconds of a model of one's own choice. */
const ANY_LENGTH = [1, 60];
const RESOLUTIONS = words('360p 480p 540p 720p 768p 1080p 1440p 2160p 4k 1K 2K 4K');

const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

export const meta = {
  apiVersion: 1,
  key: 'openrouter',
  name: 'OpenRouter',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'OpenRouter: video models of many vendors',
    zh: '通过 OpenRouter 调用多家厂商的视频模型',
    ja: 'OpenRouter：多くのベンダーの動画モデル',
    es: 'OpenRouter: modelos de vídeo de muchos proveedores',
    de: 'OpenRouter: Videomodelle vieler Anbieter',
    pt: 'OpenRouter: modelos de vídeo de muitos fornecedores',
  },
  icon: 'OpenRouter',
  sortPriority: 39,
  website: 'https://openrouter.ai/docs/api_reference/videos',
  baseUrl: 'https://openrouter.ai/api',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // Clients of the vendor use `<gateway>/openrouter` in place of https://openrouter.ai.
  routes: [
    { method: 'POST', path: '/openrouter/api/v1/videos', type: 'submit', decode: 'decodeSubmit', render: 'presentJob' },
    { method: 'GET', path: '/openrouter/api/v1/videos/:task_id', type: 'query', render: 'presentJob' },
  ],
  usageSchema: {
    seconds: {
      type: 'number',
      unit: 'second',
      description: {
        en: 'Video length (seconds)',
        zh: '视频时长（秒）',
        ja: '動画の長さ（秒）',
        es: 'Duración del vídeo (segundos)',
        de: 'Videolänge (Sekunden)',
        pt: 'Duração do vídeo (segundos)',
      },
    },
    resolution: {
      enum: ['standard', ...RESOLUTIONS],
      enumLabels: {
        standard: {
          en: 'Model default',
          zh: '模型默认',
          ja: 'モデルの既定',
          es: 'Predeterminada del modelo',
          de: 'Standard des Modells',
          pt: 'Padrão do modelo',
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
    audio: {
      type: 'boolean',
      description: {
        en: 'Video with sound',
        zh: '有声视频',
        ja: '音声付き動画',
        es: 'Vídeo con sonido',
        de: 'Video mit Ton',
        pt: 'Vídeo com som',
      },
    },
    cost: {
      type: 'number',
      unit: 'credit',
      description: {
        en: 'OpenRouter cost in US dollars, estimated until the job ends',
        zh: 'OpenRouter 收取的费用（美元），任务结束前为估算值',
        ja: 'OpenRouterの料金（米ドル、ジョブ終了までは見積もり）',
        es: 'Coste de OpenRouter en dólares, estimado hasta que termina el trabajo',
        de: 'Kosten bei OpenRouter in US-Dollar, geschätzt bis zum Ende des Auftrags',
        pt: 'Custo do OpenRouter em dólares, estimado até o fim do trabalho',
      },
    },
  },
  usageExamples: [
    { label: '8 sec with sound', facts: { seconds: 8, resolution: '720p', audio: true, cost: 3.2 } },
    { label: '5 sec', facts: { seconds: 5, resolution: '720p', audio: false, cost: 2.5 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    audio: { en: 'Sound', zh: '声音', ja: '音声', es: 'Sonido', de: 'Ton', pt: 'Som' },
    cost: {
      en: 'Vendor’s cost',
      zh: '服务商成本',
      ja: 'ベンダーの費用',
      es: 'Coste del proveedor',
      de: 'Kosten beim Anbieter',
      pt: 'Custo do fornecedor',
    },
  },
  keyUrl: 'https://openrouter.ai/settings/keys',
  keyFormat: 'sk-or-v1-…',
  // It has no price of its own but what each answer says.
  listPrices: {
    url: 'https://openrouter.ai/models?output_modalities=video',
    asOf: '2026-11-28',
    models: Object.fromEntries(Object.keys(MODELS).map((model) => [model, 'u("cost")'])),
  },
  ranges: {
    seconds: byModel(({ only, lengths }) => {
      if (only) return { values: only };
      const [minimum, maximum] = lengths ?? ANY_LENGTH;
      return { minimum, maximum, whole: true };
    }),
    resolution: byModel(({ resolutions = RESOLUTIONS }) => ({ values: resolutions })),
    audio: byModel(({ audio }) => (audio ? {} : null)),
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

const RATIOS = words('16:9 9:16 1:1 4:3 3:4 3:2 2:3 21:9 9:21');
const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** Reserved where the model alone knows them, and dollars a second until the answer tells. */
const UNSAID_SECONDS = 10;
const ESTIMATE = 0.5;
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** Fields that this plugin reads, then what the gateway decides. All others go on as they are. */
const OWN = new Set(
  words(
    'prompt seconds duration resolution size aspect_ratio ratio generate_audio audio image input_reference last_frame ' +
      'n models fallbacks images input_references frame_images references model metadata input user callback_url webhook_url stream',
  ).map(stripSeparators),
);

const STATUSES = {
  ...{ pending: 'QUEUED', in_progress: 'IN_PROGRESS', completed: 'SUCCESS' },
  ...{ failed: 'FAILURE', cancelled: 'FAILURE', expired: 'FAILURE' },
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

/** An address, a data URL, or `{ref}` of an uploaded file. */
function readSource(given) {
  const wrapped = isObject(given) ? firstGiven(given.image_url, given.url, given) : given;
  const value = isObject(wrapped) ? firstGiven(wrapped.url, wrapped) : wrapped;
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^(https?:\/\/|data:)/i.test(text.slice(0, 10))) return text;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error('An image must be an http(s) URL, a data URL, or an uploaded file.');
}

/** A form holds numbers, flags and objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** The vendor's list of frames as first and last one. */
function readFrames(given) {
  const frames = Array.isArray(given) ? given : [];
  const of = (type) => frames.find((frame) => textAt(frame, 'frame_type') === type);
  return { first: of('first_frame'), last: of('last_frame') };
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
  read('prompt', fields.prompt, (prompt) => {
    if (typeof prompt !== 'string') throw new Error('prompt must be a string.');
    return prompt;
  });
  read('seconds', firstGiven(fields.duration, fields.seconds), (given) => {
    if (!(Number.isInteger(Number(given)) && Number(given) > 0)) throw new Error('Seconds are a whole number.');
    return Number(given);
  });
  read('resolution', fields.resolution, String);
  read('audio', firstGiven(fields.generate_audio, fields.audio), (flag) => {
    if (!['true', 'false'].includes(String(flag))) throw new Error('audio must be true or false.');
    return String(flag) === 'true';
  });
  read('ratio', firstGiven(fields.aspect_ratio, fields.ratio), String);
  read('size', fields.size, String);
  const frames = readFrames(parsed(fields.frame_images));
  read('image', firstGiven(fields.image, fields.input_reference, frames.first), readSource);
  read('last_frame', firstGiven(fields.last_frame, frames.last), readSource);
  read('references', firstGiven(fields.input_references, fields.images, fields.references), (given) =>
    (Array.isArray(given) ? given : [given]).map(readSource),
  );
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  return intent;
}

function nearestRatio(size, ratios) {
  const match = /^([1-9]\d{0,4})[x*:]([1-9]\d{0,4})$/i.exec(size);
  if (!match) throw new Error('The size is not in the form WIDTHxHEIGHT.');
  const wished = Number(match[1]) / Number(match[2]);
  const distance = (name) => Math.abs(Math.log(name.split(':').reduce((across, down) => across / down) / wished));
  return ratios.reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

/** The model at the vendor: of the name for any, what the channel's settings say. */
function readModel(ctx) {
  const name = ctx.upstreamModel || ctx.model;
  if (MODELS[name]?.any !== true) return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
  const model = ctx.userSetting?.models?.[ctx.model] ?? ctx.userSetting?.models?.[name];
  if (typeof model === 'string') return model;
  throw new Error(`No model of OpenRouter stands behind ${ctx.model}: name it in the channel's settings, as "models".`);
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = readModel(ctx);
  const spec = MODELS[PREFIX + model] ?? { any: true };
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  if (!order.prompt?.trim()) throw new Error('Please give a prompt.');
  const { only, lengths, resolutions = RESOLUTIONS } = spec;
  const seconds = order.seconds ?? only?.[0] ?? lengths?.[2];
  if (only && !only.includes(seconds)) throw new Error(`The length is one of ${only.join(', ')} seconds.`);
  const [least, most] = lengths ?? ANY_LENGTH;
  if (!only && (seconds < least || seconds > most)) throw new Error(`The length is from ${least} to ${most} seconds.`);
  const resolution = order.resolution ?? (spec.any ? undefined : resolutions[0]);
  if (resolution !== undefined && !resolutions.includes(resolution)) {
    throw new Error(`The resolution is one of ${resolutions.join(', ')}.`);
  }
  if (order.audio !== undefined && !spec.audio && !spec.any) throw new Error('This model makes no sound by request.');
  const audio = order.audio ?? spec.audio === true;
  const hasSize = order.size !== undefined && order.size !== 'auto';
  const ratio = order.ratio ?? (hasSize ? nearestRatio(order.size, RATIOS) : undefined);
  const cost = (seconds ?? UNSAID_SECONDS) * (spec.estimate ?? ESTIMATE);
  const says = spec.audio || order.audio !== undefined;
  return { model, order, seconds, resolution, audio, ratio, cost, says };
}

const place = (source) => ({
  type: 'image_url',
  image_url: {
    url: isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_FILE_BYTES } : source,
  },
});

export function buildSubmitRequest(ctx) {
  const { model, order, seconds, resolution, audio, ratio, says } = plan(ctx);
  const frames = [
    ...(order.image ? [{ ...place(order.image), frame_type: 'first_frame' }] : []),
    ...(order.last_frame ? [{ ...place(order.last_frame), frame_type: 'last_frame' }] : []),
  ];
  return {
    url: `${apiUrl(ctx)}/videos`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    // Members that are undefined are not sent.
    body: {
      ...order.metadata,
      ...{ model, prompt: order.prompt, duration: seconds, resolution, aspect_ratio: ratio },
      generate_audio: says ? audio : undefined,
      frame_images: frames.length > 0 ? frames : undefined,
      input_references: order.references?.map(place),
      callback_url: ctx.callbackUrl,
    },
    action:
      order.image || order.last_frame ? 'image_to_video' : order.references ? 'reference_to_video' : 'text_to_video',
  };
}

export function extractUsage(ctx) {
  const { seconds = UNSAID_SECONDS, resolution = 'standard', audio, cost } = plan(ctx);
  return { seconds, resolution, audio, cost };
}

const readMessage = (body) =>
  textAt(body, 'error') || textAt(isObject(body) ? body.error : null, 'message') || textAt(body, 'message');

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'id');
  if (taskId === '') throw new Error(readMessage(body) || 'OpenRouter answered without a job.');
  return { taskId, taskData: body };
}

/** 403: the input was flagged. 503: no vendor of the model takes it now. */
const REFUSALS = {
  ...{ 400: 'request', 401: 'credential', 402: 'balance', 403: 'content', 404: 'request', 422: 'request' },
  ...{ 429: 'rate', 503: 'vendor_busy' },
};

export function parseSubmitError({ statusCode, body }) {
  const kind = REFUSALS[statusCode];
  // A body that is not the vendor's is left to the gateway.
  if (kind === undefined || !isGiven(body?.error)) return null;
  const seconds = Number(body?.error?.metadata?.retry_after_seconds);
  const wait = kind === 'rate' && seconds > 0 ? { retryAfterSeconds: Math.min(3600, Math.ceil(seconds)) } : {};
  return { kind, message: readMessage(body), ...wait };
}

export function buildQueryRequest(ctx) {
  return { url: `${apiUrl(ctx)}/videos/${encodeURIComponent(ctx.taskId)}`, headers: bearer(ctx) };
}

const ENDINGS = { cancelled: 'The job was canceled at OpenRouter.', expired: 'The job expired at OpenRouter.' };

/** What is not known is said to be unknown. */
export function parseTaskResult(_ctx, body) {
  const named = textAt(body, 'status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) || named };
  const status = STATUSES[named];
  if (status !== 'FAILURE') return { status };
  return { status, reason: readMessage(body) || (ENDINGS[named] ?? 'The job failed at OpenRouter.') };
}

/** What OpenRouter charged. With a key of the vendor's own that is its fee alone. */
export function extractUsageOnComplete(_ctx, result, body) {
  const cost = body?.usage?.cost;
  return result.status === 'SUCCESS' && typeof cost === 'number' && cost >= 0 && body.usage.is_byok !== true
    ? { cost }
    : null;
}

export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

/** The vendor passes the file on, with the key. */
export function buildContentRequest(ctx) {
  if (ctx.artifactKey !== 'video') throw new Error('artifact_not_found');
  const { method, headers } = ctx.clientRequest;
  const url = `${apiUrl(ctx)}/videos/${encodeURIComponent(ctx.upstreamTaskId)}/content?index=0`;
  return { url, method, headers: { ...headers, ...bearer(ctx) } };
}

/** The fields of a body; files of a field that is repeated are a list. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    const name = field.replace(/\[\]$/, '');
    fields[name] = name === 'images' ? [...(Array.isArray(fields.images) ? fields.images : []), { ref }] : { ref };
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

export const native = {
  /** Fields that are newer than this plugin go on as they are. */
  decodeSubmit({ body }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    const { model } = body.value;
    if (typeof model !== 'string' || model === '') throw new Error('Please name the model.');
    const name = Object.hasOwn(MODELS, PREFIX + model) ? PREFIX + model : model;
    return { kind: 'submit', model: name, requestBody: normalize({ ...body.value, metadata: body.value }) };
  },
  presentJob(_ctx, task) {
    const data = isObject(task.data) ? task.data : {};
    const named = STATUSES[data.status] === task.status ? data.status : undefined;
    const status = named ?? Object.keys(STATUSES).find((name) => STATUSES[name] === task.status) ?? 'pending';
    const seen = { id: task.task_id, polling_url: `/openrouter/api/v1/videos/${task.task_id}`, status };
    return task.status === 'FAILURE' ? { ...seen, error: task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ error: { code: error.httpStatus, message: error.message } }),
};
