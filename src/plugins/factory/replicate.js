// Predictions of Replicate: https://replicate.com/docs/reference/http. A model is `owner/name`, a
// version of one `owner/name:id`, and its input is whatever that model takes.

const words = (text) => text.split(' ');
/**
 * `makes`: what a request for it makes. `lengths`: seconds that it can have, as least and most or
 * as the only ones, the usual one first. `frame`: where the first image goes. `most`: images that a
 * request can ask for.
 */
const MODELS = {
  'google/veo-3.1-fast': {
    ...{ makes: 'video', only: [8, 6, 4], resolutions: words('1080p 720p'), ratios: words('16:9 9:16') },
    ...{ audio: true, frame: 'image' },
  },
  'kwaivgi/kling-v2.5-turbo-pro': { makes: 'video', only: [5, 10], frame: 'start_image' },
  'bytedance/seedance-1-pro': {
    ...{ makes: 'video', lengths: [2, 12], usual: 5, resolutions: words('1080p 720p 480p'), frame: 'image' },
  },
  'black-forest-labs/flux-schnell': { makes: 'image', most: 4 },
  'black-forest-labs/flux-dev': { makes: 'image', most: 4, frame: 'image' },
  'black-forest-labs/flux-1.1-pro': { makes: 'image', most: 1, frame: 'image_prompt' },
  // Names for any other model: the settings of a channel say which.
  'replicate/video': { makes: 'video', any: true },
  'replicate/image': { makes: 'image', any: true },
  'replicate/audio': { makes: 'audio', any: true },
};
/** What a model of one's own choice may be asked for. */
const RESOLUTIONS = words('360p 480p 540p 580p 720p 768p 1080p 1440p 2160p 4k 0.5K 1K 2K 4K');
const VIDEO_RATIOS = words('16:9 9:16 1:1');
const IMAGE_RATIOS = words('1:1 16:9 21:9 3:2 2:3 4:5 5:4 3:4 4:3 9:16 9:21');
const NOTHING = { seconds: 0, images: 0, resolution: 'standard', audio: false, compute_seconds: 0 };

const findNames = (fits) => Object.keys(MODELS).filter((name) => fits(MODELS[name]));
const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));

export const meta = {
  apiVersion: 1,
  key: 'replicate',
  name: 'Replicate',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Any Replicate model: video, images and audio',
    zh: '调用 Replicate 的任意模型：视频、图片与音频',
    ja: 'Replicateのあらゆるモデル：動画・画像・音声',
    es: 'Cualquier modelo de Replicate: vídeo, imágenes y audio',
    de: 'Jedes Modell von Replicate: Video, Bilder und Audio',
    pt: 'Qualquer modelo do Replicate: vídeo, imagens e áudio',
  },
  icon: 'Replicate',
  sortPriority: 37,
  website: 'https://replicate.com/docs/reference/http',
  baseUrl: 'https://api.replicate.com',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: [
    { name: 'proto_video', models: findNames(({ makes }) => makes === 'video') },
    { name: 'proto_image', models: findNames(({ makes }) => makes === 'image') },
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'] },
  ],
  // A client of the vendor reaches them with `<gateway>/replicate` as its base address.
  routes: [
    ...['models/:owner/:name/predictions', 'predictions'].map((path) => ({
      method: 'POST',
      path: `/replicate/v1/${path}`,
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentPrediction',
    })),
    { method: 'GET', path: '/replicate/v1/predictions/:task_id', type: 'query', render: 'presentPrediction' },
  ],
  usageSchema: {
    seconds: {
      type: 'number',
      unit: 'second',
      description: localized`Video length (seconds); 10 if a custom model sets none | 视频时长（秒）；自选模型未指定时按 10 秒计 | 動画の長さ（秒）。カスタムモデルで指定がなければ10 | Duración del vídeo (segundos); 10 si un modelo propio no la indica | Videolänge (Sekunden); 10, wenn ein eigenes Modell keine angibt | Duração do vídeo (segundos); 10 se um modelo próprio não a indica`,
    },
    images: {
      type: 'number',
      unit: 'count',
      description: localized`Number of images | 图片数量 | 画像の枚数 | Número de imágenes | Anzahl der Bilder | Número de imagens`,
    },
    resolution: {
      enum: ['standard', ...RESOLUTIONS],
      enumLabels: {
        standard: localized`Model default | 模型默认 | モデルの既定 | Predeterminada del modelo | Standard des Modells | Padrão do modelo`,
      },
      description: localized`Video resolution | 视频分辨率 | 動画の解像度 | Resolución del vídeo | Videoauflösung | Resolução do vídeo`,
    },
    audio: {
      type: 'boolean',
      description: localized`Video with sound | 有声视频 | 音声付き動画 | Vídeo con sonido | Video mit Ton | Vídeo com som`,
    },
    compute_seconds: {
      type: 'number',
      unit: 'second',
      description: localized`Hardware time: five minutes are reserved, the time the vendor reports is billed | 硬件时间：预扣五分钟，按服务商报告的时间计费 | ハードウェア時間：5分を予約し、ベンダーが報告した時間を請求 | Tiempo de hardware: se reservan cinco minutos y se cobra el que indica el proveedor | Hardwarezeit: Fünf Minuten werden reserviert, die vom Anbieter gemeldete Zeit berechnet | Tempo de hardware: reservam-se cinco minutos e cobra-se o que o fornecedor informa`,
    },
  },
  usageExamples: [
    { label: '8 sec of video with sound', facts: { ...NOTHING, seconds: 8, audio: true, resolution: '1080p' } },
    { label: '1 image', facts: { ...NOTHING, images: 1 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    images: localized`Images | 图片 | 画像 | Imágenes | Bilder | Imagens`,
    resolution: localized`Resolution | 分辨率 | 解像度 | Resolución | Auflösung | Resolução`,
    audio: localized`Sound | 声音 | 音声 | Sonido | Ton | Som`,
    compute_seconds: localized`Compute time | 计算时间 | 計算時間 | Tiempo de cómputo | Rechenzeit | Tempo de computação`,
  },
  keyUrl: 'https://replicate.com/account/api-tokens',
  keyFormat: 'r8_…',
  listPrices: {
    url: 'https://replicate.com/pricing',
    asOf: '2026-10-07',
    models: {
      'black-forest-labs/flux-schnell': '0.003 * u("images")',
      'black-forest-labs/flux-dev': '0.025 * u("images")',
      'black-forest-labs/flux-1.1-pro': '0.04 * u("images")',
    },
  },
  ranges: {
    seconds: byModel(({ lengths, only, makes }) => {
      if (only) return { values: only };
      if (lengths) return { minimum: lengths[0], maximum: lengths[1], whole: true };
      return makes === 'video' ? { minimum: 1, maximum: 600 } : null;
    }),
    images: byModel(({ most }) => (most > 1 ? { minimum: 1, maximum: most, whole: true } : null)),
    resolution: byModel(({ resolutions, makes, any }) =>
      resolutions ? { values: resolutions } : makes === 'video' && any ? { values: RESOLUTIONS } : null,
    ),
    audio: byModel(({ audio }) => (audio ? {} : null)),
    compute_seconds: null,
  },
  examples: [
    {
      label: localized`Paper boat | 纸船 | 紙の舟 | Barco de papel | Papierboot | Barco de papel`,
      models: findNames(({ only, lengths }) => only !== undefined || lengths !== undefined),
      request: { prompt: 'A paper boat drifts across a still lake at dawn' },
    },
  ],
};

/** The vendor takes small files inside a request only. */
const MAX_FILE_BYTES = 1_000_000;
/** Reserved where only the model knows them. */
const UNSAID_SECONDS = 10;
const RESERVED_COMPUTE = 300;
/** Fields that this plugin reads, then what the gateway decides. All others go to the model. */
const OWN = new Set(
  words(
    'prompt seconds duration resolution generate_audio audio aspect_ratio ratio size image images input_reference n ' +
      'num_outputs start_image image_prompt ' +
      'model version metadata input user stream webhook webhook_url webhook_events_filter webhook_completed callback_url',
  ),
);

const STATUSES = {
  starting: 'QUEUED',
  processing: 'IN_PROGRESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
  canceled: 'FAILURE',
  aborted: 'FAILURE',
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

/** An address, a data URL, or `{ref}` of an uploaded file. */
function readSource(given) {
  const value = isObject(given) ? firstGiven(given.image_url, given.url, given) : given;
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

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again. What is not read here goes to the model as it is.
 */
function normalize(sent) {
  const [metadata, input] = [parsed(sent.metadata) ?? {}, parsed(sent.input)];
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const more = { ...metadata, ...(isObject(input) ? input : {}) };
  const fields = { ...more, ...sent };
  const intent = {};
  const read = (name, given, as = (value) => value) => {
    if (isGiven(given)) intent[name] = as(given);
  };
  read('prompt', fields.prompt, (prompt) => {
    if (typeof prompt !== 'string') throw new Error('prompt must be a string.');
    return prompt;
  });
  read('seconds', firstGiven(fields.duration, fields.seconds), (given) => {
    const seconds = Number(given);
    if (!(seconds > 0 && seconds <= 3600)) throw new Error('The length is a number of seconds.');
    return seconds;
  });
  read('resolution', fields.resolution, String);
  read('audio', firstGiven(fields.generate_audio, fields.audio), (flag) => {
    if (!['true', 'false'].includes(String(flag))) throw new Error('audio must be true or false.');
    return String(flag) === 'true';
  });
  read('ratio', firstGiven(fields.aspect_ratio, fields.ratio), String);
  read('size', fields.size, String);
  const count = /^\d{1,3}$/.test(String(fields.images)) ? fields.images : undefined;
  read('n', firstGiven(fields.num_outputs, fields.n, count), Number);
  const { images, image, start_image: start, image_prompt: look, input_reference: reference } = fields;
  read('images', count ? undefined : images, (given) => [given].flat().map(readSource));
  read('image', firstGiven(image, start, look, reference), readSource);
  const rest = Object.entries(more).filter(([name]) => !OWN.has(name));
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

/** The model at the vendor: of a name for any model, what the channel's settings say. */
function readModel(ctx) {
  const name = ctx.upstreamModel || ctx.model;
  if (MODELS[name]?.any !== true) return name;
  const model = ctx.userSetting?.models?.[ctx.model] ?? ctx.userSetting?.models?.[name];
  if (typeof model === 'string') return model;
  throw new Error(`No model of Replicate stands behind ${ctx.model}: name it in the channel's settings, as "models".`);
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = readModel(ctx);
  const spec = MODELS[model] ?? { any: true, makes: MODELS[ctx.upstreamModel || ctx.model]?.makes };
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const input = { ...order.metadata };
  if (order.prompt !== undefined) input.prompt = order.prompt;
  if (!spec.any && !order.prompt?.trim()) throw new Error('Please give a prompt.');
  placeImages(spec, order, input);
  const kind = spec.makes ?? (order.seconds === undefined ? 'image' : 'video');
  const facts = { ...NOTHING, compute_seconds: RESERVED_COMPUTE };
  if (kind === 'video') Object.assign(facts, orderVideo(spec, order, input));
  else if (kind === 'image') Object.assign(facts, orderImages(spec, order, input));
  else if (order.seconds !== undefined) input.duration = order.seconds;
  // A model that is not listed may make a video without being asked for its length.
  if (kind === 'audio' || !spec.makes) facts.seconds = order.seconds ?? UNSAID_SECONDS;
  return { model, input, facts, kind };
}

function placeImages({ any, frame }, { image, images = [] }, input) {
  const given = [...(image === undefined ? [] : [image]), ...images];
  if (given.length === 0) return;
  if (!any && given.length > (frame ? 1 : 0)) {
    throw new Error(frame ? 'This model takes one image.' : 'This model takes no image.');
  }
  const placed = given.map((source) =>
    isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_FILE_BYTES } : source,
  );
  if (frame || images.length === 0) input[frame ?? 'image'] = placed[0];
  else input.images = placed;
}

function orderVideo(spec, order, input) {
  const { lengths, only, usual, resolutions, ratios = VIDEO_RATIOS } = spec;
  const seconds = order.seconds ?? usual ?? only?.[0];
  if (only && !only.includes(seconds)) throw new Error(`The length is one of ${only.join(', ')} seconds.`);
  if (lengths && !(Number.isInteger(seconds) && seconds >= lengths[0] && seconds <= lengths[1])) {
    throw new Error(`The length is from ${lengths[0]} to ${lengths[1]} whole seconds.`);
  }
  if (spec.any && (seconds < 1 || seconds > 600)) throw new Error('The length is from 1 to 600 seconds.');
  if (seconds !== undefined) input.duration = seconds;
  const resolution = order.resolution ?? resolutions?.[0];
  if (resolution !== undefined) {
    const allowed = resolutions ?? (spec.any ? RESOLUTIONS : ['its own, so leave it out']);
    if (!allowed.includes(resolution)) throw new Error(`The resolution is one of ${allowed.join(', ')}.`);
    input.resolution = resolution;
  }
  const ratio = order.ratio ?? (order.size === undefined ? undefined : nearestRatio(order.size, ratios));
  if (ratio !== undefined) input.aspect_ratio = ratio;
  if (order.audio !== undefined && !spec.audio && !spec.any) throw new Error('This model makes no sound by request.');
  const audio = order.audio ?? spec.audio === true;
  if (spec.audio || order.audio !== undefined) input.generate_audio = audio;
  return { seconds: seconds ?? UNSAID_SECONDS, resolution: resolution ?? 'standard', audio };
}

function orderImages(spec, order, input) {
  const [n, most] = [order.n ?? 1, spec.most ?? 16];
  if (!(Number.isInteger(n) && n >= 1 && n <= most)) throw new Error(`n is a whole number from 1 to ${most}.`);
  if (spec.most > 1 || (spec.any && order.n !== undefined)) input.num_outputs = n;
  if (order.resolution !== undefined) input.resolution = order.resolution;
  const hasSize = order.size !== undefined && order.size !== 'auto';
  const ratio = order.ratio ?? (hasSize ? nearestRatio(order.size, IMAGE_RATIOS) : undefined);
  if (ratio !== undefined) input.aspect_ratio = ratio;
  return { images: n };
}

const NAME = /^([\w-][\w.-]*\/[\w-][\w.-]*)(?::([0-9a-f]{64}))?$/;

/** A model that Replicate keeps running has an address of its own; others run by their version. */
export function buildSubmitRequest(ctx) {
  const { model, input, kind } = plan(ctx);
  const [, name, version] = NAME.exec(model) ?? [];
  if (name === undefined) throw new Error('A model of Replicate is owner/name, or owner/name:version.');
  const push = ctx.callbackUrl ? { webhook: ctx.callbackUrl, webhook_events_filter: ['completed'] } : {};
  return {
    url: version ? `${apiUrl(ctx)}/predictions` : `${apiUrl(ctx)}/models/${name}/predictions`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    body: { ...(version ? { version } : {}), input, ...push },
    action: kind,
  };
}

export const extractUsage = (ctx) => plan(ctx).facts;

/** The vendor explains in `detail`, and a failed prediction in `error`. */
const readMessage = (body) => textAt(body, 'error') || textAt(body, 'detail') || textAt(body, 'title');

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'id');
  if (taskId === '') throw new Error(readMessage(body) || 'Replicate answered without a prediction.');
  return { taskId, taskData: body };
}

const REFUSALS = { 401: 'credential', 402: 'balance', 403: 'credential', 404: 'request', 422: 'request', 429: 'rate' };

export function parseSubmitError({ statusCode, body }) {
  const kind = REFUSALS[statusCode];
  if (kind === undefined) return null;
  const message = readMessage(body);
  if (kind === 'rate') {
    // How long it lasts is said in words alone.
    const [, seconds] = /resets? in ~?(\d{1,4})\s?s/i.exec(message) ?? [];
    return { kind, message, ...(seconds ? { retryAfterSeconds: Math.min(3600, Number(seconds)) } : {}) };
  }
  const field = Array.isArray(body?.invalid_fields) ? textAt(body.invalid_fields[0], 'field') : '';
  return { kind, message, ...(kind === 'request' && field ? { param: field.replace(/^input\./, '') } : {}) };
}

export function buildQueryRequest(ctx) {
  return { url: `${apiUrl(ctx)}/predictions/${encodeURIComponent(ctx.taskId)}`, headers: bearer(ctx) };
}

const TYPES = {
  ...{ mp4: 'video/mp4', webm: 'video/webm', mov: 'video/quicktime', gif: 'image/gif', png: 'image/png' },
  ...{ jpg: 'image/jpeg', jpeg: 'image/jpeg', webp: 'image/webp', mp3: 'audio/mpeg', wav: 'audio/wav' },
  ...{ flac: 'audio/flac', ogg: 'audio/ogg', m4a: 'audio/mp4' },
};

/** The addresses in an output: a text, a list, or an object of them. */
function readUrls(output, depth = 0) {
  if (typeof output === 'string') return /^https?:\/\/\S+$/.test(output) ? [output] : [];
  if (typeof output !== 'object' || output === null || depth > 4) return [];
  return Object.values(output).flatMap((item) => readUrls(item, depth + 1));
}

/** With keys such as `video`, `image-2`. A file of no known type is what the order was for. */
function toArtifacts({ action, data }) {
  const counts = {};
  return readUrls(isObject(data) ? data.output : null)
    .slice(0, 64)
    .map((url) => {
      const ending = /\.(\w{2,4})(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase();
      const mimeType = Object.hasOwn(TYPES, String(ending)) ? TYPES[ending] : undefined;
      const type = mimeType ? mimeType.split('/')[0] : ending === undefined ? action || 'file' : 'file';
      counts[type] = (counts[type] ?? 0) + 1;
      const key = counts[type] === 1 ? type : `${type}-${counts[type]}`;
      return { key, type, ...(mimeType ? { mimeType } : {}), url };
    });
}

const ENDINGS = { canceled: 'The prediction was canceled.', aborted: 'The prediction ended before it began.' };

/** What is not known is said to be unknown, and so is a success whose output is gone. */
export function parseTaskResult(ctx, body) {
  const named = textAt(body, 'status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) || named };
  const status = STATUSES[named];
  if (status === 'FAILURE') {
    return { status, reason: readMessage(body) || (ENDINGS[named] ?? 'The prediction failed at Replicate.') };
  }
  if (status !== 'SUCCESS') return { status };
  if (!isGiven(body.output)) return { status: 'UNKNOWN', reason: 'Replicate names no output.' };
  return { status, url: toArtifacts({ action: ctx.action, data: body })[0]?.url };
}

/** What was made, and the time that it took. */
export function extractUsageOnComplete(ctx, result, body) {
  if (result.status !== 'SUCCESS') return null;
  const usage = {};
  const took = body?.metrics?.predict_time;
  if (typeof took === 'number' && took >= 0) usage.compute_seconds = Math.min(3600, took);
  const images = toArtifacts({ action: ctx.action, data: body }).filter(({ type }) => type === 'image');
  if (ctx.action === 'image' && images.length > 0) usage.images = images.length;
  return usage;
}

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  const files = toArtifacts(task).map(({ url: _url, ...artifact }) => artifact);
  // Models that answer in words have no file.
  return files.length > 0 ? files : [{ key: 'result', type: 'file', mimeType: 'application/json' }];
}

/** Files are public, and gone after an hour. */
export function buildContentRequest(ctx) {
  const found = toArtifacts(ctx);
  if (found.length === 0 && ctx.artifactKey === 'result') {
    const { output } = ctx.data;
    const said = Array.isArray(output) && output.every((part) => typeof part === 'string') ? output.join('') : output;
    const content = isObject(said) ? said : { text: said };
    return { url: `data:application/json;base64,${utils.base64(JSON.stringify(content))}` };
  }
  const named = found.find(({ key }) => key === ctx.artifactKey);
  if (!named) throw new Error('artifact_not_found');
  return { url: named.url, method: ctx.clientRequest.method, credentialless: true };
}

/** The fields of a body; files of a field that is repeated are a list. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    // OpenAI's clients send several images as image[].
    const name = field === 'image[]' ? 'images' : field.replace(/\[\]$/, '');
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

const toTag = ({ type, url }) => {
  if (type === 'image') return `<img src="${url}" alt="">`;
  return type === 'file' ? `<a href="${url}">${url}</a>` : `<${type} controls src="${url}"></${type}>`;
};
const shown = (ctx) => Object.values(ctx.artifacts).map(toTag).join('\n');

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) }),
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_image: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) }),
    /** The gateway's own links to the artifacts. */
    render: () => null,
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
  /** The body's `input` is the model's: all of it goes there. */
  decodeSubmit({ body, params }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    const { input = {}, version } = body.value;
    const model = params.owner === undefined ? version : `${params.owner}/${params.name}`;
    if (typeof model !== 'string' || model === '') throw new Error('Please name the model as version: owner/name.');
    return { kind: 'submit', model, requestBody: normalize({ metadata: input }) };
  },
  presentPrediction(_ctx, task) {
    const data = isObject(task.data) ? task.data : {};
    const named = STATUSES[data.status] === task.status ? data.status : undefined;
    const status = named ?? Object.keys(STATUSES).find((name) => STATUSES[name] === task.status) ?? 'starting';
    const urls = { get: `/replicate/v1/predictions/${task.task_id}` };
    const created = { created_at: new Date(task.created_at * 1000).toISOString() };
    const seen = { ...created, ...data, id: task.task_id, model: task.model, status, urls };
    return task.status === 'FAILURE' ? { ...seen, error: task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ title: error.code, detail: error.message, status: error.httpStatus }),
};
