// Doubao Seedance of Volcengine Ark: https://www.volcengine.com/docs/82379/1520757 and …/1521309.

const RESOLUTIONS = ['480p', '720p', '1080p', '4k'];
const TASKS = '/doubao/api/v3/contents/generations/tasks';

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));
const TOKENS = localized`Video tokens | 视频 token 数 | 動画のトークン数 | Tokens de vídeo | Video-Tokens | Tokens de vídeo`;
const LENGTH = localized`Video length (seconds) | 视频时长（秒） | 動画の長さ（秒） | Duración del vídeo (segundos) | Videolänge (Sekunden) | Duração do vídeo (segundos)`;
const SOUND = localized`Video with sound | 有声视频 | 音声付き動画 | Vídeo con sonido | Video mit Ton | Vídeo com som`;
const REFERENCE = localized`With a reference video | 带参考视频 | 参照動画あり | Con vídeo de referencia | Mit Referenzvideo | Com vídeo de referência`;
const OFFLINE = localized`Offline inference | 离线推理 | オフライン推論 | Inferencia diferida | Offline-Inferenz | Inferência offline`;
const RESOLUTION = localized`Video resolution | 视频分辨率 | 動画の解像度 | Resolución del vídeo | Videoauflösung | Resolução do vídeo`;

export const meta = {
  apiVersion: 1,
  key: 'doubao',
  name: 'Doubao Seedance',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Doubao Seedance: text, first and last frame, or references to video',
    zh: '火山方舟豆包 Seedance：文生视频、首尾帧生视频与参考生视频',
    ja: 'Doubao Seedance：テキスト、最初と最後のフレーム、参照素材から動画',
    es: 'Doubao Seedance: texto, primer y último fotograma, o referencias, a vídeo',
    de: 'Doubao Seedance: Text, erstes und letztes Bild oder Referenzen zu Video',
    pt: 'Doubao Seedance: texto, primeiro e último quadro, ou referências, para vídeo',
  },
  icon: 'Doubao.Color',
  sortPriority: 70,
  website: 'https://www.volcengine.com/docs/82379/1520757',
  baseUrl: 'https://ark.cn-beijing.volces.com',
  fetchMode: 'per_task',
  upstreams: ['vendor', 'new_api'],
  channelTypes: [54, 45],
  models: `doubao-seedance-2-5-260628 doubao-seedance-2-0-260128 doubao-seedance-2-0-fast-260128
    doubao-seedance-2-0-mini-260615 doubao-seedance-1-5-pro-251215 doubao-seedance-1-0-pro-250528
    doubao-seedance-1-0-pro-fast-251015 doubao-seedance-1-0-lite-t2v-250428 doubao-seedance-1-0-lite-i2v-250428
    doubao-seedance-1-0-lite-t2v doubao-seedance-1-0-lite-i2v`.split(/\s+/),
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // An Ark client reaches them with `<gateway>/doubao/api/v3` as its base address.
  routes: [
    { method: 'POST', path: TASKS, type: 'submit', decode: 'decodeSubmit', render: 'presentSubmitted' },
    { method: 'GET', path: `${TASKS}/:task_id`, type: 'query', render: 'presentTask' },
  ],
  usageSchema: {
    tokens: { type: 'number', unit: 'token', description: TOKENS },
    seconds: { type: 'number', unit: 'second', description: LENGTH },
    resolution: { enum: RESOLUTIONS, description: RESOLUTION },
    audio: { type: 'boolean', description: SOUND },
    video_input: { type: 'boolean', description: REFERENCE },
    offline: { type: 'boolean', description: OFFLINE },
  },
  usageExamples: [
    {
      label: '5 sec at 720p with sound',
      facts: { tokens: 108_900, seconds: 5, resolution: '720p', audio: true, video_input: false, offline: false },
    },
    {
      label: '10 sec at 1080p without sound',
      facts: { tokens: 488_025, seconds: 10, resolution: '1080p', audio: false, video_input: false, offline: false },
    },
    {
      label: '5 sec at 4k with a reference video',
      facts: { tokens: 1_749_600, seconds: 5, resolution: '4k', audio: true, video_input: true, offline: false },
    },
  ],
};
const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'];
const DEFAULT_SECONDS = 5;

// By the beginning of a model's name; all others last. `auto`: -1 lets the model choose the length.
const MODELS = [
  { name: 'doubao-seedance-1-0-lite', least: 2, most: 12, resolution: '720p', audio: false, auto: false },
  { name: 'doubao-seedance-1-0', least: 2, most: 12, resolution: '1080p', audio: false, auto: false },
  { name: 'doubao-seedance-1-5', least: 4, most: 12, resolution: '720p', audio: true, auto: true },
  { name: 'doubao-seedance-2-0', least: 4, most: 15, resolution: '720p', audio: true, auto: true },
  { name: 'doubao-seedance-2-5', least: 4, most: 30, resolution: '720p', audio: true, auto: true },
  { name: '', least: 2, most: 30, resolution: '720p', audio: true, auto: true },
];
const specFor = (model) => MODELS.find(({ name }) => model.startsWith(name));
const byModel = (range) => ({ models: Object.fromEntries(meta.models.map((name) => [name, range(specFor(name))])) });

export const vendorInfo = {
  labels: {
    tokens: localized`Tokens | Token | トークン | Tokens | Tokens | Tokens`,
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    resolution: localized`Resolution | 分辨率 | 解像度 | Resolución | Auflösung | Resolução`,
    audio: localized`Sound | 声音 | 音声 | Sonido | Ton | Som`,
    video_input: localized`Reference video | 参考视频 | 参照動画 | Vídeo de referencia | Referenzvideo | Vídeo de referência`,
    offline: localized`Offline | 离线 | オフライン | Diferido | Offline | Offline`,
  },
  keyUrl: 'https://console.volcengine.com/ark/region:ark+cn-beijing/apiKey',
  keyFormat: 'ark-…',
  ranges: {
    seconds: byModel(({ least, most }) => ({ minimum: least, maximum: most, whole: true })),
    audio: byModel(({ audio }) => (audio ? {} : null)),
    video_input: null,
    offline: null,
  },
};

/** Pixels of the largest frame of a resolution; ratios differ a little. */
const PIXELS = { '480p': 992 * 432, '720p': 1504 * 640, '1080p': 1920 * 1088, '4k': 3840 * 2176 };
const FRAMES_PER_SECOND = 24;
// Tokens are pixels × frames / 1024, one frame more than the seconds have. Reference videos count
// too: REFERENCE_SECONDS at most.
const countTokens = (resolution, seconds) => Math.ceil((PIXELS[resolution] * (FRAMES_PER_SECOND * seconds + 1)) / 1024);
const REFERENCE_SECONDS = 15;
// Without it an offline task may end after two days; the gateway gives a task up after one, and
// what then ends is billed to nobody.
const OFFLINE_SECONDS = 23 * 3600;
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
const toNameSet = (names) => new Set(names.split(/\s+/).map(stripSeparators));
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = toNameSet(`content prompt image first_frame input_reference last_frame last_image images
  resolution size ratio aspect_ratio duration seconds frames seed camera_fixed watermark generate_audio audio
  return_last_frame service_tier draft priority execution_expires_after metadata extra`);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));
const MAX_IMAGE_BYTES = 30 * 1024 * 1024;
const ENDED = { succeeded: 'SUCCESS', failed: 'FAILURE', cancelled: 'FAILURE', expired: 'FAILURE' };
const STATUSES = { queued: 'QUEUED', running: 'IN_PROGRESS', ...ENDED };
const ENDINGS = {
  failed: 'The video could not be generated.',
  cancelled: 'The task was canceled.',
  expired: 'The task has expired at Volcengine; please submit it again.',
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');

/** People also enter Ark's own path. Another gateway has the vendor's paths below `/doubao`. */
const tasksUrl = ({ baseUrl, upstream }) => {
  const root = baseUrl.replace(/\/+$/, '').replace(/\/api\/v3$/, '') + (upstream?.kind === 'new_api' ? '/doubao' : '');
  return `${root}/api/v3/contents/generations/tasks`;
};
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

/** A field that may be missing; `read` gives undefined for a value that breaks the rule. */
function readField([name, given], rule, read) {
  if (!isGiven(given)) return undefined;
  const value = read(given);
  if (value === undefined) throw new Error(`${name} must be ${rule}.`);
  return value;
}

const readText = (fields, name) =>
  readField([name, fields[name]], 'a string', (value) => (typeof value === 'string' ? value : undefined));

/** A form gives everything as text. */
const readFlag = (fields, name) =>
  readField([name, fields[name]], 'true or false', (value) =>
    [true, 'true'].includes(value) ? true : [false, 'false'].includes(value) ? false : undefined,
  );

const readWhole = (fields, name, [least, most]) =>
  readField([name, fields[name]], `a whole number from ${least} to ${most}`, (value) => {
    const number = Number(value);
    return Number.isInteger(number) && number >= least && number <= most ? number : undefined;
  });

const readChoice = (fields, name, choices) =>
  readField([name, fields[name]], `one of ${choices.join(', ')}`, (one) => (choices.includes(one) ? one : undefined));

const MEDIA = ['image_url', 'video_url', 'audio_url'];
const ROLES = ['first_frame', 'last_frame', 'reference_image', 'reference_video', 'reference_audio'];

/**
 * A URL, a data URL, an asset of the vendor, or `{ref}` of an uploaded file. OpenAI's clients wrap
 * an image into `{image_url}`.
 */
function readSource(name, given) {
  const value = isObject(given) && isGiven(given.image_url) ? given.image_url : given;
  const text = typeof value === 'string' ? value.trim() : '';
  // Its beginning tells, and the rest can be megabytes.
  if (/^(https?:\/\/|asset:\/\/|data:(image|audio|video)\/)/i.test(text.slice(0, 16))) return text;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be an http(s) URL, a data URL, or an uploaded file.`);
}

/** One item of the vendor's `content`, and nothing else in it. Responses call a task `resp_…`. */
function readItem(item, index) {
  const name = `content[${index}]`;
  if (isObject(item) && item.type === 'text') {
    if (typeof item.text !== 'string') throw new Error(`${name}.text must be a string.`);
    return { type: 'text', text: item.text };
  }
  if (isObject(item) && item.type === 'draft_task') {
    const id = textAt(objectAt(item, 'draft_task'), 'id');
    if (id === '') throw new Error(`${name}.draft_task.id must be the id of a task.`);
    return { type: 'draft_task', draft_task: { id: id.replace(/^resp_/, 'task_') } };
  }
  if (!isObject(item) || !MEDIA.includes(item.type))
    throw new Error(`${name}.type must be one of text, ${MEDIA.join(', ')}, draft_task.`);
  const source = readSource(`${name}.${item.type}.url`, objectAt(item, item.type).url);
  const role = readChoice(item, 'role', ROLES);
  return { type: item.type, [item.type]: { url: source }, ...(role === undefined ? {} : { role }) };
}

/** Prompt and images of OpenAI's clients as the vendor's `content`. */
function composeContent(fields) {
  const content = [];
  const prompt = readText(fields, 'prompt');
  if (prompt !== undefined && prompt.trim() !== '') content.push({ type: 'text', text: prompt });
  const add = (name, given, role) => {
    if (isGiven(given)) content.push({ type: 'image_url', image_url: { url: readSource(name, given) }, role });
  };
  add('image', fields.image ?? fields.first_frame ?? fields.input_reference, 'first_frame');
  add('last_frame', fields.last_frame ?? fields.last_image, 'last_frame');
  const references = Array.isArray(fields.images) ? fields.images : [];
  for (const given of references) add('images', given, 'reference_image');
  return content;
}

/** "1280x720" as resolution and ratio. */
function readSize(fields) {
  const size = readText(fields, 'size');
  if (size === undefined) return {};
  if (/^\d+p$/i.test(size)) return { resolution: size.toLowerCase() };
  const match = /^([1-9]\d*)[x*]([1-9]\d*)$/i.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const side = Math.min(width, height);
  const distance = (name) => {
    const [across, down] = name.split(':').map(Number);
    return Math.abs(Math.log(width / height / (across / down)));
  };
  const fixed = RATIOS.filter((name) => name !== 'adaptive');
  return {
    resolution: side <= 480 ? '480p' : side <= 720 ? '720p' : side <= 1440 ? '1080p' : '4k',
    ratio: fixed.reduce((best, name) => (distance(name) < distance(best) ? name : best)),
  };
}

/** A member with members of its own; in a form it is JSON text. */
function readMembers(value, name) {
  if (!isGiven(value)) return {};
  try {
    const read = typeof value === 'string' ? JSON.parse(value) : value;
    if (isObject(read)) return read;
  } catch {}
  throw new Error(`${name} is a JSON object.`);
}

/**
 * The fields of a request with those of its `metadata`; as `extra` what of these this plugin does
 * not read.
 */
function withMetadata({ metadata, extra, ...fields }) {
  const named = readMembers(metadata, 'metadata');
  const more = Object.entries({ ...readMembers(extra, 'extra'), ...named });
  const passed = more.filter(([name, value]) => !isOwn(name) && isGiven(value));
  return { ...named, ...fields, extra: Object.fromEntries(passed) };
}

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(request) {
  const fields = withMetadata(request);
  const content = Array.isArray(fields.content) ? fields.content.map(readItem) : composeContent(fields);
  if (content.length === 0) throw new Error('Please give a prompt or an image.');
  const size = readSize(fields);
  const duration = isGiven(fields.duration) ? 'duration' : 'seconds';
  const resolution = readText(fields, 'resolution')?.toLowerCase() ?? size.resolution;
  const intent = {
    content,
    resolution: readChoice({ resolution }, 'resolution', RESOLUTIONS),
    ratio: readChoice(fields, 'ratio', RATIOS) ?? readChoice(fields, 'aspect_ratio', RATIOS) ?? size.ratio,
    duration: readWhole(fields, duration, [-1, 60]),
    seed: readWhole(fields, 'seed', [-1, 4_294_967_295]),
    camera_fixed: readFlag(fields, 'camera_fixed'),
    watermark: readFlag(fields, 'watermark'),
    generate_audio: readFlag(fields, 'generate_audio') ?? readFlag(fields, 'audio'),
    return_last_frame: readFlag(fields, 'return_last_frame'),
    // OpenAI's clients send `auto` as well, which is what Ark does without the field.
    service_tier: fields.service_tier === 'auto' ? undefined : readChoice(fields, 'service_tier', ['default', 'flex']),
    frames: readWhole(fields, 'frames', [1, 1000]),
    draft: readFlag(fields, 'draft'),
    priority: readWhole(fields, 'priority', [0, 100]),
  };
  if (Object.keys(fields.extra).length > 0) intent.extra = fields.extra;
  for (const name of Object.keys(intent)) if (intent[name] === undefined) delete intent[name];
  return intent;
}

/** The fields of a JSON, form or multipart body; files of a field that is repeated are a list. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  // OpenAI's clients write an image's address as `image[image_url]`.
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    const name = field.replace(/\[\]$/, '');
    if (name !== 'images') fields[name] = { ref };
    else fields.images = [...(Array.isArray(fields.images) ? fields.images : []), { ref }];
  }
  return fields;
}

/** A draft that this request makes a full video of, as `{id}` of a task of the gateway. */
const findDraft = ({ content }) => content.find(({ type }) => type === 'draft_task')?.draft_task;

/** The intent of a decoder. A draft goes to the channel of the account that made it. */
function readIntent(model, fields) {
  const requestBody = normalize(fields);
  const draft = findDraft(requestBody);
  return { kind: 'submit', model, requestBody, ...(draft ? { originTaskIds: [draft.id] } : {}) };
}

/** Seconds of a video by its frames, or as they are said, or as long as its draft. */
function readLength({ frames, duration }, origin) {
  if (frames !== undefined) return frames / FRAMES_PER_SECOND;
  return duration ?? (Number(objectAt(origin, 'data').duration) || DEFAULT_SECONDS);
}

/**
 * Reads the facts of the order; the bill is computed from them. Length and resolution are never
 * left to the vendor's defaults.
 */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const request = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const spec = specFor(model);
  const duration = readLength(request, ctx.originTasks?.[0]);
  const chosen = duration === -1 && spec.auto;
  const least = request.frames === undefined ? spec.least : 1;
  if (!chosen && (duration < least || duration > spec.most)) {
    const auto = spec.auto ? ', or -1 for a length that the model chooses' : '';
    throw new Error(`The length of a video of ${model} is from ${spec.least} to ${spec.most} seconds${auto}.`);
  }
  if (request.generate_audio === true && !spec.audio)
    throw new Error(`The model ${model} makes no sound; leave generate_audio out.`);
  const resolution = request.resolution ?? (request.draft ? '480p' : spec.resolution);
  const audio = spec.audio && request.generate_audio !== false;
  // What a model that is not known here does with the field is not known either.
  const speaks = spec.audio && (spec.name !== '' || request.generate_audio !== undefined);
  return { model, request, duration, resolution, audio, speaks, longest: chosen ? spec.most : duration };
}

const placeholder = (source) =>
  isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_IMAGE_BYTES } : source;

/** The vendor's id of a draft of the same user. */
function draftAtVendor({ originTasks = [] }, id) {
  const origin = originTasks.find(({ taskId }) => taskId === id);
  if (!origin) throw new Error('The draft can be named on /v1/videos, /v1/responses and the paths under /doubao.');
  return origin.upstreamTaskId;
}

function toAction(content) {
  if (findDraft({ content })) return 'remix';
  const roles = content.filter(({ type }) => type !== 'text').map(({ role }) => role);
  if (roles.length === 0) return 'text_to_video';
  if (roles.some((role) => role?.startsWith('reference_'))) return 'reference_to_video';
  return roles.includes('last_frame') ? 'first_tail_to_video' : 'image_to_video';
}

export function buildSubmitRequest(ctx) {
  const { model, request, duration, resolution, audio, speaks } = plan(ctx);
  const { extra, ...order } = request;
  const content = request.content.map((item) => {
    if (item.type === 'draft_task') return { ...item, draft_task: { id: draftAtVendor(ctx, item.draft_task.id) } };
    return item.type === 'text' ? item : { ...item, [item.type]: { url: placeholder(item[item.type].url) } };
  });
  // The vendor takes these from the draft, and frames outrank the duration.
  const inherits = findDraft(request) !== undefined;
  const length = inherits || request.frames !== undefined ? {} : { duration };
  const sound = speaks && !(inherits && request.generate_audio === undefined) ? audio : undefined;
  // Members that are undefined are not sent.
  const more = { content, resolution, ...length, generate_audio: sound };
  if (ctx.callbackUrl) more.callback_url = ctx.callbackUrl;
  if (request.service_tier === 'flex') more.execution_expires_after = OFFLINE_SECONDS;
  return {
    url: tasksUrl(ctx),
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    body: { ...extra, model, ...order, ...more },
    action: toAction(content),
  };
}

/** What the vendor says went wrong, in its own words. */
function readMessage(body) {
  const error = objectAt(body, 'error');
  const [message, code] = [textAt(error, 'message'), textAt(error, 'code')];
  return message && code ? `${message} (${code})` : message || code;
}

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'id');
  if (taskId === '') throw new Error(readMessage(body) || 'Volcengine Ark answered without a task.');
  return { taskId, taskData: body };
}

/** What the vendor's codes mean. */
const REFUSALS = [
  [/RateLimitExceeded(\.\w+)?$|^RequestBurstTooFast$/, 'rate'],
  [/^(QuotaExceeded|InflightBatchsizeExceeded)$/, 'capacity'],
  [/^ServerOverloaded$/, 'vendor_busy'],
  [/^(AccountOverdueError|(OperationDenied\.)?ServiceOverdue|QuotaExceeded\.\w+|SetLimitExceeded)$/, 'balance'],
  [/^(AuthenticationError|AccessDenied|OperationDenied\.ServiceNotOpen)$/, 'credential'],
  [/SensitiveContentDetected|RiskDetection$/, 'content'],
];

export function parseSubmitError({ body }) {
  const [, kind] = REFUSALS.find(([code]) => code.test(textAt(objectAt(body, 'error'), 'code'))) ?? [];
  // One code says that too many tasks are there, and that what was free is used up.
  const isUsedUp = kind === 'capacity' && /free trial/i.test(readMessage(body));
  return kind ? { kind: isUsedUp ? 'balance' : kind, message: readMessage(body) } : null;
}

export function buildQueryRequest(ctx) {
  return { url: `${tasksUrl(ctx)}/${encodeURIComponent(ctx.taskId)}`, headers: bearer(ctx) };
}

/** What is not known is said to be unknown, and so is a success without a video. */
export function parseTaskResult(_ctx, body) {
  const named = textAt(body, 'status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) };
  const status = STATUSES[named];
  if (status === 'FAILURE') return { status, reason: readMessage(body) || ENDINGS[named] };
  if (status !== 'SUCCESS') return { status };
  const url = textAt(objectAt(body, 'content'), 'video_url');
  return url === '' ? { status: 'UNKNOWN', reason: 'Volcengine Ark names no video.' } : { status, url };
}

/** An estimate that does not fall short: the longest video where the model chooses the length. */
export function extractUsage(ctx) {
  const { request, resolution, audio, longest } = plan(ctx);
  const video_input = request.content.some(({ type }) => type === 'video_url');
  const tokens = countTokens(resolution, longest + (video_input ? REFERENCE_SECONDS : 0));
  return { tokens, seconds: longest, resolution, audio, video_input, offline: request.service_tier === 'flex' };
}

/** What the vendor bills. */
function readUsage(body) {
  const facts = {};
  const tokens = Number(objectAt(body, 'usage').completion_tokens);
  if (tokens > 0) facts.tokens = tokens;
  const { duration, resolution, generate_audio: audio } = isObject(body) ? body : {};
  if (Number(duration) > 0) facts.seconds = Number(duration);
  if (RESOLUTIONS.includes(resolution)) facts.resolution = resolution;
  if (typeof audio === 'boolean') facts.audio = audio;
  return facts;
}

export const extractUsageOnComplete = (_ctx, { status }, body) => (status === 'SUCCESS' ? readUsage(body) : null);

/** The vendor's `content` has each under its key and `_url`. */
const ARTIFACTS = [
  { key: 'video', type: 'video', mimeType: 'video/mp4' },
  { key: 'last_frame', type: 'image', mimeType: 'image/png' },
];

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return ARTIFACTS.filter(({ key }) => textAt(objectAt(task.data, 'content'), `${key}_url`) !== '');
}

/** The addresses are signed for 24 hours and public until then. */
export function buildContentRequest(ctx) {
  const url = textAt(objectAt(ctx.data, 'content'), `${ctx.artifactKey}_url`);
  if (url === '' || !ARTIFACTS.some(({ key }) => key === ctx.artifactKey)) throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

/** The vendor's word for a status of the gateway. */
const toStatusName = (status) => Object.keys(STATUSES).find((name) => STATUSES[name] === status) ?? 'queued';

/** `metadata` of a Responses request also holds the client's labels: only known members count. */
const withLabels = ({ metadata, ...request }) => ({ ...(isObject(metadata) ? metadata : {}), ...request });

/** A Responses request as fields: its texts, one a line, are the prompt, its images the frames. */
function decodeResponses(body) {
  const { input, ...fields } = body.kind === 'json' && isObject(body.value) ? withLabels(body.value) : {};
  const items = typeof input === 'string' ? [{ content: input }] : Array.isArray(input) ? input : [];
  const parts = items.flatMap((item) =>
    Array.isArray(item?.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text' && isGiven(part.text)).map(({ text }) => text);
  const images = parts.filter((part) => part?.type === 'input_image').map(({ image_url }) => image_url);
  if (texts.length > 0) fields.prompt = texts.join('\n');
  for (const [index, name] of ['image', 'last_frame'].entries())
    if (isGiven(images[index])) fields[name] = images[index];
  return fields;
}

const videoTag = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => readIntent(ctx.model, readFields(ctx.body)),
    render(_ctx, task) {
      const { seconds, resolution } = readUsage(task.data);
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (seconds !== undefined) video.seconds = String(seconds);
      if (resolution !== undefined) video.metadata = { resolution };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest: (ctx) => readIntent(ctx.model, decodeResponses(ctx.body)),
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

export const native = {
  decodeSubmit(ctx) {
    const fields = readFields(ctx.body);
    if (typeof fields.model !== 'string' || fields.model === '') throw new Error('Please name the model.');
    return readIntent(fields.model, { metadata: fields });
  },
  presentSubmitted: (_ctx, task) => ({ id: task.task_id }),
  /** The vendor's latest answer under the gateway's id and verdict. */
  presentTask(_ctx, task) {
    const data = isObject(task.data) ? task.data : {};
    const named = STATUSES[data.status] === task.status ? data.status : toStatusName(task.status);
    const seen = { created_at: task.created_at, ...data, id: task.task_id, model: task.model, status: named };
    if (task.status === 'FAILURE' && !isObject(data.error))
      seen.error = { code: 'TaskFailed', message: task.fail_reason };
    return seen;
  },
  error: (_ctx, error) => ({ error: { code: error.code, message: error.message, type: 'Error' } }),
};
