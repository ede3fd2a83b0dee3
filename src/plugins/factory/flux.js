// FLUX images of Black Forest Labs: https://docs.bfl.ai. The model is a part of the path. Each
// answer names the regional address at which its job is asked for, so those hosts are allowed. A
// finished image lies at a public address for ten minutes.

/** Hosts that `polling_url` may name. A job is known at its own region only. */
const REGIONS = ['api.bfl.ai', 'api.eu.bfl.ai', 'api.us.bfl.ai', 'api.ice.bfl.ai'].concat(
  ...[1, 2, 3, 4, 5, 6].map((number) => [`api.eu${number}.bfl.ai`, `api.us${number}.bfl.ai`]),
);

/**
 * `shape`: 'pixels' takes width and height, 'ratio' an aspect ratio. `images`: most input images.
 * `credits`: what the vendor charges for an
 * image, as [first megapixel, each further one, each of the input], until its answer says it.
 */
const MODELS = {
  'flux-2-pro': { shape: 'pixels', images: 8, credits: [3, 1.5, 1.5] },
  'flux-2-max': { shape: 'pixels', images: 8, credits: [7, 3, 3] },
  'flux-2-flex': { shape: 'pixels', images: 8, credits: [5, 5, 5] },
  'flux-2-klein-4b': { shape: 'pixels', images: 4, credits: [1.4, 0.1, 0.1] },
  'flux-2-klein-9b': { shape: 'pixels', images: 4, credits: [1.5, 0.2, 0.2] },
  'flux-kontext-pro': { shape: 'ratio', images: 4, credits: [4, 0, 0] },
  'flux-kontext-max': { shape: 'ratio', images: 4, credits: [8, 0, 0] },
  'flux-pro-1.1': { shape: 'pixels', images: 0, credits: [4, 0, 0] },
  'flux-pro-1.1-ultra': { shape: 'ratio', images: 0, megapixels: 4, credits: [6, 0, 0] },
};
/** A newer model that a channel maps to. */
const UNLISTED = MODELS['flux-2-max'];

export const meta = {
  apiVersion: 1,
  key: 'flux',
  name: 'FLUX',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Black Forest Labs FLUX: text to image, and editing with up to eight images',
    zh: 'Black Forest Labs 的 FLUX 模型：文生图与多图编辑',
    ja: 'Black Forest Labs FLUX：テキストから画像、最大8枚の画像の編集',
    es: 'Black Forest Labs FLUX: texto a imagen y edición con hasta ocho imágenes',
    de: 'Black Forest Labs FLUX: Text zu Bild und Bearbeitung mit bis zu acht Bildern',
    pt: 'Black Forest Labs FLUX: texto para imagem e edição com até oito imagens',
  },
  icon: 'Flux',
  sortPriority: 40,
  website: 'https://docs.bfl.ai',
  baseUrl: 'https://api.bfl.ai',
  allowedHosts: REGIONS,
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: ['proto_image', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // A client of the vendor reaches them with `<gateway>/bfl` as its base address.
  routes: [
    { method: 'POST', path: '/bfl/v1/:model', type: 'submit', decode: 'decodeSubmit', render: 'presentSubmitted' },
    { method: 'GET', path: '/bfl/v1/get_result', type: 'dynamic', decode: 'decodeQuery', render: 'presentResult' },
  ],
  usageSchema: {
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
    megapixels: {
      type: 'number',
      unit: 'count',
      description: {
        en: 'Image size (megapixels)',
        zh: '图片大小（百万像素）',
        ja: '画像サイズ（メガピクセル）',
        es: 'Tamaño de la imagen (megapíxeles)',
        de: 'Bildgröße (Megapixel)',
        pt: 'Tamanho da imagem (megapixels)',
      },
    },
    input_images: {
      type: 'number',
      unit: 'count',
      description: {
        en: 'Number of input images',
        zh: '输入图片数量',
        ja: '入力画像の枚数',
        es: 'Número de imágenes de entrada',
        de: 'Anzahl der Eingabebilder',
        pt: 'Número de imagens de entrada',
      },
    },
    credits: {
      type: 'number',
      unit: 'credit',
      description: {
        en: 'Vendor credits, estimated until the vendor reports them',
        zh: '服务商积分，服务商返回前为估算值',
        ja: 'ベンダーのクレジット（ベンダーの報告までは見積もり）',
        es: 'Créditos del proveedor, estimados hasta que los comunique',
        de: 'Anbieter-Credits, geschätzt, bis der Anbieter sie meldet',
        pt: 'Créditos do fornecedor, estimados até que ele os informe',
      },
    },
  },
  usageExamples: [
    { label: '1024x1024 from text', facts: { images: 1, megapixels: 1, input_images: 0, credits: 3 } },
    { label: '2048x2048 from 2 images', facts: { images: 1, megapixels: 4, input_images: 2, credits: 10.5 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    images: { en: 'Images', zh: '图片', ja: '画像', es: 'Imágenes', de: 'Bilder', pt: 'Imagens' },
    megapixels: {
      en: 'Megapixels',
      zh: '百万像素',
      ja: 'メガピクセル',
      es: 'Megapíxeles',
      de: 'Megapixel',
      pt: 'Megapixels',
    },
    input_images: {
      en: 'Input images',
      zh: '输入图片',
      ja: '入力画像',
      es: 'Imágenes de entrada',
      de: 'Eingabebilder',
      pt: 'Imagens de entrada',
    },
    credits: { en: 'Credits', zh: '积分', ja: 'クレジット', es: 'Créditos', de: 'Credits', pt: 'Créditos' },
  },
  keyUrl: 'https://dashboard.bfl.ai/get-started',
  keyFormat: 'bfl_…',
  ranges: { images: null, megapixels: null, input_images: null },
};

const MAX_IMAGE_BYTES = 20 * 1024 * 1024;
const MAX_SIDE = 4096;
const RATIOS = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '5:4', '4:5', '21:9', '9:21'];
const IMAGES = ['input_image', ...[2, 3, 4, 5, 6, 7, 8].map((number) => `input_image_${number}`)];
const NUMBERS = ['width', 'height', 'seed', 'safety_tolerance', 'steps', 'guidance', 'image_prompt_strength'];
const FLAGS = ['prompt_upsampling', 'raw'];
const TEXTS = ['prompt', 'size', 'aspect_ratio', 'output_format'];
const ALIASES = ['n', 'image', 'images', 'input_reference', 'image_prompt'];
/** What the gateway decides, and fields of OpenAI's clients that mean nothing here. */
const KEPT = ['model', 'webhook_url', 'webhook_secret', 'metadata', 'user', 'quality', 'style', 'background'];
const RESPONSES = ['input', 'stream', 'store', 'instructions', 'seconds'];
const OWN = new Set([...IMAGES, ...NUMBERS, ...FLAGS, ...TEXTS, ...ALIASES, ...KEPT, ...RESPONSES]);

const STATUSES = {
  Pending: 'IN_PROGRESS',
  Ready: 'SUCCESS',
  Error: 'FAILURE',
  Failed: 'FAILURE',
  'Request Moderated': 'FAILURE',
  'Content Moderated': 'FAILURE',
};
const ENDINGS = {
  'Request Moderated': 'The request was refused by the moderation of Black Forest Labs.',
  'Content Moderated': 'The image was withheld by the moderation of Black Forest Labs.',
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const root = (ctx) => ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
const keyHeader = (ctx) => ({ 'x-key': ctx.apiKey });
const readModel = (ctx) => ctx.upstreamModel || ctx.model;

// ------------------------------------------------------------------------------------------------------------- the request

/** An address or Base64, or `{ref}` of an uploaded file. */
function readImage(name, given) {
  const value = isObject(given) && isGiven(given.image_url) ? given.image_url : given;
  if (typeof value === 'string') return value.trim().replace(/^data:[^,]{0,100};base64,/, '');
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be an http(s) URL, a data URL of an image, or an uploaded file.`);
}

function readNumber(name, given) {
  const value = Number(given);
  if (!Number.isFinite(value)) throw new Error(`${name} must be a number.`);
  return value;
}

function readFlag(name, given) {
  if (![true, false, 'true', 'false'].includes(given)) throw new Error(`${name} must be true or false.`);
  return String(given) === 'true';
}

function readText(name, given) {
  if (typeof given !== 'string') throw new Error(`${name} must be a string.`);
  return given;
}

/** A form holds it as JSON text. */
function readMetadata(given) {
  if (typeof given !== 'string') return isObject(given) ? given : {};
  try {
    const value = JSON.parse(given);
    return isObject(value) ? value : {};
  } catch {
    throw new Error('metadata must be a JSON object.');
  }
}

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(sent) {
  const metadata = readMetadata(sent.metadata);
  const fields = { ...metadata, ...sent };
  if (isGiven(fields.n) && Number(fields.n) !== 1) throw new Error('A request makes one image; leave n out.');
  const intent = {};
  const readAll = (names, read) => {
    for (const name of names) if (isGiven(fields[name])) intent[name] = read(name, fields[name]);
  };
  readAll(TEXTS, readText);
  readAll(NUMBERS, readNumber);
  readAll(FLAGS, readFlag);
  const given = ['input_reference', 'image', 'images'].flatMap((name) => fields[name] ?? []).filter(isGiven);
  const images = [...given, ...IMAGES.map((name) => fields[name]).filter(isGiven)];
  if (images.length > IMAGES.length) throw new Error(`At most ${IMAGES.length} images are taken.`);
  for (const [index, image] of images.entries()) intent[IMAGES[index]] = readImage(IMAGES[index], image);
  if (isGiven(fields.image_prompt)) intent.image_prompt = readImage('image_prompt', fields.image_prompt);
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(name));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  return intent;
}

function toSize(size) {
  if (size === undefined || size === 'auto') return undefined;
  const match = /^([1-9]\d{1,3})[x*]([1-9]\d{1,3})$/i.exec(size);
  if (!match) throw new Error(`The size "${size.slice(0, 40)}" is not in the form WIDTHxHEIGHT.`);
  return { width: Number(match[1]), height: Number(match[2]) };
}

function nearestRatio({ width, height }) {
  const distance = (name) => {
    const [across, down] = name.split(':').map(Number);
    return Math.abs(Math.log(width / height / (across / down)));
  };
  return RATIOS.reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = readModel(ctx);
  const spec = MODELS[model] ?? UNLISTED;
  const { size, ...order } = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  if (!order.prompt?.trim()) throw new Error('Please give a prompt.');
  const images = IMAGES.filter((name) => name in order).length;
  if (images > spec.images) {
    throw new Error(spec.images === 0 ? `${model} takes no images.` : `${model} takes at most ${spec.images} images.`);
  }
  const wished = toSize(size);
  if (wished && spec.shape === 'ratio') order.aspect_ratio ??= nearestRatio(wished);
  if (wished && spec.shape === 'pixels') Object.assign(order, { ...wished, ...order });
  const { width = 1024, height = 1024 } = order;
  for (const side of [width, height]) {
    if (!(Number.isInteger(side) && side >= 64 && side <= MAX_SIDE)) {
      throw new Error(`Width and height are whole numbers from 64 to ${MAX_SIDE}.`);
    }
  }
  const megapixels =
    spec.shape === 'ratio' ? (spec.megapixels ?? 1) : Math.max(1, Math.ceil((width * height) / (1024 * 1024)));
  const [first, more, input] = spec.credits;
  return { model, order, images, megapixels, credits: first + more * (megapixels - 1) + input * images };
}

export function buildSubmitRequest(ctx) {
  const { model, order, images } = plan(ctx);
  const { metadata, ...body } = { ...order.metadata, ...order };
  for (const name of [...IMAGES, 'image_prompt']) {
    if (isObject(body[name])) body[name] = { __fileRef: body[name].ref, encoding: 'base64', maxBytes: MAX_IMAGE_BYTES };
  }
  return {
    url: `${root(ctx)}/v1/${encodeURIComponent(model)}`,
    method: 'POST',
    headers: { ...keyHeader(ctx), 'Content-Type': 'application/json' },
    body,
    action: images > 0 ? 'image_to_image' : 'text_to_image',
  };
}

export function extractUsage(ctx) {
  const { images, megapixels, credits } = plan(ctx);
  return { images: 1, megapixels, input_images: images, credits };
}

// ------------------------------------------------------------------------------------------------------------- the answers

/** The vendor explains in `detail`, as a text or as a list of faults, or in `error`. */
function readMessage(body) {
  const { detail } = isObject(body) ? body : {};
  if (Array.isArray(detail)) {
    return detail
      .map((fault) => textAt(fault, 'msg'))
      .filter(Boolean)
      .join('; ');
  }
  return textAt(body, 'detail') || textAt(body, 'error') || textAt(objectAt(body, 'error'), 'message');
}

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(body, 'id');
  if (taskId === '') throw new Error(readMessage(body) || 'Black Forest Labs answered without a task.');
  return { taskId, taskData: body, state: { polling_url: textAt(body, 'polling_url') } };
}

/** 429: as many jobs run as the account may have at once. */
const REFUSALS = { 402: 'balance', 403: 'credential', 429: 'capacity' };

export function parseSubmitError({ statusCode, body }) {
  const words = readMessage(body);
  const kind = /^(request|content) moderated/i.test(words) ? 'content' : REFUSALS[statusCode];
  return kind ? { kind, message: words } : null;
}

/** What the vendor charged. */
export function extractUsageOnSubmit(_ctx, answer) {
  const usage = {};
  if (Number(objectAt({ answer }, 'answer').cost) > 0) usage.credits = Number(answer.cost);
  if (Number(objectAt({ answer }, 'answer').output_mp) > 0) usage.megapixels = Number(answer.output_mp);
  return usage;
}

/** The job's own region; any other address is replaced by the channel's. */
export function buildQueryRequest(ctx) {
  const [url, origin] =
    /^(https?:\/\/[^/?#]+)\/v1\/get_result\?id=[\w-]+$/.exec(textAt(ctx.state, 'polling_url')) ?? [];
  const known = origin === root(ctx) || REGIONS.some((host) => origin === `https://${host}`);
  return {
    url: known ? url : `${root(ctx)}/v1/get_result?id=${encodeURIComponent(ctx.taskId)}`,
    headers: keyHeader(ctx),
  };
}

const readSample = (body) => textAt(objectAt(body, 'result'), 'sample');

/** What is not known is said to be unknown, and so is a success without an image. */
export function parseTaskResult(_ctx, body) {
  const named = textAt(body, 'status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(body) || named };
  const status = STATUSES[named];
  if (status === 'FAILURE') {
    const reasons = objectAt(body, 'details')['Moderation Reasons'];
    const why = Array.isArray(reasons) && reasons.length > 0 ? ` (${reasons.join(', ')})` : '';
    return { status, reason: `${ENDINGS[named] ?? (readMessage(body) || 'The image could not be generated.')}${why}` };
  }
  if (status !== 'SUCCESS') {
    return typeof body.progress === 'number' ? { status, progress: Math.round(body.progress * 100) } : { status };
  }
  const url = readSample(body);
  return url === '' ? { status: 'UNKNOWN', reason: 'the job is ready without an image' } : { status, url };
}

const TYPES = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', webp: 'image/webp' };

export function listArtifacts(task) {
  const url = task.status === 'SUCCESS' ? readSample(task.data) : '';
  if (url === '') return [];
  const mimeType = TYPES[/\.(\w+)(?:\?|$)/.exec(url)?.[1]];
  return [{ key: 'image', type: 'image', ...(mimeType ? { mimeType } : {}) }];
}

export function buildContentRequest(ctx) {
  const url = readSample(ctx.data);
  if (ctx.artifactKey !== 'image' || url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

// ----------------------------------------------------------------------------------------------------------- the protocols

/**
 * Texts in order, one a line, and images of a Responses request; further fields stand beside
 * `input`.
 */
function decodeResponses(body) {
  const request = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (typeof request.input === 'string') return { ...request, prompt: request.input };
  const parts = (Array.isArray(request.input) ? request.input : []).flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  const images = parts.filter((part) => part?.type === 'input_image').map((part) => part.image_url);
  if (texts.length === 0) return { ...request, images };
  return { ...request, prompt: texts.join('\n').trim(), images };
}

const shown = (ctx) => `<img src="${ctx.artifacts.image.url}" alt="">`;

/** The fields of a generation or of an edit, whose files are images. */
function decodeImages(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = Object.fromEntries(Object.entries(body.fields).map(([name, values]) => [name, values[0]]));
  const images = body.files.map(({ field, ref }) => {
    if (/^images?(\[\])?$/.test(field)) return { ref };
    throw new Error(`The model takes no file in the field "${field}": send images as image.`);
  });
  return { ...fields, images };
}

export const protocols = {
  proto_image: {
    decodeRequest(ctx) {
      return { kind: 'submit', model: ctx.model, requestBody: normalize(decodeImages(ctx.body)) };
    },
    /** The gateway's own links to the artifacts. */
    render: () => null,
  },
  proto_responses: {
    decodeRequest(ctx) {
      // What is not read of a client's labels is not for the vendor.
      const { metadata: _labels, ...requestBody } = normalize(decodeResponses(ctx.body));
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
  decodeSubmit({ body, params }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    return { kind: 'submit', model: params.model, requestBody: normalize({ ...body.value, metadata: body.value }) };
  },
  decodeQuery({ query }) {
    const [id = ''] = query.id ?? [];
    if (id === '') throw new Error('Please give an id.');
    return { kind: 'query', taskIds: [id] };
  },
  /** A path of this gateway: the plugin does not know its address. */
  presentSubmitted(_ctx, task) {
    return { ...objectAt(task, 'data'), id: task.task_id, polling_url: `/bfl/v1/get_result?id=${task.task_id}` };
  },
  presentResult(_ctx, [task]) {
    const { status, result = null, progress = null } = objectAt(task, 'data');
    const named = STATUSES[status] === task.status ? status : { SUCCESS: 'Ready', FAILURE: 'Error' }[task.status];
    const seen = { id: task.task_id, status: named ?? 'Pending', result: task.status === 'SUCCESS' ? result : null };
    return task.status === 'FAILURE' ? { ...seen, error: task.fail_reason } : { ...seen, progress };
  },
  error: (_ctx, error) => ({ detail: error.message }),
};
