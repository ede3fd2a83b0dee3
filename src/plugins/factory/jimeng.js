// Jimeng video generation through Volcengine's visual API. Every request is a signed POST to one
// address, told apart by `Action`. The channel's key is "ACCESS_KEY|SECRET_KEY", or `sk-…` of
// another gateway that has these paths. Written from https://www.volcengine.com/docs/85621/1544774
// and its neighbours.

export const meta = {
  apiVersion: 1,
  key: 'jimeng',
  name: 'Jimeng',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Volcengine Jimeng: text, or first and last frame to video',
    zh: '火山引擎即梦：文生视频与首尾帧生视频',
    ja: 'Volcengine Jimeng：テキスト、最初と最後のフレームから動画',
    es: 'Volcengine Jimeng: texto, o primer y último fotograma, a vídeo',
    de: 'Volcengine Jimeng: Text oder erstes und letztes Bild zu Video',
    pt: 'Volcengine Jimeng: texto, ou primeiro e último quadro, para vídeo',
  },
  icon: 'Jimeng.Color',
  sortPriority: 40,
  website: 'https://www.volcengine.com/docs/85621/1544774',
  baseUrl: 'https://visual.volcengineapi.com',
  fetchMode: 'per_task',
  channelTypes: [51],
  models: [
    'jimeng-video-3.0',
    'jimeng-video-3.0-1080p',
    'jimeng-video-3.0-pro',
    'jimeng_t2v_v30',
    'jimeng_i2v_first_v30',
    'jimeng_i2v_first_tail_v30',
    'jimeng_t2v_v30_1080p',
    'jimeng_i2v_first_v30_1080',
    'jimeng_i2v_first_tail_v30_1080',
    'jimeng_ti2v_v30_pro',
    'jimeng_vgfm_t2v_l20',
  ],
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // A Volcengine client reaches it with `<gateway>/jimeng/` as its host; `Action` says whether it
  // submits or asks.
  routes: [{ method: 'POST', path: '/jimeng/', type: 'dynamic', decode: 'decodeAction', render: 'presentAction' }],
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
      enum: ['720P', '1080P'],
      description: {
        en: 'Video resolution',
        zh: '视频分辨率',
        ja: '動画の解像度',
        es: 'Resolución del vídeo',
        de: 'Videoauflösung',
        pt: 'Resolução do vídeo',
      },
    },
  },
  usageExamples: [
    { label: '5 sec at 720P', facts: { seconds: 5, resolution: '720P' } },
    { label: '10 sec at 1080P', facts: { seconds: 10, resolution: '1080P' } },
  ],
};

/** The vendor counts frames: 24 a second, and one more. */
const FRAMES = { 5: 121, 10: 241 };

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    image: {
      en: 'First frame',
      zh: '首帧',
      ja: '開始フレーム',
      es: 'Fotograma inicial',
      de: 'Startbild',
      pt: 'Quadro inicial',
    },
    last_image: {
      en: 'Last frame',
      zh: '尾帧',
      ja: '終了フレーム',
      es: 'Fotograma final',
      de: 'Endbild',
      pt: 'Quadro final',
    },
  },
  keyUrl: 'https://console.volcengine.com/iam/keymanage',
  // `sk-…` is of another gateway.
  keyFormat: ['ACCESS_KEY|SECRET_KEY', 'sk-…'],
  inputs: {
    image: { type: 'image', required: true, models: meta.models.filter((model) => model.includes('i2v_first')) },
    last_image: { type: 'image', required: true, models: meta.models.filter((model) => model.includes('tail')) },
  },
  // The model decides the resolution.
  ranges: { seconds: { values: Object.keys(FRAMES).map(Number) }, resolution: null },
};

/**
 * The vendor has a name (`req_key`) for each number of images; these models choose it by the images
 * that a request has.
 */
const FAMILIES = {
  'jimeng-video-3.0': ['jimeng_t2v_v30', 'jimeng_i2v_first_v30', 'jimeng_i2v_first_tail_v30'],
  'jimeng-video-3.0-1080p': ['jimeng_t2v_v30_1080p', 'jimeng_i2v_first_v30_1080', 'jimeng_i2v_first_tail_v30_1080'],
  'jimeng-video-3.0-pro': ['jimeng_ti2v_v30_pro', 'jimeng_ti2v_v30_pro'],
};
/** Names that new-api's channels map to. */
FAMILIES.jimeng_v30 = FAMILIES['jimeng-video-3.0'];
FAMILIES.jimeng_v30_1080p = FAMILIES['jimeng-video-3.0-1080p'];
FAMILIES.jimeng_v30_pro = FAMILIES['jimeng-video-3.0-pro'];
/**
 * How many images each name takes, and what it renders. A name that is not here, from a channel's
 * mapping, is the vendor's to judge.
 */
const REQ_KEYS = {
  jimeng_t2v_v30: { images: [0], resolution: '720P' },
  jimeng_i2v_first_v30: { images: [1], resolution: '720P' },
  jimeng_i2v_first_tail_v30: { images: [2], resolution: '720P' },
  jimeng_t2v_v30_1080p: { images: [0], resolution: '1080P' },
  jimeng_i2v_first_v30_1080: { images: [1], resolution: '1080P' },
  jimeng_i2v_first_tail_v30_1080: { images: [2], resolution: '1080P' },
  jimeng_ti2v_v30_pro: { images: [0, 1], resolution: '1080P' },
  jimeng_vgfm_t2v_l20: { images: [0], resolution: '720P' },
};

const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];
const MAX_PROMPT = 800;
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = new Set(
  `prompt image input_reference first_frame last_image last_frame image_urls binary_data_base64 images frames
  duration seconds aspect_ratio ratio size seed metadata extra`
    .split(/\s+/)
    .map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));

const STATUSES = {
  in_queue: 'QUEUED',
  generating: 'IN_PROGRESS',
  done: 'SUCCESS',
  not_found: 'FAILURE',
  expired: 'FAILURE',
};
const ENDINGS = {
  not_found: 'Jimeng can’t find the task, or no longer has it.',
  expired: 'The task has expired at Jimeng; please submit it again.',
};
const ACCEPTED = 10000;
/**
 * Codes that end a task: 502xx the images or parameters, 5041x and 5051x to 5059x the content. What
 * says "try again" (50429, 50430,
 * 50500, 50501) or speaks of the account is not among them.
 */
const isRefusal = (code) =>
  (code >= 50200 && code < 50300) || (code >= 50410 && code < 50429) || (code >= 50510 && code < 50600);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => {
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === 'string' || typeof found === 'number' ? String(found).trim() : '';
};

/**
 * Only the beginning is looked at: the engine tries an expression at every place of a text, and
 * data can be megabytes.
 */
const isAddress = (text) => /^https?:\/\//i.test(text.slice(0, 8));

function readText(fields, name) {
  const value = fields[name];
  if (!isGiven(value)) return undefined;
  if (typeof value !== 'string') throw new Error(`${name} must be a string.`);
  return value;
}

/**
 * Images in order, first frame before last frame: URLs, data URLs or plain base64, never both kinds
 * in one request.
 */
function readImages(fields) {
  const single = [
    fields.image ?? fields.input_reference ?? fields.first_frame,
    fields.last_image ?? fields.last_frame,
  ].filter(isGiven);
  const lists = [fields.image_urls, fields.binary_data_base64, fields.images].filter(Array.isArray);
  const images = [...lists.flat(), ...single].map((image) => {
    const value = isObject(image) && isGiven(image.image_url) ? image.image_url : image;
    if (isObject(value) && typeof value.ref === 'string') {
      // Its bytes would be put in after the request was signed.
      throw new Error('Jimeng takes no uploaded files; give the image as a URL or as base64 data.');
    }
    if (typeof value !== 'string') throw new Error('An image must be an http(s) URL, a data URL or base64 data.');
    const text = value.trim().replace(/^data:image\/[\w.+-]+;base64,/i, '');
    // Looking for a stranger is cheap with megabytes too; matching all of them is not.
    if (text === '' || (!isAddress(text) && /[^A-Za-z0-9+/=\r\n]/.test(text))) {
      throw new Error('An image must be an http(s) URL, a data URL or base64 data.');
    }
    return text;
  });
  if (images.length > 2) throw new Error('Jimeng takes at most two images: the first and the last frame.');
  const urls = images.filter(isAddress);
  if (urls.length > 0 && urls.length < images.length) {
    throw new Error('Please give all images as URLs, or all as base64 data.');
  }
  return urls.length > 0 ? { image_urls: urls } : { binary_data_base64: images };
}

function readSeconds(fields) {
  if (isGiven(fields.frames)) {
    const found = Object.keys(FRAMES).find((seconds) => FRAMES[seconds] === Number(fields.frames));
    if (found === undefined) throw new Error('frames must be 121 (5 seconds) or 241 (10 seconds).');
    return Number(found);
  }
  const given = isGiven(fields.duration) ? fields.duration : fields.seconds;
  const seconds = isGiven(given) ? Number(given) : 5;
  if (!Object.hasOwn(FRAMES, seconds)) throw new Error('The length of a video is 5 or 10 seconds.');
  return seconds;
}

function readRatio(fields) {
  const ratio = readText(fields, 'aspect_ratio') ?? readText(fields, 'ratio');
  if (ratio !== undefined) {
    if (!RATIOS.includes(ratio)) throw new Error(`The aspect_ratio is one of ${RATIOS.join(', ')}.`);
    return ratio;
  }
  const size = readText(fields, 'size');
  if (size === undefined) return undefined;
  const match = /^([1-9]\d*)[x*]([1-9]\d*)$/i.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const wanted = Number(match[1]) / Number(match[2]);
  const distance = (name) => {
    const [width, height] = name.split(':').map(Number);
    return Math.abs(Math.log(wanted / (width / height)));
  };
  return RATIOS.reduce((best, name) => (distance(name) < distance(best) ? name : best));
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

/** Any incoming request as one intent: OpenAI's fields, the vendor's, or this intent again. */
function normalize(request) {
  const fields = withMetadata(request);
  const prompt = readText(fields, 'prompt');
  if (prompt !== undefined && [...prompt].length > MAX_PROMPT) {
    throw new Error(`The prompt may have at most ${MAX_PROMPT} characters.`);
  }
  const seed = isGiven(fields.seed) ? Number(fields.seed) : -1;
  if (!Number.isInteger(seed) || seed < -1) throw new Error('seed must be a whole number, or -1 for a random one.');
  const intent = { prompt, ...readImages(fields), seconds: readSeconds(fields), seed, aspect_ratio: readRatio(fields) };
  if (Object.keys(fields.extra).length > 0) intent.extra = fields.extra;
  for (const name of Object.keys(intent)) {
    if (intent[name] === undefined || (Array.isArray(intent[name]) && intent[name].length === 0)) delete intent[name];
  }
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

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const request = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const count = (request.image_urls ?? request.binary_data_base64 ?? []).length;
  const family = FAMILIES[model];
  const reqKey = family ? family[count] : model;
  const spec = reqKey === undefined ? undefined : REQ_KEYS[reqKey];
  if (reqKey === undefined || (spec && !spec.images.includes(count))) {
    const images = spec ? spec.images.join(' or ') : `0 to ${family.length - 1}`;
    throw new Error(`The number of images for ${model} is ${images}; this request has ${count}.`);
  }
  if (count === 0 && (request.prompt ?? '').trim() === '') throw new Error('Please give a prompt.');
  return { reqKey, count, request, resolution: spec?.resolution };
}

const ACTIONS = ['text_to_video', 'image_to_video', 'first_tail_to_video'];

/** A signed request. The body is a text, so that what is signed is what is sent. */
function signed(ctx, action, order) {
  const key = String(ctx.apiKey ?? '').trim();
  const keys = key.split('|').map((part) => part.trim());
  if (keys.length === 1 && key.startsWith('sk-')) return relayed(ctx, action, order);
  if (keys.length !== 2 || keys.includes('')) throw new Error('The key of the channel must be ACCESS_KEY|SECRET_KEY.');
  const url = `${ctx.baseUrl.replace(/\/+$/, '')}/?Action=${action}&Version=2022-08-31`;
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify(order);
  const [accessKey, secretKey] = keys;
  const signature = utils.volcSignV4({ method: 'POST', url, headers, body, accessKey, secretKey });
  return { url, method: 'POST', headers: { ...headers, ...signature }, body };
}

/** To another gateway with the vendor's paths below `/jimeng/`: its own key, and no signature. */
function relayed(ctx, action, order) {
  const base = ctx.baseUrl.replace(/\/+$/, '').replace(/\/jimeng$/, '');
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${ctx.apiKey.trim()}` };
  const url = `${base}/jimeng/?Action=${action}&Version=2022-08-31`;
  return { url, method: 'POST', headers, body: JSON.stringify(order) };
}

export function buildSubmitRequest(ctx) {
  const { reqKey, count, request } = plan(ctx);
  const { seconds, extra, ...order } = request;
  return {
    ...signed(ctx, 'CVSync2AsyncSubmitTask', { ...extra, req_key: reqKey, ...order, frames: FRAMES[seconds] }),
    action: ACTIONS[count],
    // A poll has to name it again, and finds it there.
    rewriteModel: reqKey,
  };
}

/**
 * What the vendor says went wrong, in its own words: the API's, else those of the gate before it,
 * else none.
 */
function readMessage(body) {
  const error = objectAt(objectAt(body, 'ResponseMetadata'), 'Error');
  const message = textAt(body, 'message') || textAt(error, 'Message');
  const code = textAt(body, 'code') || textAt(error, 'Code');
  return message && code ? `${message} (${code})` : message || code;
}

export function parseSubmitResponse(_ctx, response) {
  const { body } = response;
  const taskId = textAt(objectAt(body, 'data'), 'task_id');
  const accepted = isObject(body) && body.code === ACCEPTED;
  if (!accepted && readMessage(body)) throw new Error(readMessage(body));
  if (!accepted || taskId === '') throw new Error('Jimeng answered without a task.');
  return { taskId, taskData: body };
}

/** What the vendor's codes mean; those of content end a task in the same way. */
const REFUSALS = { 50429: 'rate', 50430: 'capacity' };

export function parseSubmitError({ body }) {
  const code = isObject(body) ? body.code : undefined;
  const isOfContent = isRefusal(code) && code >= 50400;
  const kind = isOfContent ? 'content' : Object.hasOwn(REFUSALS, code) ? REFUSALS[code] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

export function buildQueryRequest(ctx) {
  return signed(ctx, 'CVSync2AsyncGetResult', { req_key: ctx.upstreamModel || ctx.model, task_id: ctx.taskId });
}

export function parseTaskResult(_ctx, body) {
  const code = isObject(body) ? body.code : undefined;
  if (code !== ACCEPTED) return { status: isRefusal(code) ? 'FAILURE' : 'UNKNOWN', reason: readMessage(body) };
  const data = objectAt(body, 'data');
  const named = textAt(data, 'status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN' };
  const status = STATUSES[named];
  if (status === 'FAILURE') return { status, reason: ENDINGS[named] };
  if (status !== 'SUCCESS') return { status };
  const url = textAt(data, 'video_url');
  return url === '' ? { status: 'UNKNOWN', reason: 'Jimeng names no video.' } : { status, url };
}

/**
 * The resolution of a name that this plugin does not know is left out: a price must not be worked
 * out from a guess.
 */
export function extractUsage(ctx) {
  const { request, resolution } = plan(ctx);
  return resolution === undefined ? { seconds: request.seconds } : { seconds: request.seconds, resolution };
}

export function listArtifacts(task) {
  const done = task.status === 'SUCCESS' && textAt(objectAt(task.data, 'data'), 'video_url') !== '';
  return done ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

/** The address is signed for an hour and public until then. */
export function buildContentRequest(ctx) {
  const url = textAt(objectAt(ctx.data, 'data'), 'video_url');
  if (ctx.artifactKey !== 'video' || url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

/**
 * The gateway's verdict in the vendor's words; a failed task is an error code there and has no
 * status.
 */
const NAMES = {
  NOT_START: 'in_queue',
  SUBMITTED: 'in_queue',
  QUEUED: 'in_queue',
  IN_PROGRESS: 'generating',
  SUCCESS: 'done',
};

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
  decodeAction(ctx) {
    const action = (ctx.query.Action ?? [''])[0];
    const fields = readFields(ctx.body);
    if (action === 'CVSync2AsyncGetResult') {
      const id = textAt(fields, 'task_id');
      if (id === '') throw new Error('Please give a task_id.');
      return { kind: 'query', taskIds: [id] };
    }
    if (action !== 'CVSync2AsyncSubmitTask') {
      throw new Error('Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.');
    }
    if (textAt(fields, 'req_key') === '') throw new Error('Please give a req_key.');
    return { kind: 'submit', model: fields.req_key, requestBody: normalize({ metadata: fields }) };
  },
  /** A query hands over a list, a submission the task. */
  presentAction(_ctx, given) {
    const task = Array.isArray(given) ? given[0] : given;
    const kept = isObject(task.data) ? task.data : {};
    const data = { ...objectAt(kept, 'data'), task_id: task.task_id };
    if (!Array.isArray(given)) return { code: ACCEPTED, data, message: 'Success', status: ACCEPTED };
    if (task.status === 'FAILURE') {
      const code = isRefusal(kept.code) ? kept.code : 50500;
      return { ...kept, code, data: null, message: task.fail_reason, status: code };
    }
    return {
      ...kept,
      code: ACCEPTED,
      data: { ...data, status: NAMES[task.status] },
      message: 'Success',
      status: ACCEPTED,
    };
  },
  error(_ctx, error) {
    return { code: error.httpStatus, data: null, message: error.message, request_id: error.requestId };
  },
};
