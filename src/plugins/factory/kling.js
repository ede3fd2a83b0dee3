// Kling AI: https://kling.ai/document-api. The channel's key is `ACCESS_KEY|SECRET_KEY`; a key
// without the bar is sent as it is, for vendors that offer the same API with keys of their own.

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));
const LENGTH = localized`Video length (seconds) | 视频时长（秒） | 動画の長さ（秒） | Duración del vídeo (segundos) | Videolänge (Sekunden) | Duração do vídeo (segundos)`;

export const meta = {
  apiVersion: 1,
  key: 'kling',
  name: 'Kling AI',
  version: '1.3.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Kling AI: text, first frame, or first and last frame to video',
    zh: '可灵 AI：由文字、首帧或首尾帧生成视频',
    ja: 'Kling AI：テキスト、最初のフレーム、最初と最後のフレームから動画',
    es: 'Kling AI: texto, primer fotograma, o primero y último, a vídeo',
    de: 'Kling AI: Text, erstes Bild oder erstes und letztes Bild zu Video',
    pt: 'Kling AI: texto, primeiro quadro, ou primeiro e último, para vídeo',
  },
  icon: 'Kling.Color',
  models: [
    'kling-v3-omni',
    'kling-v3',
    'kling-video-o1',
    'kling-v2-6',
    'kling-v2-5-turbo',
    'kling-v2-1',
    'kling-v2-1-master',
    'kling-v2-master',
    'kling-v1-6',
    'kling-v1-5',
    'kling-v1',
  ],
  fetchMode: 'per_task',
  upstreams: ['vendor', 'new_api'],
  channelTypes: [50],
  sortPriority: 70,
  website: 'https://kling.ai/document-api',
  baseUrl: 'https://api-singapore.klingai.com',
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  routes: [
    ['text2video', 'decodeText', 'text_to_video'],
    ['image2video', 'decodeImage', 'image_to_video'],
    ['omni-video', 'decodeOmni', 'omni_video'],
  ].flatMap(([kind, decode, action]) => [
    { method: 'POST', path: `/kling/v1/videos/${kind}`, type: 'submit', decode, render: 'presentTask', action },
    { method: 'GET', path: `/kling/v1/videos/${kind}/:task_id`, type: 'query', render: 'presentTask' },
  ]),
  usageSchema: {
    seconds: { type: 'number', unit: 'second', description: LENGTH },
    mode: {
      enum: ['std', 'pro'],
      enumLabels: {
        std: localized`Standard, 720p | 标准，720p | 標準、720p | Estándar, 720p | Standard, 720p | Padrão, 720p`,
        pro: localized`Professional, 1080p | 高品质，1080p | プロ、1080p | Profesional, 1080p | Professionell, 1080p | Profissional, 1080p`,
      },
      description: localized`Video quality | 视频品质 | 動画の品質 | Calidad del vídeo | Videoqualität | Qualidade do vídeo`,
    },
    sound: {
      type: 'boolean',
      description: localized`Video with generated sound | 视频带生成的声音 | 生成音声付き動画 | Vídeo con sonido generado | Video mit generiertem Ton | Vídeo com som gerado`,
    },
    units: {
      type: 'number',
      unit: 'credit',
      description: localized`Kling units, estimated until Kling reports them | 可灵资源点，可灵返回前为估算值 | Klingユニット（Klingの報告までは見積もり） | Unidades de Kling, estimadas hasta que Kling las comunique | Kling-Einheiten, geschätzt, bis Kling sie meldet | Unidades Kling, estimadas até que a Kling as informe`,
    },
  },
  usageExamples: [
    { label: '5 sec, standard', facts: { seconds: 5, mode: 'std', sound: false, units: 2 } },
    { label: '10 sec, professional with sound', facts: { seconds: 10, mode: 'pro', sound: true, units: 14 } },
  ],
};

const ANY_LENGTH = { minimum: 3, maximum: 15, whole: true };
const TWO_LENGTHS = [5, 10];
const hasTwoLengths = (model) => /^kling-v[12]\b/.test(model);
const O1_LENGTH = { minimum: 3, maximum: 10, whole: true };
/** One endpoint makes all of their videos, and takes all images in one list. */
const isOmni = (model) => /^kling-(video-o\d|v\d+-omni)\b/.test(model);

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    mode: localized`Quality | 品质 | 品質 | Calidad | Qualität | Qualidade`,
    sound: localized`Sound | 声音 | 音声 | Sonido | Ton | Som`,
    units: localized`Kling units | 可灵资源点 | Klingユニット | Unidades de Kling | Kling-Einheiten | Unidades Kling`,
  },
  keyUrl: 'https://app.klingai.com/global/dev/api-key',
  // Newer keys are one secret.
  keyFormat: ['ACCESS_KEY|SECRET_KEY', 'API_KEY'],
  ranges: {
    seconds: {
      ...ANY_LENGTH,
      models: {
        ...Object.fromEntries(meta.models.filter(hasTwoLengths).map((model) => [model, { values: TWO_LENGTHS }])),
        'kling-video-o1': O1_LENGTH,
      },
    },
  },
};

const RATIOS = ['16:9', '9:16', '1:1'];
const MODES = ['std', 'pro'];
const DEFAULT_MODEL = 'kling-v1';
const DEFAULT_SECONDS = 5;
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
/** Fields of the vendor that go to it as they are. */
const PASSED = ['negative_prompt', 'cfg_scale'];
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/**
 * What else this plugin reads. Any other member of `metadata` is the vendor's, and goes to it as it
 * is.
 */
const READ = new Set(
  `prompt image input_reference image_tail last_frame image_list images reference_images size duration seconds mode aspect_ratio sound camera_control
  dynamic_masks static_mask external_task_id metadata extra ${PASSED.join(' ')}`
    .split(/\s+/)
    .map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));
/**
 * Units for each begun five seconds, by the vendor's list; a price that uses them is settled by its
 * own figure.
 */
const UNITS = { std: 2, pro: 3.5 };
const UNITS_OF_V3 = { std: 3, pro: 4 };
const UNITS_OF_MASTERS = { std: 10, pro: 10 };
/** A token is made for each request; it only has to outlive that. */
const TOKEN_SECONDS = 1800;
const CLOCK_SKEW_SECONDS = 5;

const STATUSES = { submitted: 'SUBMITTED', processing: 'IN_PROGRESS', succeed: 'SUCCESS', failed: 'FAILURE' };

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.trim() !== '';
const given = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(given);

// ------------------------------------------------------------------------------------------------------------- the request

/** Whether another gateway answers, which has the vendor's paths below `/kling`. */
const isGateway = ({ upstream }) => upstream?.kind === 'new_api';

function authorization(ctx) {
  if (isGateway(ctx)) return ctx.authHeader;
  const [accessKey, secretKey, ...more] = String(ctx.apiKey).split('|');
  if (secretKey === undefined) return `Bearer ${accessKey}`;
  if (accessKey === '' || secretKey === '' || more.length > 0) {
    throw new Error('The key of the channel is not in the form ACCESS_KEY|SECRET_KEY.');
  }
  const now = utils.unixNow();
  const claims = { iss: accessKey, exp: now + TOKEN_SECONDS, nbf: now - CLOCK_SKEW_SECONDS };
  return `Bearer ${utils.jwtSignHS256(claims, secretKey)}`;
}

/** Where jobs of this kind are made and asked for. */
function jobsUrl(ctx, kind) {
  const base = ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  // A key of this form is another gateway's, even where the channel does not say so.
  const isForeign = isGateway(ctx) || String(ctx.apiKey).startsWith('sk-');
  const prefix = isForeign && !base.endsWith('/kling') ? '/kling' : '';
  return `${base}${prefix}/v1/videos/${kind}`;
}

/**
 * An image as `{file}` (an upload of this request) or a text: an address, or Base64 without a
 * prefix, as the API wants it.
 */
function readImage(value, name) {
  const url = isObject(value) && isText(value.image_url) ? value.image_url : value;
  if (isText(url)) return url.replace(/^data:[^,]*;base64,/, '');
  if (isObject(value) && isText(value.file)) return { file: value.file };
  throw new Error(`${name} is an image file, an address, or Base64.`);
}

/** "1280x720" as the ratio and mode that come closest. */
function toShape(size) {
  const match = /^(\d+)x(\d+)$/.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const ratio = width === height ? '1:1' : width > height ? '16:9' : '9:16';
  return { ratio, mode: Math.min(width, height) > 720 ? 'pro' : 'std' };
}

/** A value with parts, which a form holds as JSON text. */
function readJson([name, value], isSound, what) {
  let read = value;
  try {
    if (typeof value === 'string') read = JSON.parse(value);
  } catch {
    throw new Error(`${name} is no JSON: in a form it is the text of ${what}.`);
  }
  if (!isSound(read)) throw new Error(`${name} is ${what}.`);
  return read;
}

function readChoice(value, known, name) {
  if (!known.includes(value)) throw new Error(`${name} is one of ${known.join(', ')}.`);
  return value;
}

const readMembers = (value, name) => (given(value) ? readJson([name, value], isObject, 'a JSON object') : {});

/**
 * The fields of a request with those of its `metadata`; as `extra` what of these this plugin does
 * not read.
 */
function withMetadata({ metadata, extra, ...fields }) {
  const named = readMembers(metadata, 'metadata');
  const more = Object.entries({ ...readMembers(extra, 'extra'), ...named });
  const passed = more.filter(([name, value]) => !isOwn(name) && given(value));
  return { ...named, ...fields, extra: Object.fromEntries(passed) };
}

/** Reference images with what the vendor says of each, such as that it is a frame. */
function toList(value) {
  const items =
    typeof value === 'string' ? readJson(['image_list', value], Array.isArray, 'a JSON list') : [value].flat();
  return items.map((item) => {
    const image_url = readImage(isObject(item) && given(item.image_url) ? item.image_url : item, 'image_list');
    return isObject(item) && isText(item.type) ? { image_url, type: item.type } : { image_url };
  });
}

/** The fields of any request as the API names them, checked. Applied twice it gives the same. */
function normalize(request) {
  const fields = withMetadata(request);
  const image = firstGiven(fields.image, fields.input_reference);
  const tail = firstGiven(fields.image_tail, fields.last_frame);
  if (!isText(fields.prompt) && !given(image) && !given(tail)) throw new Error('Please give a prompt.');
  const shape = given(fields.size) ? toShape(String(fields.size)) : { ratio: '16:9', mode: 'std' };
  const seconds = Number(firstGiven(fields.duration, fields.seconds, DEFAULT_SECONDS));
  if (!(Number.isInteger(seconds) && seconds >= ANY_LENGTH.minimum && seconds <= ANY_LENGTH.maximum)) {
    throw new Error(`The length of a video is from ${ANY_LENGTH.minimum} to ${ANY_LENGTH.maximum} whole seconds.`);
  }
  const order = {
    mode: readChoice(firstGiven(fields.mode, shape.mode), MODES, 'mode'),
    duration: String(seconds),
    aspect_ratio: readChoice(firstGiven(fields.aspect_ratio, shape.ratio), RATIOS, 'aspect_ratio'),
    sound: ['on', 'true'].includes(String(fields.sound)) ? 'on' : 'off',
  };
  if (isText(fields.prompt)) order.prompt = fields.prompt;
  for (const name of PASSED) if (given(fields[name])) order[name] = fields[name];
  if (given(order.cfg_scale)) order.cfg_scale = Number(order.cfg_scale);
  if (given(fields.camera_control)) {
    order.camera_control = readJson(['camera_control', fields.camera_control], isObject, 'a JSON object');
  }
  if (given(fields.dynamic_masks)) {
    order.dynamic_masks = readJson(['dynamic_masks', fields.dynamic_masks], Array.isArray, 'a JSON list');
  }
  if (given(fields.static_mask)) order.static_mask = readImage(fields.static_mask, 'static_mask');
  if (given(image)) order.image = readImage(image, 'image');
  if (given(tail)) order.image_tail = readImage(tail, 'image_tail');
  const list = firstGiven(fields.image_list, fields.images, fields.reference_images);
  if (given(list)) order.image_list = toList(list);
  if (Object.keys(fields.extra).length > 0) order.extra = fields.extra;
  return order;
}

const readOrder = (ctx) => normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});

/** The fields of a JSON or multipart body; files by the name of their field. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  // OpenAI's clients write an image's address as `input_reference[image_url]`.
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { ref, field } of body.kind === 'multipart' ? body.files : []) {
    const name = field.replace(/\[\]$/, '');
    const isList = name === 'images' || name === 'reference_images';
    fields[name] = isList ? [...(fields[name] ?? []), { file: ref }] : { file: ref };
  }
  return fields;
}

/** Base64 in place of an uploaded file. */
const placed = (image) =>
  isObject(image) ? { __fileRef: image.file, encoding: 'base64', maxBytes: MAX_IMAGE_BYTES } : image;

export function buildSubmitRequest(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const { aspect_ratio: ratio, sound, extra, image_list: list, ...order } = readOrder(ctx);
  if (hasTwoLengths(model) && !TWO_LENGTHS.includes(Number(order.duration))) {
    throw new Error(`${model} makes videos of ${TWO_LENGTHS.join(' or ')} seconds.`);
  }
  if (isOmni(model)) return buildOmniRequest(ctx, model);
  if (list) throw new Error(`${model} takes no reference images: give an image, and an image_tail.`);
  const fromImage = given(order.image) || given(order.image_tail);
  // Frames decide the ratio of a video that is made from them.
  const body = { ...extra, model_name: model, ...order, ...(fromImage ? {} : { aspect_ratio: ratio }) };
  // Models without sound do not know the field.
  if (sound === 'on') body.sound = sound;
  for (const name of ['image', 'image_tail', 'static_mask']) if (name in body) body[name] = placed(body[name]);
  const action = given(order.image_tail) ? 'first_tail_to_video' : fromImage ? 'image_to_video' : 'text_to_video';
  return submission(ctx, { kind: fromImage ? 'image2video' : 'text2video', body, action });
}

function submission(ctx, { kind, body, action }) {
  const callback = ctx.callbackUrl ? { callback_url: ctx.callbackUrl } : {};
  return {
    url: jobsUrl(ctx, kind),
    method: 'POST',
    headers: { Authorization: authorization(ctx), 'Content-Type': 'application/json' },
    body: { ...body, external_task_id: ctx.publicTaskId, ...callback },
    action,
  };
}

/** Frames and references in one list; a first frame decides the ratio. */
function buildOmniRequest(ctx, model) {
  const {
    prompt,
    mode,
    duration,
    aspect_ratio: ratio,
    sound,
    extra,
    image,
    image_tail,
    image_list = [],
  } = readOrder(ctx);
  if (!isText(prompt)) throw new Error('Please give a prompt.');
  if (model === 'kling-video-o1' && Number(duration) > O1_LENGTH.maximum) {
    throw new Error(`${model} makes videos of at most ${O1_LENGTH.maximum} seconds.`);
  }
  const frames = [
    ...(image ? [{ image_url: image, type: 'first_frame' }] : []),
    ...(image_tail ? [{ image_url: image_tail, type: 'end_frame' }] : []),
  ];
  const images = [...frames, ...image_list].map((item) => ({ ...item, image_url: placed(item.image_url) }));
  const isFramed = images.some(({ type }) => type === 'first_frame');
  const body = { ...extra, model_name: model, prompt, mode, duration, ...(isFramed ? {} : { aspect_ratio: ratio }) };
  if (images.length > 0) body.image_list = images;
  if (sound === 'on') body.sound = sound;
  return submission(ctx, { kind: 'omni-video', body, action: 'omni_video' });
}

// ------------------------------------------------------------------------------------------------------------- the answers

/** Answers are `{code, message, request_id, data}`; any code but 0 is an error. */
function findJob(body) {
  return isObject(body) && body.code === 0 && isObject(body.data) ? body.data : undefined;
}

function readMessage(body) {
  return isObject(body) && isText(body.message) && body.code !== 0 ? `${body.message} (code ${body.code})` : '';
}

export function parseSubmitResponse(_ctx, { body }) {
  const job = findJob(body);
  if (!job || !isText(job.task_id))
    throw new Error(`The answer holds no task${readMessage(body) && `: ${readMessage(body)}`}.`);
  const result = readJob(body);
  const ended = result.status === 'SUCCESS' || result.status === 'FAILURE';
  return { taskId: job.task_id, taskData: body, ...(ended ? { immediate: result } : {}) };
}

/** Codes of the vendor, which uses 429 for most of them. */
const REFUSALS = {
  1000: 'credential',
  1001: 'credential',
  1002: 'credential',
  1003: 'credential',
  1004: 'credential',
  1100: 'credential',
  1101: 'balance',
  1102: 'balance',
  1300: 'content',
  1301: 'content',
  1302: 'rate',
  1303: 'capacity',
  1304: 'credential',
};

export function parseSubmitError({ body }) {
  const kind = isObject(body) && Object.hasOwn(REFUSALS, body.code) ? REFUSALS[body.code] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

export function buildQueryRequest(ctx) {
  const kind = { text_to_video: 'text2video', omni_video: 'omni-video' }[ctx.action] ?? 'image2video';
  return {
    url: `${jobsUrl(ctx, kind)}/${encodeURIComponent(ctx.taskId)}`,
    headers: { Authorization: authorization(ctx) },
  };
}

export function parseTaskResult(_ctx, body) {
  return readJob(body);
}

function readVideos(body) {
  const result = findJob(body)?.task_result;
  return isObject(result) && Array.isArray(result.videos) ? result.videos.filter((video) => isText(video?.url)) : [];
}

function readJob(body) {
  const job = findJob(body);
  if (!job) return { status: 'UNKNOWN', reason: readMessage(body) || 'no task in the answer' };
  if (!Object.hasOwn(STATUSES, job.task_status)) {
    return { status: 'UNKNOWN', reason: `unknown status ${JSON.stringify(job.task_status)}` };
  }
  const status = STATUSES[job.task_status];
  if (status === 'FAILURE') {
    return { status, reason: isText(job.task_status_msg) ? job.task_status_msg : 'The video could not be generated.' };
  }
  if (status === 'SUCCESS' && readVideos(body).length === 0) {
    return { status: 'UNKNOWN', reason: 'the task succeeded without a video' };
  }
  return { status };
}

export function extractUsage(ctx) {
  const { duration, mode, sound } = readOrder(ctx);
  return { seconds: Number(duration), mode, sound: sound === 'on', units: countUnits(ctx, { duration, mode, sound }) };
}

function countUnits({ model, upstreamModel }, { duration, mode, sound }) {
  const name = upstreamModel || model;
  const list = name.endsWith('-master') ? UNITS_OF_MASTERS : /^kling-v(3|ideo)/.test(name) ? UNITS_OF_V3 : UNITS;
  return Math.ceil(Number(duration) / 5) * list[mode] * (sound === 'on' ? 2 : 1);
}

/** What the vendor has deducted. Older models do not tell. */
export function extractUsageOnComplete(_ctx, result, body) {
  const units = Number.parseFloat(findJob(body)?.final_unit_deduction);
  return result.status === 'SUCCESS' && units > 0 ? { units } : null;
}

const toKey = (index) => (index === 0 ? 'video' : `video-${index + 1}`);

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return readVideos(task.data).map((_video, index) => ({ key: toKey(index), type: 'video', mimeType: 'video/mp4' }));
}

/** Results lie at public addresses: no credential goes there. */
export function buildContentRequest(ctx) {
  const video = readVideos(ctx.data).find((_video, index) => toKey(index) === ctx.artifactKey);
  if (!video) throw new Error('artifact_not_found');
  return { url: video.url, method: ctx.clientRequest.method, credentialless: true };
}

// ----------------------------------------------------------------------------------------------------------- the protocols

/** `metadata` of a Responses request also holds the client's labels: only known members count. */
const withLabels = ({ metadata, ...request }) => ({ ...(isObject(metadata) ? metadata : {}), ...request });

/**
 * The prompt and first image of a Responses request: its texts in order, one a line; further fields
 * as in a video request.
 */
function decodeResponses(body) {
  const request = body.kind === 'json' && isObject(body.value) ? withLabels(body.value) : {};
  if (isText(request.input)) return { ...request, prompt: request.input };
  const parts = (Array.isArray(request.input) ? request.input : []).flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text' && isText(part.text)).map(({ text }) => text);
  const image = parts.find((part) => part?.type === 'input_image');
  return { ...request, prompt: texts.join('\n'), ...(image ? { image: image.image_url } : {}) };
}

const videoTag = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

export const protocols = {
  proto_video: {
    decodeRequest(ctx) {
      return { kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) };
    },
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      const [made] = readVideos(task.data);
      if (made && given(made.duration)) video.seconds = String(made.duration);
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest(ctx) {
      return { kind: 'submit', model: ctx.model, requestBody: normalize(decodeResponses(ctx.body)) };
    },
    renderEvents(ctx, task, previous) {
      const state = { status: task.status, progress: task.progress };
      if (task.status === 'FAILURE')
        return { events: [{ type: 'error', message: task.fail_reason }], done: true, state };
      if (task.status === 'SUCCESS') {
        const said = isObject(previous) && previous.status === 'SUCCESS';
        return { events: said ? [] : [{ type: 'output', data: videoTag(ctx) }], done: true, state };
      }
      const moved = !isObject(previous) || previous.status !== task.status || previous.progress !== task.progress;
      const progress = { type: 'progress', progress: Number.parseInt(task.progress, 10) || 0, message: task.status };
      return { events: moved ? [progress] : [], done: false, state };
    },
    renderFinal(ctx) {
      const text = { type: 'output_text', text: videoTag(ctx), annotations: [], logprobs: [] };
      return { output: [{ type: 'message', role: 'assistant', content: [text] }] };
    },
  },
};

// --------------------------------------------------------------------------------- the vendor's own endpoints, under /kling

const decode = (fields, usual = DEFAULT_MODEL) => {
  const model = firstGiven(fields.model_name, fields.model, usual);
  return { kind: 'submit', model, requestBody: normalize({ metadata: fields }) };
};

/** Error codes of the vendor by HTTP status. */
const ERROR_CODES = { 400: 1201, 401: 1002, 403: 1103, 404: 1203, 429: 1302, 503: 5001 };

export const native = {
  decodeText({ body }) {
    const { image: _image, image_tail: _tail, ...fields } = readFields(body);
    return decode(fields);
  },
  decodeImage({ body }) {
    const fields = readFields(body);
    if (!given(fields.image) && !given(fields.image_tail)) throw new Error('Please give an image or image_tail.');
    return decode(fields);
  },
  decodeOmni: ({ body }) => decode(readFields(body), 'kling-video-o1'),
  /** The vendor's last answer within its envelope; state and times are the gateway's. */
  presentTask(_ctx, task) {
    const job = findJob(task.data) || {};
    const status = Object.keys(STATUSES).find((name) => STATUSES[name] === task.status) || 'submitted';
    const data = {
      task_id: task.task_id,
      task_status: status,
      task_status_msg: task.fail_reason,
      created_at: task.created_at * 1000,
      updated_at: (task.updated_at || task.created_at) * 1000,
    };
    if (task.status === 'SUCCESS') data.task_result = job.task_result;
    return { code: 0, message: 'SUCCEED', request_id: task.task_id, data };
  },
  error(_ctx, error) {
    return { code: ERROR_CODES[error.httpStatus] || 5000, message: error.message, request_id: error.requestId };
  },
};
