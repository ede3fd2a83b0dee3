// Luma's Dream Machine API: https://docs.lumalabs.ai. Videos by Ray, images by Photon; a generation
// is asked for at one place, whatever it makes. Luma fetches images and videos itself, so they are
// given as addresses.

const words = (text) => text.split(' ');
/**
 * `longest`: seconds that are billed for a changed video, whose length the gateway does not see.
 */
const MODELS = {
  'ray-2': { lengths: [5, 9], longest: 10 },
  'ray-flash-2': { lengths: [5, 9], longest: 15 },
  'ray-1-6': { lengths: [5] },
  'photon-1': { image: true },
  'photon-flash-1': { image: true },
};
const UNLISTED = { longest: 15 };

export const meta = {
  apiVersion: 1,
  key: 'luma',
  name: 'Luma Dream Machine',
  version: '1.1.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Luma Ray and Photon: text, frames or video to video, and text to image',
    zh: 'Luma 的 Ray 视频（文生、首尾帧、续写与视频改写）与 Photon 图片',
    ja: 'Luma RayとPhoton：テキスト、フレーム、動画から動画、テキストから画像',
    es: 'Luma Ray y Photon: texto, fotogramas o vídeo a vídeo, y texto a imagen',
    de: 'Luma Ray und Photon: Text, Bilder oder Video zu Video und Text zu Bild',
    pt: 'Luma Ray e Photon: texto, quadros ou vídeo para vídeo, e texto para imagem',
  },
  icon: 'Luma.Color',
  sortPriority: 44,
  website: 'https://docs.lumalabs.ai',
  baseUrl: 'https://api.lumalabs.ai',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: [
    { name: 'proto_video', models: Object.keys(MODELS).filter((name) => name.startsWith('ray')) },
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'] },
  ],
  // A client of the vendor reaches them with `<gateway>/luma/dream-machine/v1` as its base address.
  routes: [
    ...['', '/video', '/image', '/video/modify'].map((kind) => ({
      method: 'POST',
      path: `/luma/dream-machine/v1/generations${kind}`,
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentGeneration',
    })),
    { method: 'GET', path: '/luma/dream-machine/v1/generations/:task_id', type: 'query', render: 'presentGeneration' },
  ],
  usageSchema: {
    seconds: {
      type: 'number',
      unit: 'second',
      description: {
        en: 'Video length (seconds); the maximum if the input video sets it',
        zh: '视频时长（秒）；由输入视频决定时按最长计',
        ja: '動画の長さ（秒）。入力動画で決まる場合は最大値',
        es: 'Duración del vídeo (segundos); la máxima si la fija el vídeo de entrada',
        de: 'Videolänge (Sekunden); die maximale, wenn das Eingabevideo sie bestimmt',
        pt: 'Duração do vídeo (segundos); a máxima se o vídeo de entrada a define',
      },
    },
    resolution: {
      enum: ['540p', '720p', '1080p', '4k'],
      description: {
        en: 'Video resolution',
        zh: '视频分辨率',
        ja: '動画の解像度',
        es: 'Resolución del vídeo',
        de: 'Videoauflösung',
        pt: 'Resolução do vídeo',
      },
    },
    images: {
      type: 'number',
      unit: 'count',
      description: {
        en: 'Number of images',
        zh: '图片数量',
        ja: '画像の枚数',
        es: 'Número de imágenes',
        de: 'Anzahl der Bilder',
        pt: 'Número de imagens',
      },
    },
    modify: {
      type: 'boolean',
      description: {
        en: 'Edits an input video',
        zh: '改写输入视频',
        ja: '入力動画を変換',
        es: 'Edita un vídeo de entrada',
        de: 'Bearbeitet ein Eingabevideo',
        pt: 'Edita um vídeo de entrada',
      },
    },
  },
  usageExamples: [
    { label: '5 sec at 720p', facts: { seconds: 5, resolution: '720p', images: 0, modify: false } },
    { label: '1 image', facts: { seconds: 0, resolution: '1080p', images: 1, modify: false } },
  ],
};

const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    images: { en: 'Images', zh: '图片', ja: '画像', es: 'Imágenes', de: 'Bilder', pt: 'Imagens' },
    modify: {
      en: 'Video to video',
      zh: '视频改写',
      ja: '動画の変換',
      es: 'Vídeo a vídeo',
      de: 'Video zu Video',
      pt: 'Vídeo para vídeo',
    },
  },
  keyUrl: 'https://lumalabs.ai/api/keys',
  keyFormat: 'luma-…',
  ranges: {
    seconds: byModel(({ lengths, image }) => (image ? null : { values: lengths })),
    resolution: byModel(({ image }) => (image ? null : {})),
    images: null,
    modify: null,
  },
};

const RATIOS = words('1:1 16:9 9:16 4:3 3:4 21:9 9:21');
const RESOLUTIONS = words('540p 720p 1080p 4k');
/** Fields of the vendor that go to it as they are. */
const PASSED = words('concepts loop mode image_ref style_ref character_ref modify_image_ref format');
const READ = words(
  'prompt aspect_ratio resolution duration keyframes media first_frame size seconds image input_reference last_frame ' +
    'last_image images reference_images video',
);
/** What the gateway decides. */
const KEPT = words('model metadata generation_type callback_url callbackUrl webhook_url');
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
const OWN = new Set([...PASSED, ...READ, ...KEPT].map(stripSeparators));

const STATUSES = { queued: 'QUEUED', dreaming: 'IN_PROGRESS', completed: 'SUCCESS', failed: 'FAILURE' };

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/dream-machine\/v1$/, '')}/dream-machine/v1`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

/** An address; OpenAI's clients wrap it into `{image_url}`, the vendor into `{url}`. */
function readAddress(name, given) {
  const value = isObject(given) ? firstGiven(given.url, given.image_url, given) : given;
  if (typeof value === 'string' && /^https?:\/\//i.test(value.trim())) return value.trim();
  throw new Error(`${name} must be an https URL: Luma takes neither files nor data URLs.`);
}

/** A form holds numbers, flags and objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** Clients of the responses API know a task as `resp_…`. */
const toTaskId = (id) => id.replace(/^resp_/, 'task_');

/** An image, or an earlier generation, by the id that the gateway gave it. */
function readFrame(name, given) {
  if (given?.type === 'generation') {
    if (typeof given.id !== 'string') throw new Error(`${name} names no generation.`);
    return { type: 'generation', id: toTaskId(given.id) };
  }
  if (typeof given === 'string' && /^(task|resp)_\w+$/.test(given)) return { type: 'generation', id: toTaskId(given) };
  return { type: 'image', url: readAddress(name, given) };
}

/** "1280x720" as resolution and ratio. */
function toShape(size) {
  if (!isGiven(size)) return {};
  if (RESOLUTIONS.includes(size)) return { resolution: size };
  const match = /^([1-9]\d{0,4})[x*]([1-9]\d{0,4})$/i.exec(size);
  if (!match) throw new Error(`The size "${String(size).slice(0, 40)}" is not in the form WIDTHxHEIGHT.`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const side = Math.min(width, height);
  const distance = (name) => {
    const [across, down] = name.split(':').map(Number);
    return Math.abs(Math.log(width / height / (across / down)));
  };
  return {
    resolution: side <= 540 ? '540p' : side <= 720 ? '720p' : side <= 1080 ? '1080p' : '4k',
    aspect_ratio: RATIOS.reduce((best, name) => (distance(name) < distance(best) ? name : best)),
  };
}

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(sent) {
  const metadata = parsed(sent.metadata) ?? {};
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const fields = { ...metadata, ...sent };
  if (isGiven(fields.prompt) && typeof fields.prompt !== 'string') throw new Error('prompt must be a string.');
  const length = firstGiven(fields.duration, fields.seconds);
  const seconds = length === undefined ? undefined : Number(String(length).replace(/s$/, ''));
  if (seconds !== undefined && !Number.isInteger(seconds)) throw new Error('Seconds are a whole number.');
  const shape = toShape(fields.size);
  const keyframes = { ...parsed(fields.keyframes) };
  const first = firstGiven(keyframes.frame0, fields.image, fields.input_reference);
  const last = firstGiven(keyframes.frame1, fields.last_frame, fields.last_image);
  const frames = {};
  if (isGiven(first)) frames.frame0 = readFrame('The first frame', first);
  if (isGiven(last)) frames.frame1 = readFrame('The last frame', last);
  const references = firstGiven(fields.reference_images, fields.images) ?? [];
  const media = firstGiven(fields.media, fields.video);
  const intent = {
    prompt: fields.prompt,
    aspect_ratio: firstGiven(fields.aspect_ratio, shape.aspect_ratio),
    resolution: firstGiven(fields.resolution, shape.resolution),
    duration: seconds === undefined ? undefined : `${seconds}s`,
    keyframes: first === undefined && last === undefined ? undefined : frames,
    media: media === undefined ? undefined : { url: readAddress('media', media) },
    first_frame: isGiven(fields.first_frame) ? { url: readAddress('first_frame', fields.first_frame) } : undefined,
  };
  for (const name of PASSED) if (isGiven(fields[name])) intent[name] = parsed(fields[name]);
  if (references.length > 0) {
    intent.image_ref = [references].flat().map((image) => ({ url: readAddress('reference_images', image) }));
  }
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  for (const name of Object.keys(intent)) if (!isGiven(intent[name])) delete intent[name];
  return intent;
}

/** A generation that continues another is made by that one's channel. */
function readIntent(model, fields) {
  const requestBody = normalize(fields);
  const frames = Object.values(requestBody.keyframes ?? {});
  const originTaskIds = frames.filter(({ type }) => type === 'generation').map(({ id }) => id);
  const intent = { kind: 'submit', model, requestBody };
  return originTaskIds.length === 0 ? intent : { ...intent, originTaskIds };
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const spec = MODELS[model] ?? UNLISTED;
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const { prompt = '', keyframes, media } = order;
  if (order.aspect_ratio !== undefined && !RATIOS.includes(order.aspect_ratio)) {
    throw new Error(`aspect_ratio is one of ${RATIOS.join(', ')}.`);
  }
  if (prompt.trim() === '' && !keyframes && !media) throw new Error('Please give a prompt.');
  if (spec.image) {
    if (keyframes) order.modify_image_ref ??= { url: keyframes.frame0?.url };
    const { resolution: _wish, duration: _length, keyframes: _frames, ...image } = order;
    return { model, to: '/image', action: 'image', order: image, seconds: 0, resolution: '1080p' };
  }
  const resolution = order.resolution ?? '720p';
  if (!RESOLUTIONS.includes(resolution)) throw new Error(`resolution is one of ${RESOLUTIONS.join(', ')}.`);
  if (media) {
    if (!spec.longest) throw new Error(`${model} changes no given video.`);
    const { resolution: _wish, duration: _length, ...changed } = { mode: 'flex_1', ...order };
    return { model, to: '/video/modify', action: 'modify', order: changed, seconds: spec.longest, resolution };
  }
  const seconds = Number((order.duration ?? '5s').slice(0, -1));
  if (spec.lengths && !spec.lengths.includes(seconds)) {
    throw new Error(`A video of ${model} has ${spec.lengths.join(' or ')} seconds.`);
  }
  const action = keyframes ? 'image_to_video' : 'text_to_video';
  return { model, to: '', action, order: { ...order, resolution, duration: `${seconds}s` }, seconds, resolution };
}

/** The vendor's id of the caller's own generation. */
function upstreamFrame(ctx, frame) {
  if (frame?.type !== 'generation') return frame;
  const origin = (ctx.originTasks ?? []).find(({ taskId }) => taskId === frame.id);
  if (!origin) throw new Error('The generation of a keyframe is not one of your tasks, or cannot be named here.');
  return { type: 'generation', id: origin.upstreamTaskId };
}

export function buildSubmitRequest(ctx) {
  const { model, to, action, order } = plan(ctx);
  const { metadata, keyframes, ...rest } = order;
  const body = { ...metadata, ...rest, model };
  if (ctx.callbackUrl) body.callback_url = ctx.callbackUrl;
  if (keyframes) {
    body.keyframes = {};
    for (const name of Object.keys(keyframes)) body.keyframes[name] = upstreamFrame(ctx, keyframes[name]);
  }
  return {
    url: `${apiUrl(ctx)}/generations${to}`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    body,
    action,
  };
}

export function extractUsage(ctx) {
  const { seconds, resolution, action } = plan(ctx);
  return { seconds, resolution, images: action === 'image' ? 1 : 0, modify: action === 'modify' };
}

/** The vendor explains in `detail`, as a text or as a list of faults. */
function readMessage(body) {
  const detail = isObject(body) && Array.isArray(body.detail) ? body.detail : [];
  const faults = detail.map((fault) => textAt(fault, 'msg')).filter(Boolean);
  return faults.join('; ') || textAt(body, 'detail') || textAt(body, 'failure_reason') || textAt(body, 'message');
}

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'id');
  if (taskId === '') throw new Error(readMessage(body) || 'Luma answered without a generation.');
  return { taskId, taskData: body };
}

/** 403: the account is suspended. */
const REFUSALS = { 401: 'credential', 402: 'balance', 403: 'credential', 429: 'capacity' };

export function parseSubmitError({ statusCode, body }) {
  const message = readMessage(body);
  // An account without credits is answered as a wrong request is: the words alone tell.
  const isEmpty = statusCode === 400 && /^insufficient credits/i.test(message);
  const kind = isEmpty ? 'balance' : REFUSALS[statusCode];
  return kind ? { kind, message } : null;
}

export function buildQueryRequest(ctx) {
  return { url: `${apiUrl(ctx)}/generations/${encodeURIComponent(ctx.taskId)}`, headers: bearer(ctx) };
}

const TYPES = { video: 'video/mp4', image: undefined };
const readAssets = (body) => Object.keys(TYPES).filter((name) => textAt(objectAt(body, 'assets'), name) !== '');

/** What is not known is said to be unknown, and so is a success without a result. */
export function parseTaskResult(_ctx, body) {
  const named = textAt(body, 'state');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) };
  const status = STATUSES[named];
  if (status === 'FAILURE') return { status, reason: readMessage(body) || 'The generation failed at Luma.' };
  if (status !== 'SUCCESS') return { status };
  const [asset] = readAssets(body);
  return asset === undefined
    ? { status: 'UNKNOWN', reason: 'Luma names no result.' }
    : { status, url: body.assets[asset] };
}

/** What was made may differ from what was asked for. */
export function extractUsageOnComplete(ctx, result, body) {
  const request = objectAt(body, 'request');
  if (result.status !== 'SUCCESS' || ctx.action === 'image') return null;
  const usage = {};
  const seconds = Number(textAt(request, 'duration').replace(/s$/, ''));
  if (seconds > 0) usage.seconds = seconds;
  if (RESOLUTIONS.includes(request.resolution)) usage.resolution = request.resolution;
  return usage;
}

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return readAssets(task.data).map((key) => ({ key, type: key, mimeType: TYPES[key] }));
}

/** The addresses are public. */
export function buildContentRequest(ctx) {
  if (!readAssets(ctx.data).includes(ctx.artifactKey)) throw new Error('artifact_not_found');
  return { url: ctx.data.assets[ctx.artifactKey], method: ctx.clientRequest.method, credentialless: true };
}

/** The fields of a JSON or form body. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  // OpenAI's clients write an image's address as `image[image_url]`.
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field } of body.kind === 'multipart' ? body.files : []) readAddress(field);
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

const shown = ({ artifacts: { video, image } }) =>
  video ? `<video controls src="${video.url}"></video>` : `<img src="${image.url}" alt="">`;

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => readIntent(ctx.model, readFields(ctx.body)),
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      const length = textAt(objectAt(task.data, 'request'), 'duration').replace(/s$/, '');
      if (length !== '') video.seconds = length;
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
    return readIntent(model, { ...body.value, metadata: body.value });
  },
  /** The vendor's latest answer under the gateway's id and verdict. */
  presentGeneration(_ctx, task) {
    const data = objectAt(task, 'data');
    const state = Object.keys(STATUSES).find((name) => STATUSES[name] === task.status) ?? 'queued';
    const created_at = new Date(task.created_at * 1000).toISOString();
    const seen = { created_at, ...data, id: task.task_id, model: task.model, state };
    return task.status === 'FAILURE' ? { ...seen, failure_reason: task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ detail: error.message }),
};
