// MiniMax Hailuo. The vendor tells only the id of the finished file; its address has to be asked
// for with a second request. A hook has no network, so the round that sees the success keeps the
// file's id as state, and the next round asks for the file instead. Written from
// https://platform.minimax.io/docs/api-reference/video-generation-intro.

const RESOLUTIONS = ['512P', '720P', '768P', '1080P'];
const SIX = [6];
/**
 * What each model makes: lengths by resolution, the first resolution and the first length being the
 * defaults. `first`: a first frame
 * is 'needed', 'allowed' or 'refused'. `last`: a last frame is allowed. `subject`: a portrait is
 * needed.
 */
const MODELS = {
  'MiniMax-Hailuo-2.3': { lengths: { '768P': [6, 10], '1080P': SIX }, first: 'allowed' },
  'MiniMax-Hailuo-2.3-Fast': { lengths: { '768P': [6, 10], '1080P': SIX }, first: 'needed' },
  'MiniMax-Hailuo-02': { lengths: { '768P': [6, 10], '1080P': SIX, '512P': [6, 10] }, first: 'allowed', last: true },
  'T2V-01-Director': { lengths: { '720P': SIX }, first: 'refused' },
  'T2V-01': { lengths: { '720P': SIX }, first: 'refused' },
  'I2V-01-Director': { lengths: { '720P': SIX }, first: 'needed' },
  'I2V-01-live': { lengths: { '720P': SIX }, first: 'needed' },
  'I2V-01': { lengths: { '720P': SIX }, first: 'needed' },
  'S2V-01': { lengths: { '720P': SIX }, first: 'refused', subject: true },
};

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));
const LENGTH = localized`Video length (seconds) | 视频时长（秒） | 動画の長さ（秒） | Duración del vídeo (segundos) | Videolänge (Sekunden) | Duração do vídeo (segundos)`;
const RESOLUTION = localized`Video resolution | 视频分辨率 | 動画の解像度 | Resolución del vídeo | Videoauflösung | Resolução do vídeo`;

export const meta = {
  apiVersion: 1,
  key: 'hailuo',
  name: 'MiniMax Hailuo',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'MiniMax Hailuo: text, first and last frame, or a person to video',
    zh: 'MiniMax 海螺视频：文生视频、首尾帧生视频与主体参考生视频',
    ja: 'MiniMax Hailuo：テキスト、最初と最後のフレーム、人物から動画',
    es: 'MiniMax Hailuo: texto, primer y último fotograma, o una persona, a vídeo',
    de: 'MiniMax Hailuo: Text, erstes und letztes Bild oder eine Person zu Video',
    pt: 'MiniMax Hailuo: texto, primeiro e último quadro, ou uma pessoa, para vídeo',
  },
  icon: 'Hailuo.Color',
  sortPriority: 50,
  website: 'https://platform.minimax.io/docs/api-reference/video-generation-intro',
  baseUrl: 'https://api.minimax.io',
  fetchMode: 'per_task',
  channelTypes: [35],
  models: Object.keys(MODELS),
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // A MiniMax client reaches them with `<gateway>/minimax` as its base address. A finished task's
  // file has the task's own id.
  routes: [
    {
      method: 'POST',
      path: '/minimax/v1/video_generation',
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentSubmitted',
    },
    {
      method: 'GET',
      path: '/minimax/v1/query/video_generation',
      type: 'dynamic',
      decode: 'decodeTaskQuery',
      render: 'presentTask',
    },
    {
      method: 'GET',
      path: '/minimax/v1/files/retrieve',
      type: 'dynamic',
      decode: 'decodeFileQuery',
      render: 'presentFile',
    },
  ],
  usageSchema: {
    seconds: { type: 'number', unit: 'second', description: LENGTH },
    resolution: { enum: RESOLUTIONS, description: RESOLUTION },
  },
  usageExamples: [
    { label: '6 sec at 768P', facts: { seconds: 6, resolution: '768P' } },
    { label: '10 sec at 768P', facts: { seconds: 10, resolution: '768P' } },
    { label: '6 sec at 1080P', facts: { seconds: 6, resolution: '1080P' } },
  ],
};

const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

const named = (is) => Object.keys(MODELS).filter((model) => is(MODELS[model]));

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    resolution: localized`Resolution | 分辨率 | 解像度 | Resolución | Auflösung | Resolução`,
    image: localized`First frame | 首帧 | 開始フレーム | Fotograma inicial | Startbild | Quadro inicial`,
    subject: localized`Person | 人物 | 人物 | Persona | Person | Pessoa`,
  },
  keyUrl: 'https://platform.minimax.io/user-center/basic-information/interface-key',
  keyFormat: ['sk-api-…', 'eyJ…'],
  inputs: {
    image: { type: 'image', required: true, models: named(({ first }) => first === 'needed') },
    subject: { type: 'image', required: true, models: named(({ subject }) => subject) },
  },
  ranges: {
    seconds: byModel(({ lengths }) => ({ values: [...new Set(Object.values(lengths).flat())] })),
    resolution: byModel(({ lengths }) => ({ values: Object.keys(lengths) })),
  },
};

/** A model that a channel maps to and that is newer than this table: the vendor judges the rest. */
const UNLISTED = {
  lengths: { '768P': [6, 10], '1080P': [6, 10], '720P': [6, 10], '512P': [6, 10] },
  first: 'allowed',
  last: true,
};

/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = new Set(
  `prompt first_frame_image first_frame image input_reference last_frame_image last_frame subject subject_reference
  duration seconds resolution size prompt_optimizer fast_pretreatment aigc_watermark metadata extra`
    .split(/\s+/)
    .map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));

const MAX_PROMPT = 2000;
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;

const STATUSES = {
  Preparing: 'SUBMITTED',
  Queueing: 'QUEUED',
  Processing: 'IN_PROGRESS',
  Success: 'SUCCESS',
  Fail: 'FAILURE',
};
/**
 * Codes that end a task whatever its status: 1026 the prompt, 1027 the video has content that is
 * not allowed.
 */
const REFUSALS = [1026, 1027];

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
/** Ids come as texts or as numbers. */
const textAt = (value, name) => {
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === 'string' || typeof found === 'number' ? String(found).trim() : '';
};

const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
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

/**
 * A URL, a data URL, or `{ref}` of an uploaded file. OpenAI's clients wrap the first two into
 * `{image_url}`.
 */
function readImage(fields, names) {
  const name = names.find((candidate) => isGiven(fields[candidate]));
  if (name === undefined) return undefined;
  const value = isObject(fields[name]) && isGiven(fields[name].image_url) ? fields[name].image_url : fields[name];
  if (typeof value === 'string' && /^(https?:\/\/|data:image\/)/i.test(value.trim().slice(0, 16))) return value.trim();
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be an http(s) URL, a data URL of an image, or an uploaded file.`);
}

/** The vendor wraps the portrait: `[{type: 'character', image: [url]}]`. */
function unwrapSubject(value) {
  const [subject] = Array.isArray(value) ? value : [value];
  const image = isObject(subject) && isGiven(subject.image) ? subject.image : subject;
  return Array.isArray(image) ? image[0] : image;
}

/** The vendor's resolution that is nearest to "1280x720" or to "720P". */
function resolutionOfSize(size) {
  if (/^\d+p$/i.test(size)) return size.toUpperCase();
  const match = /^(\d+)[x*](\d+)$/i.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const side = Math.min(Number(match[1]), Number(match[2]));
  return side <= 512 ? '512P' : side <= 768 ? '768P' : '1080P';
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
  if ([request.images].flat().some(isGiven)) throw new Error('images are not taken: give one as image.');
  const seconds = isGiven(fields.duration) ? fields.duration : fields.seconds;
  const duration = isGiven(seconds) ? Number(seconds) : undefined;
  if (duration !== undefined && !Number.isInteger(duration)) {
    throw new Error('The length of a video is a whole number of seconds.');
  }
  const prompt = readText(fields, 'prompt');
  if (prompt !== undefined && [...prompt].length > MAX_PROMPT) {
    throw new Error(`The prompt may have at most ${MAX_PROMPT} characters.`);
  }
  const size = readText(fields, 'size');
  const intent = {
    prompt,
    first_frame_image: readImage(fields, ['first_frame_image', 'first_frame', 'image', 'input_reference']),
    last_frame_image: readImage(fields, ['last_frame_image', 'last_frame']),
    subject: readImage({ subject: unwrapSubject(fields.subject ?? fields.subject_reference) }, ['subject']),
    duration,
    resolution: readText(fields, 'resolution')?.toUpperCase(),
    // Kept apart from `resolution`: it is a wish, and a model that renders 720P alone still fulfils
    // it.
    size: size === undefined ? undefined : resolutionOfSize(size),
    prompt_optimizer: readFlag(fields, 'prompt_optimizer'),
    fast_pretreatment: readFlag(fields, 'fast_pretreatment'),
    aigc_watermark: readFlag(fields, 'aigc_watermark'),
  };
  if (Object.keys(fields.extra).length > 0) intent.extra = fields.extra;
  for (const name of Object.keys(intent)) if (intent[name] === undefined) delete intent[name];
  return intent;
}

/** The fields of a JSON, form or multipart body; a file stands under the name of its field. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  // OpenAI's clients write an image's address as `image[image_url]`.
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) fields[field] = { ref };
  return fields;
}

function chooseResolution(model, lengths, { resolution, size }) {
  const offered = Object.keys(lengths);
  if (resolution === undefined) return offered.includes(size) ? size : offered[0];
  if (!offered.includes(resolution)) throw new Error(`The resolution of ${model} is one of ${offered.join(', ')}.`);
  return resolution;
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const request = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const spec = MODELS[model] ?? UNLISTED;
  const { prompt = '', first_frame_image: first, last_frame_image: last, subject } = request;
  if (first === undefined && last === undefined && prompt.trim() === '') throw new Error('Please give a prompt.');
  if (spec.first === 'needed' && first === undefined) throw new Error(`The model ${model} needs a first_frame_image.`);
  if (spec.first === 'refused' && first !== undefined)
    throw new Error(`The model ${model} takes no first_frame_image.`);
  if (!spec.last && last !== undefined) throw new Error(`The model ${model} takes no last_frame_image.`);
  if (spec.subject && subject === undefined) throw new Error(`The model ${model} needs a subject_reference.`);
  if (!spec.subject && subject !== undefined) throw new Error(`The model ${model} takes no subject_reference.`);
  const resolution = chooseResolution(model, spec.lengths, request);
  if (resolution === '512P' && (first === undefined || last !== undefined)) {
    throw new Error('512P needs a first_frame_image and takes no last_frame_image.');
  }
  const lengths = spec.lengths[resolution];
  const seconds = request.duration ?? lengths[0];
  if (!lengths.includes(seconds)) {
    throw new Error(`The length of a ${resolution} video of ${model} is ${lengths.join(' or ')} seconds.`);
  }
  return { model, request, resolution, seconds };
}

const readModel = (fields) => {
  if (typeof fields.model !== 'string' || fields.model === '') throw new Error('Please name the model.');
  return fields.model;
};

const toImage = (image) =>
  isObject(image) ? { __fileRef: image.ref, encoding: 'dataUrl', maxBytes: MAX_IMAGE_BYTES } : image;

function toAction({ first_frame_image, last_frame_image, subject }) {
  if (subject !== undefined) return 'reference_to_video';
  if (last_frame_image !== undefined) return 'first_tail_to_video';
  return first_frame_image === undefined ? 'text_to_video' : 'image_to_video';
}

export function buildSubmitRequest(ctx) {
  const { model, request, resolution, seconds } = plan(ctx);
  const { first_frame_image, last_frame_image, subject, size: _wish, extra, ...rest } = request;
  // Members that are undefined are not sent.
  const body = {
    ...extra,
    model,
    ...rest,
    first_frame_image: toImage(first_frame_image),
    last_frame_image: toImage(last_frame_image),
    subject_reference: subject === undefined ? undefined : [{ type: 'character', image: [toImage(subject)] }],
    duration: seconds,
    resolution,
    callback_url: ctx.callbackUrl,
  };
  return {
    url: `${apiUrl(ctx)}/video_generation`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    body,
    action: toAction(request),
  };
}

/** Errors come with HTTP 200: `base_resp` tells. */
const readCode = (body) => Number(objectAt(body, 'base_resp').status_code ?? 0);
const readMessage = (body) => {
  const message = textAt(objectAt(body, 'base_resp'), 'status_msg');
  return readCode(body) === 0 ? '' : `${message || 'MiniMax refused'} (${readCode(body)})`;
};

export function parseSubmitResponse(_ctx, response) {
  const { body } = response;
  const taskId = textAt(body, 'task_id');
  if (taskId === '' || readCode(body) !== 0) throw new Error(readMessage(body) || 'MiniMax answered without a task.');
  return { taskId, taskData: body };
}

/** What the vendor's codes mean. */
const MEANINGS = {
  ...{ 1002: 'rate', 1039: 'rate', 2045: 'rate', 1041: 'capacity', 1008: 'balance', 2056: 'balance' },
  ...{ 1004: 'credential', 2049: 'credential', 1026: 'content', 1027: 'content' },
};

export function parseSubmitError({ body }) {
  // An answer that names a task may have made it.
  const isKnown = textAt(body, 'task_id') === '' && Object.hasOwn(MEANINGS, readCode(body));
  const kind = isKnown ? MEANINGS[readCode(body)] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

/** The id of the finished file, once a round has seen it. */
const readFileId = (ctx) => textAt(ctx.state, 'file_id');

export function buildQueryRequest(ctx) {
  const fileId = readFileId(ctx);
  const question =
    fileId === ''
      ? `query/video_generation?task_id=${encodeURIComponent(ctx.taskId)}`
      : `files/retrieve?file_id=${encodeURIComponent(fileId)}`;
  return { url: `${apiUrl(ctx)}/${question}`, headers: bearer(ctx) };
}

export function parseTaskResult(ctx, body) {
  return readFileId(ctx) === '' ? readTask(body) : readFile(body);
}

function readTask(body) {
  const named = textAt(body, 'status');
  if (named === 'Fail' || REFUSALS.includes(readCode(body))) {
    return { status: 'FAILURE', reason: readMessage(body) || 'The video could not be generated.' };
  }
  if (readCode(body) !== 0 || !Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) };
  if (named !== 'Success') return { status: STATUSES[named] };
  const file_id = textAt(body, 'file_id');
  if (file_id === '') return { status: 'UNKNOWN', reason: 'MiniMax names no file.' };
  // Not finished for the gateway until the file's address is known.
  return { status: 'IN_PROGRESS', progress: '99%', state: { file_id, ...readMade(body) } };
}

/**
 * What the vendor tells of the finished video, as facts. Only this answer tells, not the one about
 * the file.
 */
function readMade(body) {
  const side = Math.min(Number(body.video_width), Number(body.video_height));
  const facts = {};
  if (Number(body.duration) > 0) facts.seconds = Number(body.duration);
  if (RESOLUTIONS.includes(`${side}P`)) facts.resolution = `${side}P`;
  return facts;
}

function readFile(body) {
  const url = textAt(objectAt(body, 'file'), 'download_url');
  if (readCode(body) !== 0 || url === '') return { status: 'UNKNOWN', reason: readMessage(body) };
  return { status: 'SUCCESS', url };
}

export function extractUsage(ctx) {
  const { seconds, resolution } = plan(ctx);
  return { seconds, resolution };
}

export function extractUsageOnComplete(ctx, result) {
  if (result.status !== 'SUCCESS' || !isObject(ctx.state)) return null;
  const { seconds, resolution } = ctx.state;
  return { ...(seconds ? { seconds } : {}), ...(resolution ? { resolution } : {}) };
}

export function listArtifacts(task) {
  const done = task.status === 'SUCCESS' && textAt(objectAt(task.data, 'file'), 'download_url') !== '';
  return done ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

/** The address is signed for some hours and public until then. */
export function buildContentRequest(ctx) {
  const url = textAt(objectAt(ctx.data, 'file'), 'download_url');
  if (ctx.artifactKey !== 'video' || url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

const NAMES = {
  NOT_START: 'Preparing',
  SUBMITTED: 'Preparing',
  QUEUED: 'Queueing',
  IN_PROGRESS: 'Processing',
  SUCCESS: 'Success',
  FAILURE: 'Fail',
};
const FINE = { status_code: 0, status_msg: 'success' };

/** One id of the query; the vendor's clients ask for one task at a time. */
function decodeQuery(ctx, name) {
  const id = (ctx.query[name] ?? [''])[0];
  if (id.trim() === '') throw new Error(`Please give a ${name}.`);
  return { kind: 'query', taskIds: [id] };
}

/** `metadata` of a Responses request also holds the client's labels: only known members count. */
const withLabels = ({ metadata, ...request }) => ({ ...(isObject(metadata) ? metadata : {}), ...request });

/**
 * A Responses request as fields: its texts in order, one a line, are the prompt, its images the
 * frames; further fields as in a video request.
 */
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

export const native = {
  decodeSubmit(ctx) {
    const fields = readFields(ctx.body);
    return { kind: 'submit', model: readModel(fields), requestBody: normalize({ metadata: fields }) };
  },
  decodeTaskQuery: (ctx) => decodeQuery(ctx, 'task_id'),
  decodeFileQuery: (ctx) => decodeQuery(ctx, 'file_id'),
  presentSubmitted(_ctx, task) {
    return { task_id: task.task_id, base_resp: FINE };
  },
  presentTask(_ctx, tasks) {
    const [task] = tasks;
    const seen = { task_id: task.task_id, status: NAMES[task.status], base_resp: FINE };
    if (task.status === 'SUCCESS') seen.file_id = task.task_id;
    if (task.status === 'FAILURE') seen.base_resp = { status_code: 1000, status_msg: task.fail_reason };
    return seen;
  },
  presentFile(_ctx, tasks) {
    const [task] = tasks;
    if (task.status !== 'SUCCESS')
      return { base_resp: { status_code: 2013, status_msg: 'The file is not there yet.' } };
    return { file: { ...objectAt(task.data, 'file'), file_id: task.task_id }, base_resp: FINE };
  },
  error(_ctx, error) {
    return { base_resp: { status_code: error.httpStatus, status_msg: error.message } };
  },
};
