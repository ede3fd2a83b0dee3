// PixVerse's platform API: https://docs.platform.pixverse.ai. Images must be uploaded first, which
// is a request of its own: here an upload is a task that ends at once, and a video names it. The
// vendor wants a new trace id in every request: with an old one it repeats an old answer.

/** Models here and at the vendor: its own names say too little beside those of others. */
const MODELS = {
  'pixverse-v6': { lengths: [1, 15], sound: true },
  'pixverse-v5.6': { lengths: [1, 10], sound: true },
  'pixverse-v5.5': { lengths: [1, 10], sound: true },
  'pixverse-v5': { only: [5, 8] },
  'pixverse-v4.5': { only: [5, 8], fast: true },
  'pixverse-v4': { only: [5, 8], fast: true },
  'pixverse-v3.5': { only: [5, 8], fast: true },
};
const UPLOAD = 'pixverse-upload';

export const meta = {
  apiVersion: 1,
  key: 'pixverse',
  name: 'PixVerse',
  version: '1.1.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'PixVerse: text, an image, or two frames to video',
    zh: 'PixVerse 视频：文生视频、图生视频与首尾帧过渡（图片先上传）',
    ja: 'PixVerse：テキスト、画像、2枚のフレームから動画',
    es: 'PixVerse: texto, una imagen o dos fotogramas a vídeo',
    de: 'PixVerse: Text, ein Bild oder zwei Bilder zu Video',
    pt: 'PixVerse: texto, uma imagem ou dois quadros para vídeo',
  },
  icon: 'PixVerse.Color',
  sortPriority: 43,
  website: 'https://docs.platform.pixverse.ai',
  baseUrl: 'https://app-api.pixverse.ai',
  fetchMode: 'per_task',
  models: [...Object.keys(MODELS), UPLOAD],
  protocols: [
    { name: 'proto_video', models: Object.keys(MODELS) },
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'], models: Object.keys(MODELS) },
  ],
  // A client of the vendor reaches them with `<gateway>/pixverse` as its base address.
  routes: [
    ...['text', 'img', 'transition'].map((kind) => ({
      method: 'POST',
      path: `/pixverse/openapi/v2/video/${kind}/generate`,
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentSubmitted',
    })),
    {
      method: 'POST',
      path: '/pixverse/openapi/v2/image/upload',
      type: 'submit',
      decode: 'decodeUpload',
      render: 'presentUpload',
    },
    { method: 'GET', path: '/pixverse/openapi/v2/video/result/:task_id', type: 'query', render: 'presentResult' },
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
        en: 'Video with generated sound',
        zh: '视频带生成的声音',
        ja: '生成音声付き動画',
        es: 'Vídeo con sonido generado',
        de: 'Video mit generiertem Ton',
        pt: 'Vídeo com som gerado',
      },
    },
    fast: {
      type: 'boolean',
      description: {
        en: 'Fast motion',
        zh: '快速运动',
        ja: '高速モーション',
        es: 'Movimiento rápido',
        de: 'Schnelle Bewegung',
        pt: 'Movimento rápido',
      },
    },
  },
  usageExamples: [
    { label: '5 sec at 540p', facts: { seconds: 5, resolution: '540p', audio: false, fast: false } },
    { label: '8 sec at 1080p with sound', facts: { seconds: 8, resolution: '1080p', audio: true, fast: false } },
  ],
};

/** An upload states none of them. */
const byModel = (toRange) => ({
  models: Object.fromEntries([
    ...Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)]),
    [UPLOAD, null],
  ]),
});

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    audio: { en: 'Sound', zh: '声音', ja: '音声', es: 'Sonido', de: 'Ton', pt: 'Som' },
    fast: {
      en: 'Fast motion',
      zh: '快速运动',
      ja: '高速モーション',
      es: 'Movimiento rápido',
      de: 'Schnelle Bewegung',
      pt: 'Movimento rápido',
    },
    image_url: {
      en: 'First frame',
      zh: '首帧',
      ja: '開始フレーム',
      es: 'Fotograma inicial',
      de: 'Startbild',
      pt: 'Quadro inicial',
    },
  },
  keyUrl: 'https://platform.pixverse.ai/api-key',
  keyFormat: 'sk-…',
  // Clients may upload a file in a form.
  inputs: { image_url: { type: 'text', required: true, example: 'https://example.com/image.png', models: [UPLOAD] } },
  ranges: {
    seconds: byModel(({ lengths, only }) =>
      only ? { values: only } : { minimum: lengths[0], maximum: lengths[1], whole: true },
    ),
    resolution: byModel(() => ({})),
    audio: byModel(({ sound }) => (sound ? {} : null)),
    // `motion_mode` says it.
    fast: null,
  },
};

const QUALITIES = ['360p', '540p', '720p', '1080p'];
const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '2:3', '3:2', '21:9'];
const MAX_PROMPT = 5000;
/** Fields of the vendor that go to it as they are. */
const PASSED = [
  'negative_prompt',
  'seed',
  'style',
  'template_id',
  'camera_movement',
  'water_mark',
  'motion_mode',
].concat(['generate_multi_clip_switch', 'thinking_type', 'sound_effect_switch', 'sound_effect_content']);
const FRAMES = ['img_id', 'first_frame_img', 'last_frame_img'];
const READ = [
  'prompt',
  'duration',
  'seconds',
  'quality',
  'resolution',
  'size',
  'aspect_ratio',
  'generate_audio_switch',
  'audio',
];
const ALIASES = ['upload', 'image', 'input_reference', 'first_frame', 'last_frame', 'last_image', 'image_url'];
/** What the gateway decides. */
const KEPT = ['model', 'metadata', 'webhook_id', 'callback_url', 'webhook_url'];
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
const OWN = new Set([...PASSED, ...FRAMES, ...READ, ...ALIASES, ...KEPT].map(stripSeparators));

const STATUSES = { 1: 'SUCCESS', 5: 'IN_PROGRESS', 6: 'FAILURE', 7: 'FAILURE', 8: 'FAILURE' };
const ENDINGS = {
  6: 'The video was deleted at PixVerse.',
  7: 'The video was withheld by the moderation of PixVerse.',
  8: 'The video could not be generated.',
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
/** Ids are numbers. */
const textAt = (value, name) => {
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === 'string' || typeof found === 'number' ? String(found).trim() : '';
};
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/openapi\/v2$/, '')}/openapi/v2`;
const buildHeaders = (ctx) => ({ 'API-KEY': ctx.apiKey, 'Ai-trace-id': utils.uuid() });
/** Clients of the responses API know a task as `resp_…`. */
const isTask = (id) => typeof id === 'string' && /^(task|resp)_\w+$/.test(id);
/** The name at the vendor. */
const readModel = (ctx) => ctx.upstreamModel || ctx.model;

/** The id of an uploaded image: the vendor's, or that of the task which uploaded it. */
function readFrame(name, given) {
  const id = isObject(given) ? firstGiven(given.img_id, given.id, given.image_url) : given;
  if (isTask(id)) return id.replace(/^resp_/, 'task_');
  if (/^[1-9]\d{0,17}$/.test(String(id))) return Number(id);
  throw new Error(`${name} is the id of an image: upload it first, as a task of the model ${UPLOAD}.`);
}

/** A form holds numbers, flags and objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** "1280x720" as quality and ratio. */
function toShape(size) {
  if (!isGiven(size)) return {};
  if (QUALITIES.includes(size)) return { quality: size };
  const match = /^([1-9]\d{0,4})[x*]([1-9]\d{0,4})$/i.exec(size);
  if (!match) throw new Error(`The size "${String(size).slice(0, 40)}" is not in the form WIDTHxHEIGHT.`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const side = Math.min(width, height);
  const distance = (name) => {
    const [across, down] = name.split(':').map(Number);
    return Math.abs(Math.log(width / height / (across / down)));
  };
  return {
    quality: QUALITIES.find((quality) => side <= Number.parseInt(quality, 10)) ?? '1080p',
    aspect_ratio: RATIOS.reduce((best, name) => (distance(name) < distance(best) ? name : best)),
  };
}

function choose(name, value, known) {
  if (value !== undefined && !known.includes(value)) throw new Error(`${name} is one of ${known.join(', ')}.`);
  return value;
}

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(sent) {
  const metadata = parsed(sent.metadata) ?? {};
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const fields = { ...metadata, ...sent };
  if ([sent.images].flat().some(isGiven)) throw new Error('images are not taken: give one as image.');
  const { prompt } = fields;
  if (isGiven(prompt) && (typeof prompt !== 'string' || prompt.length > MAX_PROMPT)) {
    throw new Error(`The prompt is a string of at most ${MAX_PROMPT} characters.`);
  }
  const length = firstGiven(fields.duration, fields.seconds);
  const duration = length === undefined ? undefined : Number(length);
  if (duration !== undefined && !Number.isInteger(duration)) throw new Error('Seconds are a whole number.');
  const shape = toShape(fields.size);
  const audio = parsed(firstGiven(fields.generate_audio_switch, fields.audio));
  if (audio !== undefined && typeof audio !== 'boolean') throw new Error('audio is true or false.');
  const first = firstGiven(
    fields.img_id,
    fields.first_frame_img,
    fields.first_frame,
    fields.image,
    fields.input_reference,
  );
  const last = firstGiven(fields.last_frame_img, fields.last_frame, fields.last_image);
  const frames = {};
  if (isGiven(first)) frames[isGiven(last) ? 'first_frame_img' : 'img_id'] = readFrame('The image', first);
  if (isGiven(last)) frames.last_frame_img = readFrame('The last frame', last);
  const intent = {
    prompt,
    duration,
    quality: choose('quality', firstGiven(fields.quality, fields.resolution, shape.quality), QUALITIES),
    aspect_ratio: choose('aspect_ratio', firstGiven(fields.aspect_ratio, shape.aspect_ratio), RATIOS),
    generate_audio_switch: audio,
    ...frames,
    upload: isGiven(fields.upload) ? toUpload(fields) : undefined,
  };
  for (const name of PASSED) if (isGiven(fields[name])) intent[name] = parsed(fields[name]);
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  for (const name of Object.keys(intent)) if (!isGiven(intent[name])) delete intent[name];
  return intent;
}

/** A video is made by the account that has its images. */
function readIntent(model, fields) {
  const requestBody = normalize(fields);
  const originTaskIds = FRAMES.map((name) => requestBody[name]).filter(isTask);
  const intent = { kind: 'submit', model, requestBody };
  return originTaskIds.length === 0 ? intent : { ...intent, originTaskIds };
}

/**
 * Reads the facts of the order; the bill is computed from them. Length and quality are never
 * left to the vendor's defaults.
 */
function plan(ctx) {
  const model = readModel(ctx);
  const spec = MODELS[model] ?? { lengths: [1, 60], sound: true, fast: true };
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const { duration = 5, quality = '540p', generate_audio_switch: audio = false, motion_mode: motion } = order;
  if (!order.prompt?.trim()) throw new Error('Please give a prompt.');
  if (order.last_frame_img && !order.first_frame_img) throw new Error('A last frame needs a first one.');
  const { lengths: [least, most] = [5, 8], only } = spec;
  if (only ? !only.includes(duration) : duration < least || duration > most) {
    throw new Error(`A video of ${model} has ${only ? only.join(' or ') : `${least} to ${most}`} seconds.`);
  }
  if (audio && !spec.sound) throw new Error(`${model} makes no sound; leave it out.`);
  const fast = motion === 'fast';
  if (fast && !spec.fast) throw new Error(`${model} has no fast motion mode.`);
  if (fast && (duration > 5 || quality === '1080p')) throw new Error('Fast motion is for 5 seconds and below 1080p.');
  return { model: model.replace(/^pixverse-/, ''), order: { ...order, duration, quality }, audio, fast };
}

/** The vendor's id of an image that a task of the caller uploaded. */
function imageId(ctx, id) {
  if (!isTask(id)) return id;
  const origin = (ctx.originTasks ?? []).find(({ taskId }) => taskId === id);
  if (!origin) throw new Error('The image is not one of your uploads, or cannot be named here.');
  return Number(origin.upstreamTaskId);
}

/** The image of an upload: `{ref}` of a file, or an address that the vendor fetches. */
function toUpload(fields) {
  const given = firstGiven(fields.upload, fields.image, fields.input_reference, fields.image_url);
  const value = isObject(given) ? firstGiven(given.image_url, given) : given;
  if (typeof value === 'string' && /^https?:\/\//i.test(value)) return value.trim();
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error('Please send the image as a file of a form, or its https URL as image_url.');
}

function uploadRequest(ctx) {
  const image = toUpload(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const part = isObject(image) ? { name: 'image', fileRef: image.ref } : { name: 'image_url', value: image };
  const url = `${apiUrl(ctx)}/image/upload`;
  return { url, method: 'POST', headers: buildHeaders(ctx), bodyType: 'multipart', parts: [part], action: 'upload' };
}

export function buildSubmitRequest(ctx) {
  if (readModel(ctx) === UPLOAD) return uploadRequest(ctx);
  const { model, order } = plan(ctx);
  const { metadata, upload, ...body } = { ...order.metadata, ...order, model };
  for (const name of FRAMES) if (name in body) body[name] = imageId(ctx, body[name]);
  const kind = 'last_frame_img' in body ? 'transition' : 'img_id' in body ? 'img' : 'text';
  // An image has a ratio of its own.
  if (kind !== 'text') delete body.aspect_ratio;
  else body.aspect_ratio ??= '16:9';
  return {
    url: `${apiUrl(ctx)}/video/${kind}/generate`,
    method: 'POST',
    headers: { ...buildHeaders(ctx), 'Content-Type': 'application/json' },
    body,
    action: { text: 'text_to_video', img: 'image_to_video', transition: 'first_tail_to_video' }[kind],
  };
}

export function extractUsage(ctx) {
  if (readModel(ctx) === UPLOAD) return { seconds: 0, resolution: '360p', audio: false, fast: false };
  const { order, audio, fast } = plan(ctx);
  return { seconds: order.duration, resolution: order.quality, audio, fast };
}

/** Errors come with HTTP 200: `ErrCode` tells. */
const readCode = (body) => (isObject(body) ? Number(body.ErrCode ?? -1) : -1);
const readMessage = (body) => {
  const message = textAt(body, 'ErrMsg');
  return isObject(body) && readCode(body) !== 0 && message !== '' ? `${message} (${readCode(body)})` : '';
};
const readAnswer = (body) => (readCode(body) === 0 ? objectAt(body, 'Resp') : {});

export function parseSubmitResponse(ctx, { body }) {
  const upload = readModel(ctx) === UPLOAD;
  const taskId = textAt(readAnswer(body), upload ? 'img_id' : 'video_id');
  if (taskId === '') throw new Error(readMessage(body) || 'PixVerse answered without a task.');
  if (!upload) return { taskId, taskData: body };
  return { taskId, taskData: body, immediate: { status: 'SUCCESS', url: textAt(readAnswer(body), 'img_url') } };
}

/** What the vendor's codes mean. */
const REFUSALS = {
  500044: 'capacity',
  500054: 'content',
  500063: 'content',
  500069: 'vendor_busy',
  500090: 'balance',
};

export function parseSubmitError({ body }) {
  const kind = Object.hasOwn(REFUSALS, readCode(body)) ? REFUSALS[readCode(body)] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

export function buildQueryRequest(ctx) {
  return { url: `${apiUrl(ctx)}/video/result/${encodeURIComponent(ctx.taskId)}`, headers: buildHeaders(ctx) };
}

/** What is not known is said to be unknown, and so is a success without a video. */
export function parseTaskResult(ctx, body) {
  // The upload has succeeded already; it is only asked for again when its end could not be stored.
  if (ctx.action === 'upload') return { status: 'SUCCESS' };
  const { status: named, url } = readAnswer(body);
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) };
  const status = STATUSES[named];
  if (status === 'FAILURE') return { status, reason: ENDINGS[named] };
  if (status !== 'SUCCESS') return { status };
  return isGiven(url) ? { status, url } : { status: 'UNKNOWN', reason: 'PixVerse names no video.' };
}

const RESULTS = {
  video: { type: 'video', mimeType: 'video/mp4', at: 'url' },
  image: { type: 'image', at: 'img_url' },
};
const readResult = (data, key) => (Object.hasOwn(RESULTS, key) ? textAt(readAnswer(data), RESULTS[key].at) : '');

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return Object.keys(RESULTS)
    .filter((key) => readResult(task.data, key) !== '')
    .map((key) => ({ key, type: RESULTS[key].type, mimeType: RESULTS[key].mimeType }));
}

/** The addresses are public. */
export function buildContentRequest(ctx) {
  const url = readResult(ctx.data, ctx.artifactKey);
  if (url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
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

/** The texts of a Responses request in order, one a line; further fields stand beside `input`. */
function decodeResponses(body) {
  const request = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (typeof request.input === 'string') return { ...request, prompt: request.input };
  const parts = (Array.isArray(request.input) ? request.input : []).flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  return texts.length === 0 ? request : { ...request, prompt: texts.join('\n').trim() };
}

const videoTag = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => readIntent(ctx.model, readFields(ctx.body)),
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest(ctx) {
      const intent = readIntent(ctx.model, decodeResponses(ctx.body));
      // What is not read of a client's labels is not for the vendor.
      delete intent.requestBody.metadata;
      return intent;
    },
    renderEvents(ctx, task, previous) {
      if (task.status === 'SUCCESS') return { events: [{ type: 'output', data: videoTag(ctx) }], done: true };
      if (task.status === 'FAILURE') return { events: [{ type: 'error', message: task.fail_reason }], done: true };
      const state = `${task.status} ${task.progress}`;
      const progress = { type: 'progress', progress: Number.parseInt(task.progress, 10) || 0, message: task.status };
      return { events: state === previous ? [] : [progress], done: false, state };
    },
    renderFinal(ctx) {
      const text = { type: 'output_text', text: videoTag(ctx), annotations: [], logprobs: [] };
      return { output: [{ type: 'message', role: 'assistant', content: [text] }] };
    },
  },
};

const fine = (Resp) => ({ ErrCode: 0, ErrMsg: 'Success', Resp });

export const native = {
  /** Fields that are newer than this plugin go on as they are. */
  decodeSubmit({ body }) {
    const fields = readFields(body);
    if (typeof fields.model !== 'string' || fields.model === '') throw new Error('Please name the model.');
    const model = /^v\d/.test(fields.model) ? `pixverse-${fields.model}` : fields.model;
    return readIntent(model, { ...fields, metadata: fields });
  },
  decodeUpload: ({ body }) => ({ kind: 'submit', model: UPLOAD, requestBody: { upload: toUpload(readFields(body)) } }),
  presentSubmitted: (_ctx, task) => fine({ video_id: task.task_id }),
  /** A video names the image by the id of this task. */
  presentUpload: (_ctx, task) => fine({ ...readAnswer(task.data), img_id: task.task_id }),
  presentResult(_ctx, task) {
    const { video_id: _theirs, ...seen } = readAnswer(task.data);
    const ended = task.status === 'SUCCESS' ? 1 : task.status === 'FAILURE' ? 8 : 5;
    return fine({ ...seen, id: task.task_id, status: STATUSES[seen.status] === task.status ? seen.status : ended });
  },
  error: (_ctx, error) => ({ ErrCode: error.httpStatus, ErrMsg: error.message, Resp: null }),
};
