// The queue of fal: https://docs.fal.ai/model-apis/model-endpoints/queue. A model is a path. A job
// is asked for at the address that the answer to its submission names: its status, then its result.

const words = (text) => text.split(' ');
/** `a:1 b:2` as an object. */
const pairs = (text) => Object.fromEntries(words(text).map((pair) => pair.split(':')));
const VIDEO_RATIOS = words('16:9 9:16 1:1');
const VEO = { makes: 'video', lengths: [8, 6, 4], unit: 's', resolutions: words('720p 1080p'), audio: true };
const SEEDREAM = { makes: 'image', most: 6, pixels: [1920, 2048] };
/**
 * `makes`: what a request for it makes. `lengths`: seconds that it can have, which go out as a text
 * with `unit` behind. `frame`: where the first image goes, `list` for several. `most`: images that
 * a request can ask for. `pixels`: the least side of an image, and the one that is meant without.
 */
const MODELS = {
  'fal-ai/kling-video/v2.6/pro/text-to-video': { makes: 'video', lengths: [5, 10], audio: true },
  'fal-ai/kling-video/v2.6/pro/image-to-video': { makes: 'video', lengths: [5, 10], audio: true, frame: 'image_url' },
  'fal-ai/kling-video/v2.5-turbo/pro/text-to-video': { makes: 'video', lengths: [5, 10] },
  'fal-ai/veo3.1': VEO,
  'fal-ai/veo3.1/fast': VEO,
  'fal-ai/wan-25-preview/text-to-video': { makes: 'video', lengths: [5, 10], resolutions: words('1080p 720p 480p') },
  'fal-ai/minimax/hailuo-2.3/standard/text-to-video': { makes: 'video', lengths: [6, 10], ratios: [] },
  'fal-ai/bytedance/seedream/v4.5/text-to-image': SEEDREAM,
  'fal-ai/bytedance/seedream/v4.5/edit': { ...SEEDREAM, frame: 'image_urls', list: 10 },
  'fal-ai/z-image/turbo': { makes: 'image', most: 4, pixels: [256, 1024] },
  // Names for any other path: the settings of a channel say which.
  'fal/video': { makes: 'video', any: true },
  'fal/image': { makes: 'image', any: true },
  'fal/audio': { makes: 'audio', any: true },
};
const RESOLUTIONS = words('360p 480p 540p 580p 720p 768p 1080p 1440p 2160p 4k 0.5K 1K 2K 4K');
const NOTHING = { seconds: 0, images: 0, megapixels: 0, resolution: 'standard', audio: false };

const findNames = (fits) => Object.keys(MODELS).filter((name) => fits(MODELS[name]));
const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));
const LENGTH = localized`Video length (seconds) | 视频时长（秒） | 動画の長さ（秒） | Duración del vídeo (segundos) | Videolänge (Sekunden) | Duração do vídeo (segundos)`;
const IMAGES = localized`Number of images | 图片数量 | 画像の枚数 | Número de imágenes | Anzahl der Bilder | Número de imagens`;
const MEGAPIXELS = localized`Total megapixels | 总像素（百万） | 合計メガピクセル | Megapíxeles en total | Megapixel insgesamt | Total de megapixels`;
const SOUND = localized`Video with sound | 有声视频 | 音声付き動画 | Vídeo con sonido | Video mit Ton | Vídeo com som`;
const RESOLUTION = localized`Video resolution | 视频分辨率 | 動画の解像度 | Resolución del vídeo | Videoauflösung | Resolução do vídeo`;
const STANDARD = localized`Model default | 模型默认 | モデルの既定 | Predeterminada del modelo | Standard des Modells | Padrão do modelo`;

export const meta = {
  apiVersion: 1,
  key: 'fal',
  name: 'fal',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Any fal model: video, images and audio',
    zh: '通过 fal 调用其任意模型：视频、图片与音频',
    ja: 'falのあらゆるモデル：動画・画像・音声',
    es: 'Cualquier modelo de fal: vídeo, imágenes y audio',
    de: 'Jedes Modell von fal: Video, Bilder und Audio',
    pt: 'Qualquer modelo do fal: vídeo, imagens e áudio',
  },
  icon: 'Fal.Color',
  sortPriority: 38,
  website: 'https://docs.fal.ai/model-apis/model-endpoints/queue',
  baseUrl: 'https://queue.fal.run',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: [
    { name: 'proto_video', models: findNames(({ makes }) => makes === 'video') },
    { name: 'proto_image', models: findNames(({ makes }) => makes === 'image') },
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'] },
  ],
  // A client of the vendor reaches them with `<gateway>/fal` in place of https://queue.fal.run.
  routes: [
    { method: 'POST', path: '/fal/*path', type: 'submit', decode: 'decodeSubmit', render: 'presentSubmitted' },
    { method: 'GET', path: '/fal/*path', type: 'dynamic', decode: 'decodeQuery', render: 'presentJob' },
  ],
  usageSchema: {
    seconds: { type: 'number', unit: 'second', description: LENGTH },
    images: { type: 'number', unit: 'count', description: IMAGES },
    megapixels: { type: 'number', unit: 'count', description: MEGAPIXELS },
    resolution: { enum: ['standard', ...RESOLUTIONS], enumLabels: { standard: STANDARD }, description: RESOLUTION },
    audio: { type: 'boolean', description: SOUND },
  },
  usageExamples: [
    { label: '8 sec of video with sound', facts: { ...NOTHING, seconds: 8, audio: true } },
    { label: '2048x2048 image', facts: { ...NOTHING, images: 1, megapixels: 5 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  capacity: { queues: true },
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    images: localized`Images | 图片 | 画像 | Imágenes | Bilder | Imagens`,
    megapixels: localized`Megapixels | 百万像素 | メガピクセル | Megapíxeles | Megapixel | Megapixels`,
    resolution: localized`Resolution | 分辨率 | 解像度 | Resolución | Auflösung | Resolução`,
    audio: localized`Sound | 声音 | 音声 | Sonido | Ton | Som`,
    image: localized`First frame | 首帧 | 開始フレーム | Fotograma inicial | Startbild | Quadro inicial`,
  },
  keyUrl: 'https://fal.ai/dashboard/keys',
  keyFormat: 'KEY_ID:KEY_SECRET',
  inputs: { image: { type: 'image', required: true, models: findNames(({ frame }) => frame !== undefined) } },
  listPrices: {
    url: 'https://fal.ai/models',
    asOf: '2025-12-12',
    models: {
      'fal-ai/kling-video/v2.5-turbo/pro/text-to-video': '0.07 * u("seconds")',
      'fal-ai/veo3.1': '(u("audio") ? 0.4 : 0.2) * u("seconds")',
      'fal-ai/veo3.1/fast': '(u("audio") ? 0.15 : 0.1) * u("seconds")',
      'fal-ai/wan-25-preview/text-to-video':
        '(u("resolution") == "480p" ? 0.05 : u("resolution") == "720p" ? 0.1 : 0.15) * u("seconds")',
      'fal-ai/minimax/hailuo-2.3/standard/text-to-video': 'u("seconds") > 6 ? 0.56 : 0.28',
    },
  },
  ranges: {
    seconds: byModel(({ lengths, makes, any }) =>
      lengths ? { values: lengths } : makes === 'video' && any ? { minimum: 1, maximum: 600 } : null,
    ),
    images: byModel(({ most }) => (most ? { minimum: 1, maximum: most, whole: true } : null)),
    megapixels: null,
    resolution: byModel(({ resolutions, makes, any }) =>
      resolutions ? { values: resolutions } : makes === 'video' && any ? { values: RESOLUTIONS } : null,
    ),
    audio: byModel(({ audio }) => (audio ? {} : null)),
  },
  examples: [
    {
      label: localized`Paper boat | 纸船 | 紙の舟 | Barco de papel | Papierboot | Barco de papel`,
      models: findNames(({ lengths, frame }) => lengths && !frame),
      request: { prompt: 'A paper boat drifts across a still lake at dawn' },
    },
  ],
};

const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** Reserved for a video whose length only its model knows. */
const UNSAID_SECONDS = 10;
/** Names of sizes that its image models take, in pixels. */
const SIZES = pairs(
  'square_hd:1024x1024 square:512x512 portrait_4_3:768x1024 portrait_16_9:576x1024 landscape_4_3:1024x768 ' +
    'landscape_16_9:1024x576 auto_2K:2048x2048 auto_4K:4096x4096',
);
/** Fields that this plugin reads, then what the gateway decides. All others go to the model. */
const OWN = new Set(
  words(
    'prompt seconds duration resolution generate_audio audio aspect_ratio ratio size image_size image images image_url ' +
      'image_urls input_reference n num_images max_images ' +
      'model metadata input user sync_mode fal_webhook webhook_url callback_url',
  ),
);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const root = (ctx) => ctx.baseUrl.replace(/\/+$/, '');
const keyHeader = (ctx) => ({ Authorization: `Key ${ctx.apiKey}` });

function readSource(given) {
  const value = isObject(given) ? firstGiven(given.image_url, given.url, given) : given;
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^(https?:\/\/|data:)/i.test(text.slice(0, 10))) return text;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error('An image must be an http(s) URL, a data URL, or an uploaded file.');
}

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
    const seconds = Number(String(given).replace(/s$/, ''));
    if (!(seconds > 0 && seconds <= 3600)) throw new Error('The length is a number of seconds.');
    return seconds;
  });
  read('resolution', fields.resolution, String);
  read('audio', firstGiven(fields.generate_audio, fields.audio), (flag) => {
    if (!['true', 'false'].includes(String(flag))) throw new Error('audio must be true or false.');
    return String(flag) === 'true';
  });
  read('ratio', firstGiven(fields.aspect_ratio, fields.ratio), String);
  read('size', firstGiven(fields.image_size, fields.size), parsed);
  const count = /^\d{1,3}$/.test(String(fields.images)) ? fields.images : undefined;
  read('n', firstGiven(fields.num_images, fields.n, count), Number);
  read('max_images', fields.max_images, Number);
  read('images', firstGiven(fields.image_urls, count ? undefined : fields.images), (given) =>
    [given].flat().map(readSource),
  );
  read('image', firstGiven(fields.image_url, fields.image, fields.input_reference), readSource);
  const rest = Object.entries(more).filter(([name]) => !OWN.has(name));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  return intent;
}

const namedSize = (size) => (Object.hasOwn(SIZES, String(size)) ? SIZES[size] : undefined);

function readSides(size) {
  const match = typeof size === 'string' ? /^([1-9]\d{1,4})[x*]([1-9]\d{1,4})$/i.exec(namedSize(size) ?? size) : null;
  const sides = match ? [Number(match[1]), Number(match[2])] : [Number(size?.width), Number(size?.height)];
  if (!sides.every((side) => Number.isInteger(side) && side >= 1 && side <= 16_384))
    throw new Error('The size is not in the form WIDTHxHEIGHT.');
  return sides;
}

function nearestRatio([width, height], ratios) {
  const distance = (name) =>
    Math.abs(Math.log(name.split(':').reduce((across, down) => across / down) / (width / height)));
  return ratios.reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

/** The path of the model: of a name for any model, what the channel's settings say. */
function toPath(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  if (MODELS[model]?.any !== true) return model;
  const path = ctx.userSetting?.paths?.[ctx.model] ?? ctx.userSetting?.paths?.[model];
  if (typeof path === 'string') return path;
  throw new Error(`No model of fal stands behind ${ctx.model}: name its path in the channel's settings, as "paths".`);
}

function count(name, value, most) {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`${name} is a whole number from 1 to ${most}.`);
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const path = toPath(ctx);
  if (!/^[\w-][\w.-]*(\/[\w-][\w.-]*)+$/.test(path))
    throw new Error('A model of fal is a path such as fal-ai/flux/dev.');
  const spec = MODELS[path] ?? { any: true, makes: MODELS[ctx.upstreamModel || ctx.model]?.makes };
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const input = { ...order.metadata };
  if (order.prompt !== undefined) input.prompt = order.prompt;
  if (!spec.any && !order.prompt?.trim()) throw new Error('Please give a prompt.');
  placeImages(spec, order, input);
  const kind = spec.makes ?? (order.seconds === undefined ? 'image' : 'video');
  const facts = { ...NOTHING, ...{ video: orderVideo, image: orderImages }[kind]?.(spec, order, input) };
  if (kind === 'audio' && order.seconds !== undefined) input.duration = order.seconds;
  // A path that is not listed may make a video without being asked for its length.
  if (kind === 'audio' || !spec.makes) facts.seconds = order.seconds ?? UNSAID_SECONDS;
  return { path, input, facts, kind };
}

function placeImages({ any, frame, list = 1 }, { image, images = [] }, input) {
  const given = [...(image === undefined ? [] : [image]), ...images];
  if (!any && !frame && given.length > 0) throw new Error('This model takes no image.');
  if (frame && (given.length === 0 || given.length > list))
    throw new Error(list === 1 ? 'Please give one image.' : `Please give from 1 to ${list} images.`);
  if (given.length === 0) return;
  const asList = frame ? list > 1 : images.length > 0;
  const placed = given.map((source) =>
    isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_FILE_BYTES } : source,
  );
  input[asList ? 'image_urls' : 'image_url'] = asList ? placed : placed[0];
}

function orderVideo(spec, order, input) {
  const { lengths, unit = '', resolutions, ratios = VIDEO_RATIOS } = spec;
  const seconds = order.seconds ?? lengths?.[0];
  if (lengths) {
    if (!lengths.includes(seconds)) throw new Error(`The length is one of ${lengths.join(', ')} seconds.`);
    input.duration = `${seconds}${unit}`;
  } else if (seconds !== undefined) {
    if (seconds < 1 || seconds > 600) throw new Error('The length is from 1 to 600 seconds.');
    input.duration = seconds;
  }
  const resolution = order.resolution ?? resolutions?.[0];
  if (resolution !== undefined) {
    const allowed = resolutions ?? (spec.any ? RESOLUTIONS : ['its own, so leave it out']);
    if (!allowed.includes(resolution)) throw new Error(`The resolution is one of ${allowed.join(', ')}.`);
    input.resolution = resolution;
  }
  const wished = order.size === undefined ? undefined : readSides(order.size);
  if (order.ratio !== undefined) input.aspect_ratio = order.ratio;
  // A model with a first image takes its shape from there.
  else if (wished && ratios.length > 0 && !spec.frame) input.aspect_ratio = nearestRatio(wished, ratios);
  if (order.audio !== undefined && !spec.audio && !spec.any) throw new Error('This model makes no sound by request.');
  const audio = order.audio ?? spec.audio === true;
  if (spec.audio || order.audio !== undefined) input.generate_audio = audio;
  return { seconds: seconds ?? UNSAID_SECONDS, resolution: resolution ?? 'standard', audio };
}

function orderImages(spec, order, input) {
  const most = spec.most ?? (spec.any ? 16 : 1);
  const n = count('n', order.n ?? 1, most);
  if (order.n !== undefined || !spec.any) input.num_images = n;
  const each = order.max_images === undefined ? 1 : count('max_images', order.max_images, most);
  if (order.max_images !== undefined) input.max_images = each;
  if (order.resolution !== undefined) input.resolution = order.resolution;
  if (order.ratio !== undefined) input.aspect_ratio = order.ratio;
  const [least, usual] = spec.pixels ?? [1, 1024];
  const sides = order.size === undefined || order.size === 'auto' ? [usual, usual] : readSides(order.size);
  if (sides.some((side) => side < least)) throw new Error(`Width and height are at least ${least}.`);
  if (namedSize(order.size)) input.image_size = order.size;
  else if (!spec.any || order.size !== undefined) input.image_size = { width: sides[0], height: sides[1] };
  // 2K has 2,048 pixels squared; a resolution that is not known counts as the largest.
  const [, thousands = 4] = /^(0\.5|[1-4])k$/i.exec(order.resolution ?? '0.5K') ?? [];
  const named = [1024 * thousands, 1024 * thousands];
  return { images: n * each, megapixels: n * each * Math.max(toMegapixels(named), toMegapixels(sides)) };
}

const toMegapixels = ([width, height]) => Math.max(1, Math.ceil((width * height) / 1_000_000));

export function buildSubmitRequest(ctx) {
  const { path, input, kind } = plan(ctx);
  const push = ctx.callbackUrl ? `?fal_webhook=${encodeURIComponent(ctx.callbackUrl)}` : '';
  const headers = { ...keyHeader(ctx), 'Content-Type': 'application/json' };
  return { url: `${root(ctx)}/${path}${push}`, method: 'POST', headers, body: input, action: kind };
}

export const extractUsage = (ctx) => plan(ctx).facts;

/** `detail` is a text, or a list of faults of which each has a sentence, a type and a place. */
const readFaults = (body) => (isObject(body) && Array.isArray(body.detail) ? body.detail.filter(isObject) : []);
function readMessage(body) {
  const faults = readFaults(body).map((fault) => {
    const place = (Array.isArray(fault.loc) ? fault.loc : []).filter((part) => part !== 'body').join('.');
    return place ? `${place}: ${textAt(fault, 'msg')}` : textAt(fault, 'msg');
  });
  return faults.join('; ') || textAt(body, 'detail') || textAt(body, 'error') || textAt(body, 'message');
}

/** A job is known below the first two segments of its model's path. */
const jobUrl = (ctx, path, id) =>
  `${root(ctx)}/${path.split('/').slice(0, 2).join('/')}/requests/${encodeURIComponent(id)}`;

export function parseSubmitResponse(ctx, { body }) {
  const taskId = textAt(body, 'request_id');
  if (taskId === '') throw new Error(readMessage(body) || 'fal answered without a request.');
  const named = textAt(body, 'response_url').replace(/\/response$/, '');
  const known = named.startsWith(`${root(ctx)}/`) && named.endsWith(`/requests/${taskId}`);
  const url = known ? named : jobUrl(ctx, toPath(ctx), taskId);
  return { taskId, taskData: body, state: { url } };
}

/** The error types of the platform that leave no job behind. */
const BUSY = words('runner_scheduling_failure runner_connection_timeout runner_connection_refused');

export function parseSubmitError({ statusCode, headers, body }) {
  const message = readMessage(body);
  const [fault] = readFaults(body);
  const type = textAt(fault, 'type') || textAt(body, 'error_type') || (headers['x-fal-error-type']?.[0] ?? '');
  if (type === 'content_policy_violation') return { kind: 'content', message };
  if (BUSY.includes(type)) return { kind: 'vendor_busy', message };
  if (statusCode === 401) return { kind: 'credential', message };
  // An account whose balance is used up is locked.
  if (statusCode === 403) return { kind: /balance|top.?up/i.test(message) ? 'balance' : 'credential', message };
  if (statusCode === 429) return { kind: type === 'concurrent_requests_limit' ? 'capacity' : 'rate', message };
  if (!fault || statusCode >= 500) return null;
  const param = (Array.isArray(fault.loc) ? fault.loc : []).find((part) => part !== 'body');
  return { kind: 'request', message, ...(typeof param === 'string' ? { param } : {}) };
}

export function buildQueryRequest(ctx) {
  const url = textAt(ctx.state, 'url') || jobUrl(ctx, ctx.upstreamModel, ctx.taskId);
  return { url: ctx.state?.done === true ? url : `${url}/status`, headers: keyHeader(ctx) };
}

const TYPES = pairs(
  'mp4:video/mp4 webm:video/webm mov:video/quicktime gif:image/gif png:image/png jpg:image/jpeg jpeg:image/jpeg ' +
    'webp:image/webp mp3:audio/mpeg wav:audio/wav flac:audio/flac ogg:audio/ogg m4a:audio/mp4',
);

/** The files of a result: what has an address, wherever it stands. */
function readFiles(value, depth = 0) {
  if (depth > 6) return [];
  if (Array.isArray(value)) return value.flatMap((item) => readFiles(item, depth + 1));
  if (!isObject(value)) return [];
  if (/^https?:\/\//.test(textAt(value, 'url'))) return [value];
  return Object.values(value).flatMap((item) => readFiles(item, depth + 1));
}

const toMime = (file) =>
  textAt(file, 'content_type') || TYPES[/\.(\w{2,4})(?:[?#]|$)/.exec(textAt(file, 'url'))?.[1]?.toLowerCase()];
const toKind = (mime = '') => ['video', 'image', 'audio'].find((kind) => mime.startsWith(`${kind}/`));

/** With keys such as `video`, `image-2`. A file of no known type is what the order was for. */
function toArtifacts({ action, data }) {
  const counts = {};
  const files = readFiles(data).slice(0, 64);
  return files.map((file) => {
    const mimeType = toMime(file);
    const type = toKind(mimeType) ?? (mimeType || !['video', 'image', 'audio'].includes(action) ? 'file' : action);
    counts[type] = (counts[type] ?? 0) + 1;
    const key = counts[type] === 1 ? type : `${type}-${counts[type]}`;
    return { key, type, ...(mimeType ? { mimeType } : {}), file };
  });
}

/** What is not known is said to be unknown. A failed job is COMPLETED too. */
export function parseTaskResult(ctx, body, { status: code }) {
  if (ctx.state?.done === true) return readResult(body, code);
  const named = textAt(body, 'status');
  if (named === 'IN_QUEUE') return { status: 'QUEUED' };
  if (named === 'IN_PROGRESS') return { status: 'IN_PROGRESS' };
  if (named !== 'COMPLETED') return { status: 'UNKNOWN', reason: readMessage(body) || named };
  const error = textAt(body, 'error');
  if (error !== '') return { status: 'FAILURE', reason: error, code: textAt(body, 'error_type') || undefined };
  return { status: 'IN_PROGRESS', progress: 99, state: { ...ctx.state, done: true } };
}

function readResult(body, code) {
  if (code === 202 || /still in progress/i.test(readMessage(body))) return { status: 'IN_PROGRESS', progress: 99 };
  if (code >= 400) return { status: 'FAILURE', reason: readMessage(body) || 'The job failed at fal.' };
  if (!isObject(body)) return { status: 'UNKNOWN', reason: 'fal answered without a result.' };
  return { status: 'SUCCESS', url: readFiles(body)[0]?.url };
}

export function extractUsageOnComplete(ctx, result, body) {
  if (result.status !== 'SUCCESS') return null;
  const made = toArtifacts({ action: ctx.action, data: body });
  const usage = {};
  const images = made.filter(({ type }) => type === 'image').map(({ file }) => file);
  if (ctx.action === 'image' && images.length > 0) {
    usage.images = images.length;
    if (images.every(({ width, height }) => width > 0 && height > 0))
      usage.megapixels = images.reduce((sum, { width, height }) => sum + toMegapixels([width, height]), 0);
  }
  const length = Number(made.find(({ type }) => type === 'video')?.file.duration);
  if (length > 0 && !MODELS[ctx.upstreamModel]?.lengths) usage.seconds = length;
  return usage;
}

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  const files = toArtifacts(task).map(({ file: _file, ...artifact }) => artifact);
  // Models that answer in words have no file.
  return files.length > 0 ? files : [{ key: 'result', type: 'file', mimeType: 'application/json' }];
}

export function buildContentRequest(ctx) {
  const found = toArtifacts(ctx);
  const isText = found.length === 0 && ctx.artifactKey === 'result';
  if (isText) return { url: `data:application/json;base64,${utils.base64(JSON.stringify(ctx.data))}` };
  const named = found.find(({ key }) => key === ctx.artifactKey);
  if (!named) throw new Error('artifact_not_found');
  return { url: named.file.url, method: ctx.clientRequest.method, credentialless: true };
}

/** The fields of a body; files of a field that is repeated are a list. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    const name = field === 'image[]' ? 'images' : field.replace(/\[\]$/, '');
    const isList = name === 'images' || name === 'image_urls';
    fields[name] = isList ? [...(Array.isArray(fields[name]) ? fields[name] : []), { ref }] : { ref };
  }
  return fields;
}

/** Texts, one a line, and images of a Responses request; fields stand beside `input`. */
function decodeResponses(body) {
  const { input, metadata: _labels, ...request } = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (!Array.isArray(input)) return typeof input === 'string' ? { ...request, prompt: input } : request;
  const parts = input.flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  const images = parts.filter((part) => part?.type === 'input_image').map((part) => part.image_url);
  return { ...request, prompt: texts.join('\n').trim(), ...(images.length > 1 ? { images } : { image: images[0] }) };
}

const toTag = ({ type, url }) => {
  if (type === 'image') return `<img src="${url}" alt="">`;
  return type === 'file' ? `<a href="${url}">${url}</a>` : `<${type} controls src="${url}"></${type}>`;
};
const shown = (ctx) => Object.values(ctx.artifacts).map(toTag).join('\n');

const decodeRequest = (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) });

export const protocols = {
  proto_video: {
    decodeRequest,
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_image: { decodeRequest, render: () => null },
  proto_responses: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(decodeResponses(ctx.body)) }),
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
  /** The body is the input of the model: all of it goes there. */
  decodeSubmit({ body, params }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    return { kind: 'submit', model: params.path, requestBody: normalize({ metadata: body.value }) };
  },
  decodeQuery({ params }) {
    const [, id] = /\/requests\/([^/]+)(?:\/status|\/response)?$/.exec(params.path) ?? [];
    if (id === undefined) throw new Error('Please name the request.');
    return { kind: 'query', taskIds: [id] };
  },
  /** Paths of this gateway: the plugin does not know its address. */
  presentSubmitted(_ctx, task) {
    const url = `/fal/${task.model}/requests/${task.task_id}`;
    return { request_id: task.task_id, status: 'IN_QUEUE', response_url: url, status_url: `${url}/status` };
  },
  presentJob({ params }, [task]) {
    if (!params.path.endsWith('/status')) {
      if (task.status === 'SUCCESS') return task.data;
      return { detail: task.status === 'FAILURE' ? task.fail_reason : 'Request is still in progress' };
    }
    const named = { SUCCESS: 'COMPLETED', FAILURE: 'COMPLETED', IN_PROGRESS: 'IN_PROGRESS' }[task.status];
    const seen = { status: named ?? 'IN_QUEUE', request_id: task.task_id };
    return task.status === 'FAILURE' ? { ...seen, error: task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ detail: error.message, error_type: error.code }),
};
