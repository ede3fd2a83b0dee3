// Vidu: https://platform.vidu.com/docs. One vendor, four endpoints: text, a first frame, two
// frames, or reference images.

export const meta = {
  apiVersion: 1,
  key: 'vidu',
  name: 'Vidu',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Vidu: text, frames or reference images to video',
    zh: 'Vidu：由文字、首尾帧或参考图片生成视频',
    ja: 'Vidu：テキスト、フレーム、参照画像から動画',
    es: 'Vidu: texto, fotogramas o imágenes de referencia a vídeo',
    de: 'Vidu: Text, Bilder oder Referenzbilder zu Video',
    pt: 'Vidu: texto, quadros ou imagens de referência para vídeo',
  },
  icon: 'Vidu.Color',
  models: [
    'viduq3-pro',
    'viduq3-turbo',
    'viduq3',
    'viduq2-pro',
    'viduq2-turbo',
    'viduq2',
    'viduq1',
    'viduq1-classic',
    'vidu2.0',
    'vidu1.5',
  ],
  fetchMode: 'per_task',
  channelTypes: [52],
  sortPriority: 60,
  website: 'https://platform.vidu.com/docs',
  baseUrl: 'https://api.vidu.com',
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  routes: [
    {
      method: 'POST',
      path: '/vidu/ent/v2/text2video',
      type: 'submit',
      decode: 'decodeText',
      render: 'presentJob',
      action: 'text_to_video',
    },
    {
      method: 'POST',
      path: '/vidu/ent/v2/img2video',
      type: 'submit',
      decode: 'decodeImage',
      render: 'presentJob',
      action: 'image_to_video',
    },
    {
      method: 'POST',
      path: '/vidu/ent/v2/start-end2video',
      type: 'submit',
      decode: 'decodeFrames',
      render: 'presentJob',
      action: 'first_tail_to_video',
    },
    {
      method: 'POST',
      path: '/vidu/ent/v2/reference2video',
      type: 'submit',
      decode: 'decodeReferences',
      render: 'presentJob',
      action: 'reference_to_video',
    },
    { method: 'GET', path: '/vidu/ent/v2/tasks/:task_id/creations', type: 'query', render: 'presentCreations' },
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
      enum: ['360p', '540p', '720p', '1080p'],
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
        en: 'Video with generated speech and sound',
        zh: '视频带生成的语音和音效',
        ja: '生成した声と効果音付きの動画',
        es: 'Vídeo con voz y sonido generados',
        de: 'Video mit generierten Stimmen und Geräuschen',
        pt: 'Vídeo com voz e som gerados',
      },
    },
  },
  usageExamples: [
    { label: '5 sec at 720p with sound', facts: { seconds: 5, resolution: '720p', audio: true } },
    { label: '4 sec at 360p', facts: { seconds: 4, resolution: '360p', audio: false } },
  ],
};

const MAX_SECONDS = 16;

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    audio: { en: 'Sound', zh: '声音', ja: '音声', es: 'Sonido', de: 'Ton', pt: 'Som' },
  },
  keyUrl: 'https://platform.vidu.com/api-keys',
  keyFormat: 'vda_…',
  ranges: { seconds: { minimum: 1, maximum: MAX_SECONDS, whole: true } },
};

/** Endpoints by action, with how many images each takes. */
const ENDPOINTS = {
  text_to_video: { path: 'text2video', images: [0, 0] },
  image_to_video: { path: 'img2video', images: [1, 1] },
  first_tail_to_video: { path: 'start-end2video', images: [2, 2] },
  reference_to_video: { path: 'reference2video', images: [1, 7] },
};
const RESOLUTIONS = ['360p', '540p', '720p', '1080p'];
const RATIOS = ['16:9', '9:16', '4:3', '3:4', '1:1'];
/** The other models make five seconds where nothing is said. */
const FOUR_SECONDS = ['vidu2.0', 'vidu1.5'];
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
/** Further fields of the vendor: texts, and what is true or false; a form has texts alone. */
const TEXTS = ['style', 'movement_amplitude'];
const FLAGS = ['audio', 'bgm', 'watermark'];
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = new Set(
  `prompt image images input_reference last_frame reference_images action size duration seconds resolution
  aspect_ratio style movement_amplitude audio bgm watermark seed off_peak metadata extra`
    .split(/\s+/)
    .map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));

const STATUSES = {
  created: 'SUBMITTED',
  queueing: 'QUEUED',
  processing: 'IN_PROGRESS',
  success: 'SUCCESS',
  failed: 'FAILURE',
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.trim() !== '';
const given = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(given);
const toList = (value) => (Array.isArray(value) ? value : given(value) ? [value] : []);
const apiUrl = (ctx, path) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/ent\/v2$/, '')}/ent/v2/${path}`;
const authorization = (ctx) => ({ Authorization: `Token ${ctx.apiKey}` });

// ------------------------------------------------------------------------------------------------------------- the request

/** An image as `{file}` (an upload of this request) or a text: an address or a data URL. */
function readImage(value) {
  const url = isObject(value) && isText(value.image_url) ? value.image_url : value;
  if (isText(url)) return url;
  if (isObject(value) && isText(value.file)) return { file: value.file };
  throw new Error('An image is a file, an address or a data URL.');
}

/** "1280x720" as the ratio and resolution that come closest, or "720p". */
function toShape(size) {
  if (RESOLUTIONS.includes(size)) return { resolution: size };
  const match = /^(\d+)x(\d+)$/.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const side = Math.min(width, height);
  const resolution = side <= 360 ? '360p' : side <= 540 ? '540p' : side <= 720 ? '720p' : '1080p';
  return { resolution, ratio: width === height ? '1:1' : width > height ? '16:9' : '9:16' };
}

function readChoice(value, known, name) {
  if (!known.includes(value)) throw new Error(`${name} is one of ${known.join(', ')}.`);
  return value;
}

/** References where they are called so; else a first frame, or a first and a last one. */
function toAction(fields, images) {
  if (isText(fields.action)) return readChoice(fields.action, Object.keys(ENDPOINTS), 'action');
  if (toList(fields.reference_images).length > 0) return 'reference_to_video';
  return ['text_to_video', 'image_to_video', 'first_tail_to_video'][images.length] || 'reference_to_video';
}

/** A member with members of its own; in a form it is JSON text. */
function readMembers(value, name) {
  if (!given(value)) return {};
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
  const passed = more.filter(([name, value]) => !isOwn(name) && given(value));
  return { ...named, ...fields, extra: Object.fromEntries(passed) };
}

/** The fields of any request in one form, checked. Applied twice it gives the same. */
function normalize(request) {
  const fields = withMetadata(request);
  const frames = [firstGiven(fields.image, fields.input_reference), fields.last_frame].filter(given);
  const images = [...toList(fields.images), ...frames, ...toList(fields.reference_images)].map(readImage);
  const action = toAction(fields, images);
  const [least, most] = ENDPOINTS[action].images;
  if (images.length < least || images.length > most) {
    const wanted = least === most ? String(least) : `${least} to ${most}`;
    throw new Error(`The number of images for ${ENDPOINTS[action].path} is ${wanted}, not ${images.length}.`);
  }
  if (!isText(fields.prompt) && (action === 'text_to_video' || action === 'reference_to_video')) {
    throw new Error('Please give a prompt.');
  }
  if (String(fields.off_peak) === 'true') {
    throw new Error('off_peak is not offered here: such jobs may end after two days.');
  }
  const order = { action };
  if (isText(fields.prompt)) order.prompt = fields.prompt;
  if (images.length > 0) order.images = images;
  const shape = given(fields.size) ? toShape(String(fields.size)) : {};
  const seconds = firstGiven(fields.duration, fields.seconds);
  if (given(seconds)) {
    order.duration = Number(seconds);
    if (!(Number.isInteger(order.duration) && order.duration >= 1 && order.duration <= MAX_SECONDS)) {
      throw new Error(`The length of a video is from 1 to ${MAX_SECONDS} whole seconds.`);
    }
  }
  const resolution = firstGiven(fields.resolution, shape.resolution);
  if (given(resolution)) order.resolution = readChoice(resolution, RESOLUTIONS, 'resolution');
  const ratio = firstGiven(fields.aspect_ratio, shape.ratio);
  if (given(ratio)) order.aspect_ratio = readChoice(ratio, RATIOS, 'aspect_ratio');
  for (const name of TEXTS) if (isText(fields[name])) order[name] = fields[name];
  for (const name of FLAGS) if (given(fields[name])) order[name] = String(fields[name]) === 'true';
  if (given(fields.seed)) {
    order.seed = Number(fields.seed);
    if (!Number.isInteger(order.seed) || order.seed < 0) throw new Error('seed is a whole number of at least 0.');
  }
  if (Object.keys(fields.extra).length > 0) order.extra = fields.extra;
  return order;
}

/**
 * The order with what its model makes where nothing is said: it is sent along, so that the vendor
 * makes what is billed.
 */
function readOrder(ctx) {
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const model = ctx.upstreamModel || ctx.model;
  order.duration = order.duration || (FOUR_SECONDS.includes(model) ? 4 : 5);
  if (!order.resolution) {
    if (model.startsWith('viduq1')) order.resolution = '1080p';
    else order.resolution = FOUR_SECONDS.includes(model) && order.duration === 4 ? '360p' : '720p';
  }
  // Only these models know the field.
  if (model.startsWith('viduq3')) order.audio = order.audio !== false;
  else if (order.audio === false) delete order.audio;
  // Frames decide the ratio of a video that is made from them.
  if (order.action === 'image_to_video' || order.action === 'first_tail_to_video') delete order.aspect_ratio;
  return order;
}

/**
 * The fields of a JSON or multipart body; files by the name of their field, those called "images"
 * as a list.
 */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  // OpenAI's clients write an image's address as `input_reference[image_url]`.
  for (const [name, values] of Object.entries(body.fields)) {
    fields[name.replace('[image_url]', '')] = /images$/.test(name) ? values : values[0];
  }
  for (const { ref, field } of body.kind === 'multipart' ? body.files : []) {
    const file = { file: ref };
    fields[field] = /images$/.test(field) ? [...(fields[field] || []), file] : file;
  }
  return fields;
}

export function buildSubmitRequest(ctx) {
  const { action, images, extra, ...order } = readOrder(ctx);
  const body = { ...extra, model: ctx.upstreamModel || ctx.model, ...order };
  if (images) {
    body.images = images.map((image) =>
      isObject(image) ? { __fileRef: image.file, encoding: 'dataUrl', maxBytes: MAX_IMAGE_BYTES } : image,
    );
  }
  return {
    url: apiUrl(ctx, ENDPOINTS[action].path),
    method: 'POST',
    headers: { ...authorization(ctx), 'Content-Type': 'application/json' },
    body,
    action,
  };
}

// ------------------------------------------------------------------------------------------------------------- the answers

/** An error is `{code, reason, message}`. */
const readMessage = (body) => (isObject(body) && firstGiven(body.message, body.reason, body.err_code)) || '';

export function parseSubmitResponse(_ctx, { body }) {
  if (!isObject(body) || !isText(body.task_id)) {
    throw new Error(`The answer holds no task${readMessage(body) && `: ${readMessage(body)}`}.`);
  }
  const result = readJob(body);
  return { taskId: body.task_id, taskData: body, ...(result.status === 'FAILURE' ? { immediate: result } : {}) };
}

/** What the vendor's reasons mean. */
const REFUSALS = {
  QuotaExceeded: 'capacity',
  TooManyRequests: 'rate',
  SystemThrottling: 'vendor_busy',
  Unauthorized: 'credential',
  CreditInsufficient: 'balance',
  AuditSubmitIllegal: 'content',
  TaskPromptPolicyViolation: 'content',
  CreationPolicyViolation: 'content',
};

export function parseSubmitError({ body }) {
  const reason = isObject(body) ? firstGiven(body.reason, body.err_code) : undefined;
  const kind = Object.hasOwn(REFUSALS, reason) ? REFUSALS[reason] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

/** https://platform.vidu.com/docs/get-account-info. Kinds of packages share the largest's limit. */
export function queryCapacity({ channel, response }) {
  if (!response) return { request: { url: apiUrl(channel, 'credits'), headers: authorization(channel) } };
  const { remains } = JSON.parse(response.body);
  const limits = (Array.isArray(remains) ? remains : []).map((one) => one?.concurrency_limit).filter((one) => one > 0);
  return limits.length === 0 ? null : { limits: { maxRunning: Math.max(...limits) } };
}

export function buildQueryRequest(ctx) {
  return { url: apiUrl(ctx, `tasks/${encodeURIComponent(ctx.taskId)}/creations`), headers: authorization(ctx) };
}

export function parseTaskResult(_ctx, body) {
  return readJob(body);
}

const readCreations = (job) =>
  isObject(job) && Array.isArray(job.creations) ? job.creations.filter((creation) => isText(creation?.url)) : [];

function readJob(job) {
  if (!isObject(job) || !Object.hasOwn(STATUSES, job.state)) {
    return { status: 'UNKNOWN', reason: readMessage(job) || `unknown state ${JSON.stringify(job?.state)}` };
  }
  const status = STATUSES[job.state];
  if (status === 'FAILURE') return { status, reason: readMessage(job) || 'The video could not be generated.' };
  if (status === 'SUCCESS' && readCreations(job).length === 0) {
    return { status: 'UNKNOWN', reason: 'the task succeeded without a video' };
  }
  return { status };
}

export function extractUsage(ctx) {
  const { duration, resolution, audio } = readOrder(ctx);
  return { seconds: duration, resolution, audio: audio === true };
}

/** What was made, where the vendor tells. */
export function extractUsageOnComplete(_ctx, result, job) {
  if (result.status !== 'SUCCESS') return null;
  const made = { ...job, ...readCreations(job)[0] };
  const facts = {};
  if (Number(made.duration) > 0) facts.seconds = Number(made.duration);
  if (RESOLUTIONS.includes(made.resolution)) facts.resolution = made.resolution;
  return facts;
}

const toKey = (kind, index) => (index === 0 ? kind : `${kind}-${index + 1}`);

/** Each result with its cover, as `{key, type, url}`. */
function readFiles(job) {
  return readCreations(job).flatMap(({ url, cover_url: cover }, index) => [
    { key: toKey('video', index), type: 'video', url },
    ...(isText(cover) ? [{ key: toKey('cover', index), type: 'image', url: cover }] : []),
  ]);
}

export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? readFiles(task.data).map(({ key, type }) => ({ key, type })) : [];
}

/** Results lie at public addresses: no credential goes there. */
export function buildContentRequest(ctx) {
  const file = readFiles(ctx.data).find(({ key }) => key === ctx.artifactKey);
  if (!file) throw new Error('artifact_not_found');
  return { url: file.url, method: ctx.clientRequest.method, credentialless: true };
}

// ----------------------------------------------------------------------------------------------------------- the protocols

/** `metadata` of a Responses request also holds the client's labels: only known members count. */
const withLabels = ({ metadata, ...request }) => ({ ...(isObject(metadata) ? metadata : {}), ...request });

/**
 * The prompt and images of a Responses request: its texts in order, one a line; further fields as
 * in a video request.
 */
function decodeResponses(body) {
  const request = body.kind === 'json' && isObject(body.value) ? withLabels(body.value) : {};
  if (isText(request.input)) return { ...request, prompt: request.input };
  const parts = (Array.isArray(request.input) ? request.input : []).flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text' && isText(part.text)).map(({ text }) => text);
  const images = parts.filter((part) => part?.type === 'input_image').map((part) => part.image_url);
  return { ...request, prompt: texts.join('\n'), ...(images.length > 0 ? { images } : {}) };
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

// ---------------------------------------------------------------------------------- the vendor's own endpoints, under /vidu

function decode({ body }, action) {
  const fields = readFields(body);
  if (!isText(fields.model)) throw new Error('Please name a model.');
  return { kind: 'submit', model: fields.model, requestBody: normalize({ metadata: fields, action }) };
}

const toState = (task) => Object.keys(STATUSES).find((name) => STATUSES[name] === task.status) || 'created';

export const native = {
  decodeText: (ctx) => decode(ctx, 'text_to_video'),
  decodeImage: (ctx) => decode(ctx, 'image_to_video'),
  decodeFrames: (ctx) => decode(ctx, 'first_tail_to_video'),
  decodeReferences: (ctx) => decode(ctx, 'reference_to_video'),
  /** The answer to a submission: the vendor's own, with the gateway's id. */
  presentJob(_ctx, task) {
    return { ...(isObject(task.data) ? task.data : {}), task_id: task.task_id, state: toState(task) };
  },
  presentCreations(_ctx, task) {
    const job = isObject(task.data) ? task.data : {};
    const answer = {
      id: task.task_id,
      state: toState(task),
      err_code: job.err_code || '',
      creations: readCreations(job),
    };
    if (task.status === 'FAILURE') answer.err_code = answer.err_code || task.fail_reason;
    if (given(job.credits)) answer.credits = job.credits;
    return answer;
  },
  error(_ctx, error) {
    return {
      code: error.httpStatus,
      reason: error.code,
      message: error.message,
      metadata: { trace_id: error.requestId },
    };
  },
};
