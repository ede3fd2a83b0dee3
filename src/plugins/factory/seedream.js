// Seedream images of Volcengine Ark: https://www.volcengine.com/docs/82379/1541523. The vendor
// answers with the finished images, so a task ends with its submission.

const words = (text) => text.split(' ');
/**
 * `least`, `most`: pixels of an image. `usual`: its size where none is given. `images`: most input
 * images. `group`: makes several in one request.
 */
const MODELS = {
  'doubao-seedream-5-0-pro-260628': { least: 921_600, most: 4_194_304, usual: '2048x2048', images: 10 },
  'doubao-seedream-5-0-lite-260128': {
    least: 3_686_400,
    most: 16_777_216,
    usual: '2048x2048',
    images: 14,
    group: true,
  },
  'doubao-seedream-5-0-260128': { least: 3_686_400, most: 16_777_216, usual: '2048x2048', images: 14, group: true },
  'doubao-seedream-4-5-251128': { least: 3_686_400, most: 16_777_216, usual: '2048x2048', images: 14, group: true },
  'doubao-seedream-4-0-250828': { least: 921_600, most: 16_777_216, usual: '2048x2048', images: 14, group: true },
};
/** A newer model that a channel maps to, or an endpoint's id. */
const UNLISTED = MODELS['doubao-seedream-4-0-250828'];

export const meta = {
  apiVersion: 1,
  key: 'seedream',
  name: 'Doubao Seedream',
  version: '1.0.1',
  author: { name: 'Taskgate' },
  description: {
    en: 'Doubao Seedream: text to image, and editing with up to fourteen images',
    zh: '火山方舟豆包 Seedream：文生图、图生图与组图',
    ja: 'Doubao Seedream：テキストから画像、最大14枚の画像の編集',
    es: 'Doubao Seedream: texto a imagen y edición con hasta catorce imágenes',
    de: 'Doubao Seedream: Text zu Bild und Bearbeitung mit bis zu vierzehn Bildern',
    pt: 'Doubao Seedream: texto para imagem e edição com até quatorze imagens',
  },
  icon: 'Doubao.Color',
  sortPriority: 69,
  website: 'https://www.volcengine.com/docs/82379/1541523',
  baseUrl: 'https://ark.cn-beijing.volces.com',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: ['proto_image', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  usageSchema: {
    images: {
      type: 'number',
      unit: 'count',
      unitLabel: { en: 'image', zh: '张', ja: '枚', es: 'imagen', de: 'Bild', pt: 'imagem' },
      description: {
        en: 'Number of images; for a group, the maximum is reserved',
        zh: '图片数量；组图按最多数量预扣',
        ja: '画像の枚数。組画像では最大枚数を予約',
        es: 'Número de imágenes; en un grupo se reserva el máximo',
        de: 'Anzahl der Bilder; bei einer Bildserie wird das Maximum reserviert',
        pt: 'Número de imagens; em um grupo, reserva-se o máximo',
      },
    },
    tokens: {
      type: 'number',
      unit: 'token',
      description: {
        en: 'Tokens counted by Ark',
        zh: '方舟统计的 token 数',
        ja: 'Arkが計数したトークン',
        es: 'Tokens que cuenta Ark',
        de: 'Von Ark gezählte Tokens',
        pt: 'Tokens contados pelo Ark',
      },
    },
  },
  usageExamples: [{ label: '2048x2048 image', facts: { images: 1, tokens: 16_384 } }],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    images: { en: 'Images', zh: '图片', ja: '画像', es: 'Imágenes', de: 'Bilder', pt: 'Imagens' },
    tokens: { en: 'Tokens', zh: 'Token', ja: 'トークン', es: 'Tokens', de: 'Tokens', pt: 'Tokens' },
  },
  keyUrl: 'https://console.volcengine.com/ark/region:ark+cn-beijing/apiKey',
  keyFormat: 'ark-…',
  // BytePlus sells the same models in US dollars; Volcengine itself lists prices in yuan.
  listPrices: {
    url: 'https://docs.byteplus.com/en/docs/Byteplus_LAS/Large_model_billing',
    models: {
      'doubao-seedream-4-5-251128': '0.04 * u("images")',
      'doubao-seedream-4-0-250828': '0.03 * u("images")',
    },
  },
  ranges: {
    images: {
      models: Object.fromEntries(
        Object.entries(MODELS).map(([model, { group }]) => [
          model,
          group ? { minimum: 1, maximum: 15, whole: true } : null,
        ]),
      ),
    },
    tokens: null,
  },
  examples: [
    {
      label: {
        en: 'Reading room',
        zh: '阅览室',
        ja: '閲覧室',
        es: 'Sala de lectura',
        de: 'Lesesaal',
        pt: 'Sala de leitura',
      },
      request: { prompt: 'A quiet reading room with tall windows, late afternoon', size: '2048x2048' },
    },
  ],
};

/** Images that come in and images that go out are at most so many together. */
const MAX_GROUP = 15;
const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Pixels of a token. */
const PIXELS_A_TOKEN = 256;
const LABELS = { '1K': 1024, '2K': 2048, '4K': 4096 };
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** Fields that this plugin reads, then what the gateway decides. All others go on as they are. */
const OWN = new Set(
  words(
    'prompt n size images image input_reference max_images sequential_image_generation ' +
      'sequential_image_generation_options model metadata user stream response_format quality style background ' +
      'callback_url webhook_url',
  ).map(stripSeparators),
);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/api\/v3$/, '')}/api/v3`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

/** An address, a data URL, or `{ref}` of an uploaded file. */
function readSource(given) {
  const value = isObject(given) ? firstGiven(given.image_url, given.url, given) : given;
  const text = typeof value === 'string' ? value.trim() : '';
  if (/^(https?:\/\/|data:)/i.test(text.slice(0, 10))) return text;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error('An image must be an http(s) URL, a data URL, or an uploaded file.');
}

/** A form holds numbers, flags and objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(sent) {
  const metadata = parsed(sent.metadata) ?? {};
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const fields = { ...metadata, ...sent };
  const intent = {};
  const read = (name, given, as = (value) => value) => {
    if (isGiven(given)) intent[name] = as(given);
  };
  read('prompt', fields.prompt, (prompt) => {
    if (typeof prompt !== 'string') throw new Error('prompt must be a string.');
    return prompt;
  });
  // Forms call the number of images so.
  const count = /^\d{1,3}$/.test(String(fields.images)) ? fields.images : undefined;
  const group = parsed(fields.sequential_image_generation_options);
  read('n', firstGiven(fields.n, fields.max_images, isObject(group) ? group.max_images : undefined, count), Number);
  read('size', fields.size, String);
  const images = [count ? [] : (fields.images ?? []), fields.image ?? [], fields.input_reference ?? []]
    .flat()
    .filter(isGiven);
  if (images.length > 0) intent.images = images.map(readSource);
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  return intent;
}

/** Pixels of `2K` or of `2048x2048`, which must be what the model takes. */
function toPixels(size, { least, most }) {
  if (Object.hasOwn(LABELS, size)) return LABELS[size] ** 2;
  const match = /^([1-9]\d{1,4})[x*]([1-9]\d{1,4})$/i.exec(size);
  if (!match) throw new Error('The size is 1K, 2K, 4K or in the form WIDTHxHEIGHT.');
  const pixels = Number(match[1]) * Number(match[2]);
  if (pixels < least || pixels > most) throw new Error(`An image has from ${least} to ${most} pixels.`);
  return pixels;
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const spec = MODELS[model] ?? UNLISTED;
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  if (!order.prompt?.trim()) throw new Error('Please give a prompt.');
  const { images = [], n = 1 } = order;
  if (images.length > spec.images) throw new Error(`${model} takes at most ${spec.images} images.`);
  const most = spec.group ? MAX_GROUP - images.length : 1;
  if (!(Number.isInteger(n) && n >= 1 && n <= most)) throw new Error(`n is a whole number from 1 to ${most}.`);
  const size = order.size === undefined || order.size === 'auto' ? spec.usual : order.size.replace('*', 'x');
  const tokens = Math.ceil((n * toPixels(size, spec)) / PIXELS_A_TOKEN);
  return { model, spec, order, images, n, size, tokens };
}

export function buildSubmitRequest(ctx) {
  const { model, spec, order, images, n, size } = plan(ctx);
  const placed = images.map((source) =>
    isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_FILE_BYTES } : source,
  );
  const body = { ...order.metadata, model, prompt: order.prompt, size, response_format: 'url' };
  if (placed.length > 0) body.image = placed.length === 1 ? placed[0] : placed;
  if (spec.group) body.sequential_image_generation = n > 1 ? 'auto' : 'disabled';
  if (n > 1) body.sequential_image_generation_options = { max_images: n };
  return {
    url: `${apiUrl(ctx)}/images/generations`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    body,
    action: images.length > 0 ? 'image_to_image' : 'text_to_image',
  };
}

export function extractUsage(ctx) {
  const { n, tokens } = plan(ctx);
  return { images: n, tokens };
}

const readError = (value) => (isObject(value) && isObject(value.error) ? value.error : {});
const readMessage = (body) => textAt(readError(body), 'message') || textAt(body, 'message');
const readItems = (data) => (isObject(data) && Array.isArray(data.data) ? data.data : []);
const readUrls = (data) =>
  readItems(data)
    .map((item) => textAt(item, 'url'))
    .filter(Boolean);

/** Of a group some may be missing: those say why. */
export function parseSubmitResponse(ctx, { body, headers }) {
  const taskId = headers['x-request-id']?.[0] || ctx.publicTaskId;
  const taskData = { created: body?.created, data: readItems(body), usage: body?.usage };
  if (readUrls(body).length > 0) return { taskId, taskData, immediate: { status: 'SUCCESS' } };
  const missing = readItems(body).map(readMessage).find(Boolean);
  if (missing) return { taskId, taskData, immediate: { status: 'FAILURE', reason: missing } };
  throw new Error(readMessage(body) || 'Volcengine Ark answered without an image.');
}

/** What the vendor's codes mean. */
const REFUSALS = [
  [/RateLimitExceeded(\.\w+)?$|^RequestBurstTooFast$/, 'rate'],
  [/^(QuotaExceeded|InflightBatchsizeExceeded)$/, 'capacity'],
  [/^ServerOverloaded$/, 'vendor_busy'],
  [/^(AccountOverdueError|(OperationDenied\.)?ServiceOverdue|QuotaExceeded\.\w+|SetLimitExceeded)$/, 'balance'],
  [/^(AuthenticationError|AccessDenied|OperationDenied\.ServiceNotOpen)$/, 'credential'],
  [/SensitiveContentDetected|RiskDetection$/, 'content'],
  [/^(InvalidParameter|MissingParameter|InvalidEndpointOrModel)/, 'request'],
];

export function parseSubmitError({ body }) {
  const [, kind] = REFUSALS.find(([code]) => code.test(textAt(readError(body), 'code'))) ?? [];
  // One code says that too many tasks are there, and that what was free is used up.
  const isUsedUp = kind === 'capacity' && /free trial/i.test(readMessage(body));
  return kind ? { kind: isUsedUp ? 'balance' : kind, message: readMessage(body) } : null;
}

/** What was made: an image that was withheld is not charged. */
export function extractUsageOnSubmit(_ctx, data) {
  const made = Number(data?.usage?.generated_images);
  const tokens = Number(data?.usage?.total_tokens);
  return { images: made > 0 ? made : readUrls(data).length, ...(tokens > 0 ? { tokens } : {}) };
}

/**
 * The images are there already. They are only asked for when their end could not be stored, and the
 * vendor has no place to ask: any question that it answers will do.
 */
export const buildQueryRequest = (ctx) => ({
  url: `${apiUrl(ctx)}/contents/generations/tasks?page_size=1`,
  headers: bearer(ctx),
});

export function parseTaskResult(ctx) {
  return readUrls(ctx.data).length > 0
    ? { status: 'SUCCESS' }
    : { status: 'UNKNOWN', reason: 'the images are not there' };
}

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return readUrls(task.data).map((_url, index) => ({
    key: index === 0 ? 'image' : `image-${index + 1}`,
    type: 'image',
  }));
}

/** The addresses are signed, and gone after a day. */
export function buildContentRequest(ctx) {
  const index = listArtifacts({ ...ctx, status: 'SUCCESS' }).findIndex(({ key }) => key === ctx.artifactKey);
  if (index < 0) throw new Error('artifact_not_found');
  return { url: readUrls(ctx.data)[index], method: ctx.clientRequest.method, credentialless: true };
}

/** Texts in order, one a line, and images of a Responses request; fields stand beside `input`. */
function decodeResponses(body) {
  const { input, metadata: _labels, ...request } = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (!Array.isArray(input)) return typeof input === 'string' ? { ...request, prompt: input } : request;
  const parts = input.flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  const images = parts.filter((part) => part?.type === 'input_image').map((part) => part.image_url);
  return { ...request, prompt: texts.join('\n').trim(), ...(images.length > 0 ? { images } : {}) };
}

const shown = (ctx) =>
  Object.values(ctx.artifacts)
    .map(({ url }) => `<img src="${url}" alt="">`)
    .join('\n');

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
    decodeRequest: (ctx) => ({
      kind: 'submit',
      model: ctx.model,
      requestBody: normalize(decodeResponses(ctx.body)),
    }),
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
