// Runway, by https://docs.dev.runwayml.com/api: each kind of job has an endpoint of its own, and
// tasks are asked for at one.

const words = (text) => text.split(' ');
const WIDE = words('1280:720 720:1280 1104:832 832:1104 960:960 1584:672');
const IMAGE_RATIOS = words(
  '1920:1080 1080:1920 1024:1024 1360:768 1080:1080 1168:880 1440:1080 1080:1440 1808:768 2112:912 ' +
    '1280:720 720:1280 720:720 960:720 720:960 1680:720',
);
/**
 * `to`: its endpoint, for a first frame `framed`. `lengths`: least and most seconds, or the only
 * two. `longest`: seconds that are billed where
 * the length is that of a video which the gateway does not see. `last`: takes a last frame.
 */
const MODELS = {
  'gen4.5': { to: 'text_to_video', framed: 'image_to_video', ratios: WIDE, lengths: [2, 10] },
  gen4_turbo: { framed: 'image_to_video', ratios: WIDE, lengths: [2, 10] },
  gen3a_turbo: { framed: 'image_to_video', ratios: ['1280:768', '768:1280'], only: [5, 10], last: true },
  gen4_aleph: { to: 'video_to_video', ratios: WIDE, longest: 5 },
  aleph2: { to: 'video_to_video', longest: 30 },
  act_two: { to: 'character_performance', ratios: WIDE, longest: 30 },
  upscale_v1: { to: 'video_upscale', longest: 40 },
  gen4_image: { to: 'text_to_image', ratios: IMAGE_RATIOS },
  gen4_image_turbo: { to: 'text_to_image', ratios: IMAGE_RATIOS, references: true },
};
/** What each endpoint takes beside `model` and the fields that go on as they are. */
const ENDPOINTS = {
  text_to_video: words('promptText ratio duration references'),
  image_to_video: words('promptText ratio duration promptImage'),
  video_to_video: words('promptText ratio duration videoUri references'),
  character_performance: words('ratio character reference'),
  video_upscale: words('videoUri'),
  text_to_image: words('promptText ratio referenceImages'),
};
const KINDS = { character_performance: 'performance', video_upscale: 'upscale', text_to_image: 'image' };

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));

export const meta = {
  apiVersion: 1,
  key: 'runway',
  name: 'Runway',
  version: '1.1.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Runway Gen-4: text, image or video to video, performances, upscaling and images',
    zh: 'Runway Gen-4 系列：文生、图生与视频生视频，角色表演，视频放大与图片生成',
    ja: 'Runway Gen-4：テキスト・画像・動画から動画、演技の転写、高解像度化、画像',
    es: 'Runway Gen-4: texto, imagen o vídeo a vídeo, actuaciones, ampliación e imágenes',
    de: 'Runway Gen-4: Text, Bild oder Video zu Video, Darbietungen, Hochskalieren, Bilder',
    pt: 'Runway Gen-4: texto, imagem ou vídeo para vídeo, performances, ampliação e imagens',
  },
  icon: 'Runway',
  sortPriority: 45,
  website: 'https://docs.dev.runwayml.com',
  baseUrl: 'https://api.dev.runwayml.com',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: [
    { name: 'proto_video', models: Object.keys(MODELS).filter((name) => !name.includes('image')) },
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'] },
  ],
  // A client of the vendor reaches them with `<gateway>/runway` as its base address.
  routes: [
    { method: 'POST', path: '/runway/v1/:endpoint', type: 'submit', decode: 'decodeSubmit', render: 'presentId' },
    { method: 'GET', path: '/runway/v1/tasks/:task_id', type: 'query', render: 'presentTask' },
  ],
  usageSchema: {
    seconds: {
      type: 'number',
      unit: 'second',
      description: localized`Video length (seconds); the maximum if the input video sets it | 视频时长（秒）；由输入视频决定时按最长计 | 動画の長さ（秒）。入力動画で決まる場合は最大値 | Duración del vídeo (segundos); la máxima si la fija el vídeo de entrada | Videolänge (Sekunden); die maximale, wenn das Eingabevideo sie bestimmt | Duração do vídeo (segundos); a máxima se o vídeo de entrada a define`,
    },
    images: {
      type: 'number',
      unit: 'count',
      description: localized`Number of images | 图片数量 | 画像の枚数 | Número de imágenes | Anzahl der Bilder | Número de imagens`,
    },
    kind: {
      enum: ['video', 'performance', 'upscale', 'image'],
      enumLabels: {
        video: localized`Video | 视频 | 動画 | Vídeo | Video | Vídeo`,
        performance: localized`Performance | 角色表演 | 演技 | Actuación | Darbietung | Performance`,
        upscale: localized`Upscaled video | 放大的视频 | 高解像度化した動画 | Vídeo ampliado | Hochskaliertes Video | Vídeo ampliado`,
        image: localized`Image | 图片 | 画像 | Imagen | Bild | Imagem`,
      },
      description: localized`Result type | 结果类型 | 結果の種類 | Tipo de resultado | Art des Ergebnisses | Tipo de resultado`,
    },
    resolution: {
      enum: ['720p', '1080p'],
      description: localized`Result resolution | 结果分辨率 | 結果の解像度 | Resolución del resultado | Auflösung des Ergebnisses | Resolução do resultado`,
    },
  },
  usageExamples: [
    { label: '5 sec of video', facts: { seconds: 5, images: 0, kind: 'video', resolution: '720p' } },
    { label: '1080p image', facts: { seconds: 0, images: 1, kind: 'image', resolution: '1080p' } },
  ],
};

const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  capacity: { queues: true },
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    images: localized`Images | 图片 | 画像 | Imágenes | Bilder | Imagens`,
    kind: localized`Type | 类型 | 種類 | Tipo | Art | Tipo`,
    resolution: localized`Resolution | 分辨率 | 解像度 | Resolución | Auflösung | Resolução`,
    image: localized`First frame | 首帧 | 開始フレーム | Fotograma inicial | Startbild | Quadro inicial`,
    reference_images: localized`Reference | 参考图片 | 参照画像 | Referencia | Referenz | Referência`,
    video: localized`Input video | 输入视频 | 入力動画 | Vídeo de entrada | Eingabevideo | Vídeo de entrada`,
    character: localized`Character | 角色 | キャラクター | Personaje | Figur | Personagem`,
    reference: localized`Performance | 表演视频 | 演技 | Actuación | Darbietung | Performance`,
  },
  keyUrl: 'https://dev.runwayml.com/settings/api-keys',
  keyFormat: 'key_…',
  // Relays of this API do not know a task for a moment after they have taken it.
  notFoundGraceSeconds: 30,
  inputs: {
    image: { type: 'image', required: true, models: words('gen4_turbo gen3a_turbo') },
    reference_images: { type: 'image', required: true, models: ['gen4_image_turbo'] },
    video: { type: 'video', required: true, models: words('gen4_aleph aleph2 upscale_v1') },
    character: { type: 'image', required: true, models: ['act_two'] },
    reference: { type: 'video', required: true, models: ['act_two'] },
  },
  // Credits by Runway's own https://github.com/runwayml/skills (rw-api-reference) at $0.01 each, by
  // rw-check-org-details there and https://www.toolcolumn.com/learn/runway-web-credits-vs-api-pricing.
  listPrices: {
    url: 'https://docs.dev.runwayml.com/guides/pricing/',
    asOf: '2026-05-26',
    models: {
      'gen4.5': '0.12 * u("seconds")',
      gen4_turbo: '0.05 * u("seconds")',
      gen4_aleph: '0.15 * u("seconds")',
      act_two: '0.05 * u("seconds")',
      gen4_image: '(u("resolution") == "1080p" ? 0.08 : 0.05) * u("images")',
      gen4_image_turbo: '0.02 * u("images")',
    },
  },
  ranges: {
    seconds: byModel(({ lengths, only }) =>
      only ? { values: only } : lengths ? { minimum: lengths[0], maximum: lengths[1], whole: true } : null,
    ),
    images: null,
    kind: null,
    resolution: null,
  },
};

const DEFAULT_SECONDS = 5;
const MAX_PROMPT = 1000;
/** A data URL of an image may have 5 MB, one of a video 16 MB. */
const MAX_IMAGE_BYTES = 3_700_000;
const MAX_VIDEO_BYTES = 12_000_000;
/** Fields of the vendor that go to it as they are. */
const PASSED = words('seed contentModeration bodyControl expressionIntensity keyframes targetAspectRatio audio');
/** Fields that this plugin reads, then what the gateway decides. */
const READ = words(
  'promptText promptImage lastImage videoUri references referenceImages character reference endpoint ratio size duration ' +
    'seconds prompt video promptVideo last_frame image images input_reference reference_images',
);
const KEPT = words('model metadata outputCount webhookUrl callbackUrl webhook_url callback_url');
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
const OWN = new Set([...PASSED, ...READ, ...KEPT].map(stripSeparators));

const ENDED = { SUCCEEDED: 'SUCCESS', FAILED: 'FAILURE', CANCELLED: 'FAILURE' };
const STATUSES = { PENDING: 'QUEUED', THROTTLED: 'QUEUED', RUNNING: 'IN_PROGRESS', ...ENDED };

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
const buildHeaders = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}`, 'X-Runway-Version': '2024-11-06' });

/**
 * An address, a data URL or an upload at the vendor, or `{ref}` of an uploaded file; OpenAI's
 * clients wrap the first two.
 */
function readSource(name, given) {
  const value = isObject(given) ? firstGiven(given.uri, given.image_url, given) : given;
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^(https?:\/\/|runway:\/\/|data:(image|video)\/)/i.test(text.slice(0, 16))) return text;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be an https URL, a data URL, or an uploaded file.`);
}

/** Sources with what the vendor says about each, such as a tag. */
const readSources = (name, given) =>
  (Array.isArray(given) ? given : [given]).map((item) => {
    const { image_url: _wrapped, ref: _file, ...about } = isObject(item) ? item : {};
    return { ...about, uri: readSource(name, item) };
  });

/** A form holds numbers, flags and objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/**
 * First and last frame of the vendor's `promptImage`: an address, or a list of addresses with
 * positions.
 */
function readFrames(given) {
  if (!Array.isArray(given)) return [given];
  const isLast = (item) => item?.position === 'last';
  return [given.find((item) => !isLast(item)), given.find(isLast)];
}

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(sent) {
  const metadata = parsed(sent.metadata) ?? {};
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const fields = { ...metadata, ...sent };
  const prompt = firstGiven(fields.promptText, fields.prompt);
  if (prompt !== undefined && (typeof prompt !== 'string' || prompt.length > MAX_PROMPT)) {
    throw new Error(`The prompt is a string of at most ${MAX_PROMPT} characters.`);
  }
  const seconds = firstGiven(fields.duration, fields.seconds);
  const duration = seconds === undefined ? undefined : Number(seconds);
  if (duration !== undefined && !Number.isInteger(duration)) throw new Error('Seconds are a whole number.');
  const [first, last] = readFrames(fields.promptImage);
  const one = (name, ...values) => (values.some(isGiven) ? readSource(name, firstGiven(...values)) : undefined);
  const many = (name, ...values) => (values.some(isGiven) ? readSources(name, firstGiven(...values)) : undefined);
  const intent = {
    endpoint: fields.endpoint,
    promptText: prompt,
    promptImage: one('promptImage', first, fields.image, fields.input_reference),
    lastImage: one('lastImage', fields.lastImage, last, fields.last_frame),
    videoUri: one('videoUri', fields.videoUri, fields.promptVideo, fields.video),
    referenceImages: many('referenceImages', fields.referenceImages, fields.reference_images, fields.images),
    references: many('references', fields.references),
    character: many('character', parsed(fields.character))?.[0],
    reference: many('reference', parsed(fields.reference))?.[0],
    ratio: fields.ratio,
    size: fields.size,
    duration,
  };
  for (const name of PASSED) if (isGiven(fields[name])) intent[name] = parsed(fields[name]);
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  for (const name of Object.keys(intent)) if (!isGiven(intent[name])) delete intent[name];
  return intent;
}

/** The ratio nearest to "1280x720", or to "1280:720", which must be one of the model's. */
function toRatio(model, ratios, { ratio, size }) {
  if (ratios === undefined) return ratio;
  if (ratio !== undefined) {
    if (!ratios.includes(ratio)) throw new Error(`The ratio of ${model} is one of ${ratios.join(', ')}.`);
    return ratio;
  }
  if (size === undefined) return ratios[0];
  const match = /^([1-9]\d{0,4})[x*:]([1-9]\d{0,4})$/i.exec(size);
  if (!match) throw new Error(`The size "${String(size).slice(0, 40)}" is not in the form WIDTHxHEIGHT.`);
  const wished = [Number(match[1]), Number(match[2])];
  const distance = (name) => {
    const [width, height] = name.split(':').map(Number);
    const shape = Math.abs(Math.log(wished[0] / wished[1] / (width / height)));
    return shape * 10 + Math.abs(Math.log((wished[0] * wished[1]) / (width * height)));
  };
  return ratios.reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

/** Where a newer model goes that a channel maps to. */
const guess = (order) => (order.videoUri ? 'video_to_video' : order.promptImage ? 'image_to_video' : 'text_to_video');

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const spec = MODELS[model] ?? { to: order.endpoint ?? guess(order) };
  const endpoint = order.promptImage && spec.framed ? spec.framed : spec.to;
  if (endpoint === undefined) throw new Error(`${model} needs a first frame in promptImage.`);
  if (!Object.hasOwn(ENDPOINTS, endpoint)) throw new Error(`Runway has no endpoint ${String(endpoint).slice(0, 40)}.`);
  if (order.endpoint !== undefined && order.endpoint !== endpoint) {
    throw new Error(`${model} with these inputs belongs to /v1/${endpoint}.`);
  }
  const kind = KINDS[endpoint] ?? 'video';
  if (endpoint.startsWith('text_to_') && !order.promptText?.trim()) throw new Error('Please give a prompt.');
  if (order.lastImage && !(spec.last ?? !MODELS[model])) throw new Error(`${model} takes no last frame.`);
  if (/^video_/.test(endpoint) && !order.videoUri) throw new Error('Please give a videoUri.');
  const isPlayed = order.character && order.reference;
  if (kind === 'performance' && !isPlayed) throw new Error('Please give a character and, as reference, a performance.');
  if (order.referenceImages && !ENDPOINTS[endpoint].includes('referenceImages')) {
    throw new Error(`${model} takes no referenceImages.`);
  }
  if (spec.references && !order.referenceImages) throw new Error(`${model} needs one to three referenceImages.`);
  const timed = kind === 'video' && !spec.longest;
  const seconds = timed ? (order.duration ?? DEFAULT_SECONDS) : (spec.longest ?? 0);
  const { lengths: [least, most] = [1, 60], only } = spec;
  if (timed && (only ? !only.includes(seconds) : seconds < least || seconds > most)) {
    throw new Error(`A video of ${model} has ${only ? only.join(' or ') : `${least} to ${most}`} seconds.`);
  }
  const ratio = toRatio(model, spec.ratios, order);
  return { model, endpoint, kind, seconds, order: { ...order, ratio, duration: timed ? seconds : undefined } };
}

/** Files take the place of their references, at any depth. */
function place(value, maxBytes) {
  if (Array.isArray(value)) return value.map((item) => place(item, maxBytes));
  if (!isObject(value)) return value;
  if (typeof value.ref === 'string') return { __fileRef: value.ref, encoding: 'dataUrl', maxBytes };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, place(member, maxBytes)]));
}

function readBody({ model, order, endpoint }) {
  const body = { ...order.metadata, model };
  for (const name of [...ENDPOINTS[endpoint], ...(endpoint === 'video_upscale' ? [] : PASSED)]) {
    const isVideo = ['videoUri', 'character', 'reference'].includes(name);
    if (name in order) body[name] = place(order[name], isVideo ? MAX_VIDEO_BYTES : MAX_IMAGE_BYTES);
  }
  // A client may say nothing but where they are.
  if (endpoint === 'character_performance') {
    body.character = { type: 'image', ...body.character };
    body.reference = { type: 'video', ...body.reference };
  }
  if (order.lastImage && body.promptImage) {
    const last = { uri: place(order.lastImage, MAX_IMAGE_BYTES), position: 'last' };
    body.promptImage = [{ uri: body.promptImage, position: 'first' }, last];
  }
  return body;
}

export function buildSubmitRequest(ctx) {
  const planned = plan(ctx);
  return {
    url: `${apiUrl(ctx)}/${planned.endpoint}`,
    method: 'POST',
    headers: { ...buildHeaders(ctx), 'Content-Type': 'application/json' },
    // Members that are undefined are not sent.
    body: readBody(planned),
    action: planned.endpoint,
  };
}

export function extractUsage(ctx) {
  const { kind, order, seconds } = plan(ctx);
  // The vendor has two prices for images.
  const large = kind === 'image' && Math.min(...String(order.ratio).split(':').map(Number)) > 720;
  return { seconds, images: kind === 'image' ? 1 : 0, kind, resolution: large ? '1080p' : '720p' };
}

const readMessage = (body) => textAt(body, 'error') || textAt(body, 'message');

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'id');
  if (taskId === '') throw new Error(readMessage(body) || 'Runway answered without a task.');
  return { taskId, taskData: body };
}

/** Too many at once are accepted as THROTTLED: 429 is the account's limit of 24 hours. */
const REFUSALS = { 401: 'credential', 429: 'rate' };

export function parseSubmitError({ statusCode, body }) {
  const message = readMessage(body);
  // An account without credits is answered as a wrong request is: the words alone tell.
  const isEmpty = statusCode === 400 && /^you do not have enough credits/i.test(message);
  const kind = isEmpty ? 'balance' : REFUSALS[statusCode];
  return kind ? { kind, message } : null;
}

/**
 * Reads what the tier of the key's organization runs of each model, as
 * https://docs.dev.runwayml.com/api says. Two more may wait there as THROTTLED, so that no place of
 * the vendor is empty until the next poll.
 */
export function queryCapacity({ channel, response }) {
  if (!response) return { request: { url: `${apiUrl(channel)}/organization`, headers: buildHeaders(channel) } };
  const { tier } = JSON.parse(response.body);
  const models = Object.entries(isObject(tier?.models) ? tier.models : {})
    .map(([name, own]) => [name, own?.maxConcurrentGenerations])
    .filter(([, most]) => most > 0)
    .map(([name, most]) => [name, { maxRunning: most + 2 }]);
  return { limits: { models: Object.fromEntries(models) } };
}

export function buildQueryRequest(ctx) {
  return { url: `${apiUrl(ctx)}/tasks/${encodeURIComponent(ctx.taskId)}`, headers: buildHeaders(ctx) };
}

const readOutputs = (body) => (isObject(body) && Array.isArray(body.output) ? body.output.filter(isGiven) : []);

/** What is not known is said to be unknown, and so is a success without a result. */
export function parseTaskResult(_ctx, body) {
  const named = textAt(body, 'status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) };
  const status = STATUSES[named];
  if (status === 'FAILURE') {
    const [words, code] = [textAt(body, 'failure'), textAt(body, 'failureCode')];
    const ended = named === 'CANCELLED' ? 'The task was canceled.' : 'The task failed at Runway.';
    return { status, reason: `${words || ended}${code && ` (${code})`}` };
  }
  const progress = typeof body.progress === 'number' ? Math.round(body.progress * 100) : undefined;
  if (status !== 'SUCCESS') return { status, progress };
  const [url] = readOutputs(body);
  return url === undefined ? { status: 'UNKNOWN', reason: 'Runway names no result.' } : { status, url };
}

const toKey = (type, index) => (index === 0 ? type : `${type}-${index + 1}`);
const toArtifacts = ({ action, data }) => {
  const made = action === 'text_to_image' ? { type: 'image' } : { type: 'video', mimeType: 'video/mp4' };
  return readOutputs(data).map((url, index) => ({ key: toKey(made.type, index), ...made, url }));
};

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return toArtifacts(task).map(({ url: _url, ...artifact }) => artifact);
}

/** The addresses are signed for a day or two and public until then. */
export function buildContentRequest(ctx) {
  const found = toArtifacts(ctx).find(({ key }) => key === ctx.artifactKey);
  if (!found) throw new Error('artifact_not_found');
  return { url: found.url, method: ctx.clientRequest.method, credentialless: true };
}

/**
 * The fields of a body, with `image[image_url]` of OpenAI's clients; files of a field that is
 * repeated are a list.
 */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    const name = field.replace(/\[\]$/, '');
    const isList = name === 'images' || name === 'reference_images' || name === 'referenceImages';
    fields[name] = isList ? [...(Array.isArray(fields[name]) ? fields[name] : []), { ref }] : { ref };
  }
  return fields;
}

/**
 * Texts in order, one a line, and the first image of a Responses request; further fields stand
 * beside `input`.
 */
function decodeResponses(body) {
  const request = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (typeof request.input === 'string') return { ...request, prompt: request.input };
  const parts = (Array.isArray(request.input) ? request.input : []).flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  const image = parts.find((part) => part?.type === 'input_image');
  const prompt = texts.join('\n').trim();
  return { ...request, ...(prompt ? { prompt } : {}), ...(image ? { image: image.image_url } : {}) };
}

const shown = (ctx) =>
  Object.values(ctx.artifacts)
    .map(({ type, url }) => (type === 'image' ? `<img src="${url}" alt="">` : `<video controls src="${url}"></video>`))
    .join('\n');

export const protocols = {
  proto_video: {
    decodeRequest(ctx) {
      return { kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) };
    },
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest(ctx) {
      // What is not read of a client's labels is not for the vendor.
      const requestBody = { ...normalize(decodeResponses(ctx.body)), metadata: undefined };
      return { kind: 'submit', model: ctx.model, requestBody };
    },
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
  decodeSubmit({ body, params: { endpoint } }) {
    if (!Object.hasOwn(ENDPOINTS, endpoint)) throw new Error('This gateway does not serve the endpoint.');
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    const { model } = body.value;
    if (typeof model !== 'string' || model === '') throw new Error('Please name the model.');
    return { kind: 'submit', model, requestBody: normalize({ ...body.value, metadata: body.value, endpoint }) };
  },
  presentId: (_ctx, task) => ({ id: task.task_id }),
  presentTask(_ctx, task) {
    const data = objectAt(task, 'data');
    const named = STATUSES[data.status] === task.status ? data.status : undefined;
    const status = named ?? Object.keys(STATUSES).find((name) => STATUSES[name] === task.status) ?? 'PENDING';
    const createdAt = new Date(task.created_at * 1000).toISOString();
    const seen = { createdAt, ...data, id: task.task_id, status };
    return task.status === 'FAILURE' ? { ...seen, failure: data.failure ?? task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ error: error.message }),
};
