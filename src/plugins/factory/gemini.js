// Google's Veo by the Gemini API: https://ai.google.dev/gemini-api/docs/video. The channel's key is
// an API key of the Gemini API.

export const meta = {
  apiVersion: 1,
  key: 'gemini',
  name: 'Google Veo',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Google Veo through the Gemini API: text, frames or reference images to video',
    zh: '谷歌 Veo（Gemini 接口）：由文字、首尾帧或参考图片生成视频',
    ja: 'Google Veo（Gemini API）：テキスト、フレーム、参照画像から動画',
    es: 'Google Veo con la API de Gemini: texto, fotogramas o imágenes de referencia a vídeo',
    de: 'Google Veo über die Gemini-API: Text, Bilder oder Referenzbilder zu Video',
    pt: 'Google Veo pela API Gemini: texto, quadros ou imagens de referência para vídeo',
  },
  icon: 'Gemini.Color',
  models: [
    'veo-3.1-generate-preview',
    'veo-3.1-fast-generate-preview',
    'veo-3.1-lite-generate-preview',
    'veo-3.0-generate-001',
    'veo-3.0-fast-generate-001',
    'veo-2.0-generate-001',
  ],
  fetchMode: 'per_task',
  channelTypes: [24],
  sortPriority: 80,
  website: 'https://ai.google.dev/gemini-api/docs/video',
  baseUrl: 'https://generativelanguage.googleapis.com',
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
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
      enum: ['720p', '1080p', '4k'],
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
    { label: '4 sec at 720p', facts: { seconds: 4, resolution: '720p' } },
    { label: '8 sec at 1080p', facts: { seconds: 8, resolution: '1080p' } },
  ],
};

const RESOLUTIONS = ['720p', '1080p', '4k'];
const isVeo2 = (model) => model.startsWith('veo-2');
const makes4k = (model) => /^veo-3\.1-(fast-)?generate/.test(model);
const lengthsFor = (model) => (isVeo2(model) ? [5, 6, 7, 8] : [4, 6, 8]);
const resolutionsFor = (model) => RESOLUTIONS.slice(0, isVeo2(model) ? 1 : makes4k(model) ? 3 : 2);
const byModel = (toRange) => ({ models: Object.fromEntries(meta.models.map((model) => [model, toRange(model)])) });

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
  },
  keyUrl: 'https://aistudio.google.com/apikey',
  keyFormat: ['AIza…', 'AQ.…'],
  ranges: {
    seconds: byModel((model) => ({ values: lengthsFor(model) })),
    resolution: byModel((model) => ({ values: resolutionsFor(model) })),
  },
};

const RATIOS = ['16:9', '9:16'];
const DEFAULT_SECONDS = 8;
const MAX_REFERENCES = 3;
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;
/** Optional texts that go to the vendor as they are, by their names in `parameters`. */
const PASSED = { negative_prompt: 'negativePrompt', person_generation: 'personGeneration' };
/** The vendor's names of fields that have another one here. */
const RENAMED = {
  durationSeconds: 'seconds',
  aspectRatio: 'aspect_ratio',
  negativePrompt: 'negative_prompt',
  personGeneration: 'person_generation',
};
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = new Set(
  `prompt size seconds duration resolution aspect_ratio negative_prompt person_generation seed image
  input_reference last_frame reference_images images metadata extra ${Object.keys(RENAMED).join(' ')}`
    .split(/\s+/)
    .map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers|storage_?uri)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.trim() !== '';
const given = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(given);
const root = (ctx) => ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1beta$/, '');
const keyHeader = (ctx) => ({ 'x-goog-api-key': ctx.apiKey });
const readModel = (ctx) => ctx.upstreamModel || ctx.model;

// ------------------------------------------------------------------------------------------------------------- the request

/**
 * An image as `{file, mimeType}` (an upload of this request) or `{data, mimeType}` (Base64). The
 * API takes bytes, and a plugin can fetch
 * nothing: an address is refused.
 */
function readImage(value, name) {
  const url = isObject(value) ? value.image_url : value;
  if (isText(url)) {
    const match = /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(url);
    if (!match) throw new Error(`${name} is an image file or a data URL with Base64: Veo takes no addresses.`);
    return { data: match[2], mimeType: match[1] };
  }
  if (isObject(value) && isText(value.file)) return { file: value.file, mimeType: value.mimeType || 'image/png' };
  if (isObject(value) && isText(value.data)) return { data: value.data, mimeType: value.mimeType || 'image/png' };
  throw new Error(`${name} is an image file or a data URL with Base64.`);
}

/** "1280x720" as the ratio and resolution that come closest. */
function toShape(size) {
  const match = /^(\d+)x(\d+)$/.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const side = Math.min(width, height);
  const resolution = side <= 720 ? '720p' : side <= 1080 ? '1080p' : '4k';
  return { resolution, ratio: width >= height ? '16:9' : '9:16' };
}

function readChoice(value, known, name) {
  if (!known.includes(value)) throw new Error(`${name} is one of ${known.join(', ')}.`);
  return value;
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
  const named = { ...readMembers(metadata, 'metadata') };
  for (const [theirs, ours] of Object.entries(RENAMED)) {
    if (given(named[theirs])) named[ours] = named[theirs];
  }
  const more = Object.entries({ ...readMembers(extra, 'extra'), ...named });
  const passed = more.filter(([name, value]) => !isOwn(name) && given(value));
  return { ...named, ...fields, extra: Object.fromEntries(passed) };
}

const isList = (name) => name === 'reference_images' || name === 'images';

/** The fields of any request in one form, checked. Applied twice it gives the same. */
function normalize(request) {
  const fields = withMetadata(request);
  if (!isText(fields.prompt)) throw new Error('Please give a prompt.');
  const shape = given(fields.size) ? toShape(String(fields.size)) : { resolution: '720p', ratio: '16:9' };
  const seconds = Number(firstGiven(fields.seconds, fields.duration, DEFAULT_SECONDS));
  if (!(seconds >= 4 && seconds <= 8)) throw new Error('The length of a video is from 4 to 8 seconds.');
  const order = {
    prompt: fields.prompt,
    seconds,
    resolution: readChoice(firstGiven(fields.resolution, shape.resolution), RESOLUTIONS, 'resolution'),
    aspect_ratio: readChoice(firstGiven(fields.aspect_ratio, shape.ratio), RATIOS, 'aspect_ratio'),
  };
  for (const name of Object.keys(PASSED)) if (isText(fields[name])) order[name] = fields[name];
  if (given(fields.seed)) {
    order.seed = Number(fields.seed);
    if (!Number.isInteger(order.seed) || order.seed < 0) throw new Error('seed is a whole number of at least 0.');
  }
  const image = firstGiven(fields.image, fields.input_reference);
  if (image) order.image = readImage(image, 'image');
  if (given(fields.last_frame)) order.last_frame = readImage(fields.last_frame, 'last_frame');
  if (order.last_frame && !order.image) throw new Error('last_frame needs the first frame in image.');
  const references = firstGiven(fields.reference_images, fields.images);
  if (given(references)) {
    const list = Array.isArray(references) ? references : [references];
    if (list.length > MAX_REFERENCES) throw new Error(`At most ${MAX_REFERENCES} reference_images are taken.`);
    if (list.length > 0) order.reference_images = list.map((item) => readImage(item, 'reference_images'));
  }
  if (Object.keys(fields.extra).length > 0) order.extra = fields.extra;
  return order;
}

/** The order with the rules of its model. */
function readOrder(ctx) {
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const model = readModel(ctx);
  const lengths = lengthsFor(model);
  if (!lengths.includes(order.seconds)) throw new Error(`${model} makes videos of ${lengths.join(', ')} seconds.`);
  if (isVeo2(model) && order.resolution !== '720p') throw new Error(`${model} makes 720p only.`);
  if (order.resolution !== '720p' && order.seconds !== 8)
    throw new Error(`${order.resolution} videos are 8 seconds long.`);
  if (!resolutionsFor(model).includes(order.resolution)) throw new Error(`${model} makes no 4k videos.`);
  return order;
}

/**
 * The fields of a JSON or multipart body; files by the name of their field. Reference images may be
 * repeated, as files, texts or both.
 */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const [name, values] of Object.entries(body.fields)) {
    // OpenAI's clients write an image's address as `input_reference[image_url]`.
    fields[name.replace('[image_url]', '')] = isList(name) ? values.filter(isText) : values[0];
  }
  for (const { ref, field, mimeType } of body.kind === 'multipart' ? body.files : []) {
    const file = { file: ref, mimeType };
    if (isList(field)) fields[field] = [...(fields[field] || []), file];
    else fields[field] = file;
  }
  return fields;
}

export function buildSubmitRequest(ctx) {
  const model = readModel(ctx);
  const order = readOrder(ctx);
  const bytes = ({ data, file, mimeType }) => ({
    bytesBase64Encoded: data || { __fileRef: file, encoding: 'base64', maxBytes: MAX_IMAGE_BYTES },
    mimeType,
  });
  const instance = { prompt: order.prompt };
  if (order.image) instance.image = bytes(order.image);
  if (order.last_frame) instance.lastFrame = bytes(order.last_frame);
  if (order.reference_images) {
    instance.referenceImages = order.reference_images.map((image) => ({ image: bytes(image), referenceType: 'asset' }));
  }
  const parameters = { ...order.extra, aspectRatio: order.aspect_ratio, durationSeconds: order.seconds };
  if (!isVeo2(model)) parameters.resolution = order.resolution;
  for (const [name, theirs] of Object.entries(PASSED)) if (order[name]) parameters[theirs] = order[name];
  if (order.seed !== undefined) parameters.seed = order.seed;
  return {
    url: `${root(ctx)}/v1beta/models/${encodeURIComponent(model)}:predictLongRunning`,
    method: 'POST',
    headers: { ...keyHeader(ctx), 'Content-Type': 'application/json' },
    body: { instances: [instance], parameters },
    action: toAction(order),
  };
}

function toAction(order) {
  if (order.reference_images) return 'reference_to_video';
  if (order.last_frame) return 'first_tail_to_video';
  return order.image ? 'image_to_video' : 'text_to_video';
}

// ------------------------------------------------------------------------------------------------------------- the answers

const readMessage = (error) => (isObject(error) && (error.message || error.status)) || String(error);

export function parseSubmitResponse(_ctx, { body }) {
  if (!isObject(body) || !isText(body.name)) {
    throw new Error(
      `The answer holds no operation${isObject(body) && body.error ? `: ${readMessage(body.error)}` : '.'}`,
    );
  }
  const result = readOperation(body);
  const ended = result.status === 'SUCCESS' || result.status === 'FAILURE';
  return { taskId: body.name, taskData: body, ...(ended ? { immediate: result } : {}) };
}

/** Google has limits of starts alone; it may say when to try again. A wrong key gets 400. */
export function parseSubmitError({ statusCode, body }) {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const details = Array.isArray(error.details) ? error.details : [];
  const message = isText(error.message) ? error.message : undefined;
  if (error.status === 'PERMISSION_DENIED' || details.some((detail) => detail?.reason === 'API_KEY_INVALID'))
    return { kind: 'credential', message };
  if (statusCode !== 429) return null;
  const delay = details.find((detail) => isText(detail?.retryDelay));
  const retryAfterSeconds = delay ? Number.parseFloat(delay.retryDelay) : undefined;
  return { kind: 'rate', message, retryAfterSeconds };
}

/** The operation's name is a path: `models/<model>/operations/<id>`. */
export function buildQueryRequest(ctx) {
  const name = ctx.taskId.split('/').map(encodeURIComponent).join('/');
  return { url: `${root(ctx)}/v1beta/${name}`, headers: keyHeader(ctx) };
}

export function parseTaskResult(_ctx, body) {
  return readOperation(body);
}

/** The finished videos, each with its address as `uri`. */
function readVideos(operation) {
  const answer =
    isObject(operation) && isObject(operation.response) ? operation.response.generateVideoResponse : undefined;
  const samples = isObject(answer) ? (answer.generatedSamples ?? answer.generatedVideos) : [];
  return (Array.isArray(samples) ? samples : []).map((sample) => sample?.video).filter((video) => isText(video?.uri));
}

function readOperation(operation) {
  if (!isObject(operation) || !isText(operation.name)) {
    return {
      status: 'UNKNOWN',
      reason: isObject(operation) && operation.error ? readMessage(operation.error) : 'no operation',
    };
  }
  // An operation that runs has no `done` at all.
  if (operation.done !== true) return { status: 'IN_PROGRESS' };
  if (operation.error) return { status: 'FAILURE', reason: readMessage(operation.error) };
  if (readVideos(operation).length > 0) return { status: 'SUCCESS', progress: 100 };
  const filtered = operation.response?.generateVideoResponse?.raiMediaFilteredReasons;
  const reason = Array.isArray(filtered) ? filtered.filter(isText).join(' ') : '';
  return { status: 'FAILURE', reason: reason || 'The operation ended without a video.' };
}

export function extractUsage(ctx) {
  const { seconds, resolution } = readOrder(ctx);
  return { seconds, resolution };
}

/** What was made, where the vendor tells. */
export function extractUsageOnComplete(_ctx, result, operation) {
  const [video] = readVideos(operation);
  if (result.status !== 'SUCCESS' || !video) return null;
  const facts = {};
  const seconds = Number.parseFloat(video.durationSeconds ?? video.duration);
  if (seconds > 0) facts.seconds = seconds;
  if (RESOLUTIONS.includes(video.resolution)) facts.resolution = video.resolution;
  return facts;
}

const toKey = (index) => (index === 0 ? 'video' : `video-${index + 1}`);

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return readVideos(task.data).map((_video, index) => ({ key: toKey(index), type: 'video', mimeType: 'video/mp4' }));
}

/**
 * A file of the API needs the key, and is fetched from the channel's own address; any other address
 * gets no credential.
 */
export function buildContentRequest(ctx) {
  const { uri } = readVideos(ctx.data).find((_video, index) => toKey(index) === ctx.artifactKey) ?? {};
  if (!uri) throw new Error('artifact_not_found');
  const { method, headers } = ctx.clientRequest;
  const file = /\/v1beta\/files\/([\w-]+):download/.exec(uri);
  if (!file) return { url: uri, method, credentialless: true };
  const url = `${root(ctx)}/v1beta/files/${file[1]}:download?alt=media`;
  return { url, method, headers: { ...headers, ...keyHeader(ctx) } };
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
