// Qwen-Image of Alibaba Model Studio:
// https://help.aliyun.com/zh/model-studio/qwen-image-generation-and-editing-api-reference. The
// vendor answers with the finished images, so a task ends with its submission.

const words = (text) => text.split(' ');
/** `most`: images that a request can ask for. `images`: least and most input images. */
const MODELS = {
  'qwen-image-3.0-pro': { most: 6, images: [0, 3] },
  'qwen-image-3.0': { most: 6, images: [0, 3] },
  'qwen-image-2.0-pro': { most: 6, images: [0, 3] },
  'qwen-image-2.0': { most: 6, images: [0, 3] },
  'qwen-image-max': { most: 1, images: [0, 0] },
  'qwen-image-plus': { most: 1, images: [0, 0] },
  'qwen-image': { most: 1, images: [0, 0] },
  'qwen-image-edit-max': { most: 6, images: [1, 3] },
  'qwen-image-edit-plus': { most: 6, images: [1, 3] },
  'qwen-image-edit': { most: 1, images: [1, 3] },
};
/** A newer model that a channel maps to. */
const UNLISTED = MODELS['qwen-image-3.0'];
const findNames = (fits) => Object.keys(MODELS).filter((name) => fits(MODELS[name]));

export const meta = {
  apiVersion: 1,
  key: 'qwen-image',
  name: 'Qwen-Image',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Alibaba Qwen-Image: text to image, and image editing',
    zh: '通义千问 Qwen-Image：文生图与图像编辑',
    ja: 'Alibaba Qwen-Image：テキストから画像、画像編集',
    es: 'Alibaba Qwen-Image: texto a imagen y edición de imágenes',
    de: 'Alibaba Qwen-Image: Text zu Bild und Bildbearbeitung',
    pt: 'Alibaba Qwen-Image: texto para imagem e edição de imagens',
  },
  icon: 'Qwen.Color',
  sortPriority: 59,
  website: 'https://help.aliyun.com/zh/model-studio/qwen-image-generation-and-editing-api-reference',
  baseUrl: 'https://dashscope.aliyuncs.com',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: ['proto_image', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  usageSchema: {
    images: {
      type: 'number',
      unit: 'count',
      unitLabel: { en: 'image', zh: '张', ja: '枚', es: 'imagen', de: 'Bild', pt: 'imagem' },
      description: {
        en: 'Number of images',
        zh: '图片数量',
        ja: '画像の枚数',
        es: 'Número de imágenes',
        de: 'Anzahl der Bilder',
        pt: 'Número de imagens',
      },
    },
    input_images: {
      type: 'number',
      unit: 'count',
      unitLabel: { en: 'image', zh: '张', ja: '枚', es: 'imagen', de: 'Bild', pt: 'imagem' },
      description: {
        en: 'Number of input images',
        zh: '输入图片数量',
        ja: '入力画像の枚数',
        es: 'Número de imágenes de entrada',
        de: 'Anzahl der Eingabebilder',
        pt: 'Número de imagens de entrada',
      },
    },
  },
  usageExamples: [
    { label: '1 image', facts: { images: 1, input_images: 0 } },
    { label: '2 images from 1 image', facts: { images: 2, input_images: 1 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    images: { en: 'Images', zh: '图片', ja: '画像', es: 'Imágenes', de: 'Bilder', pt: 'Imagens' },
    input_images: {
      en: 'Input images',
      zh: '输入图片',
      ja: '入力画像',
      es: 'Imágenes de entrada',
      de: 'Eingabebilder',
      pt: 'Imagens de entrada',
    },
    image: { en: 'Image', zh: '图片', ja: '画像', es: 'Imagen', de: 'Bild', pt: 'Imagem' },
  },
  keyUrl: 'https://bailian.console.aliyun.com/?tab=model#/api-key',
  keyFormat: 'sk-…',
  inputs: { image: { type: 'image', required: true, models: findNames(({ images }) => images[0] > 0) } },
  ranges: {
    images: {
      models: Object.fromEntries(
        Object.entries(MODELS).map(([model, { most }]) => [
          model,
          most > 1 ? { minimum: 1, maximum: most, whole: true } : null,
        ]),
      ),
    },
    input_images: null,
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
      models: findNames(({ images }) => images[0] === 0),
      request: { prompt: 'A quiet reading room with tall windows, late afternoon', size: '1328x1328' },
    },
  ],
};

const MAX_FILE_BYTES = 10 * 1024 * 1024;
const PIXELS = [512 * 512, 2048 * 2048];
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** Fields that this plugin reads, then what the gateway decides. All others become parameters. */
const OWN = new Set(
  words(
    'prompt n size images image input_reference input parameters model metadata user stream response_format quality ' +
      'style background callback_url webhook_url',
  ).map(stripSeparators),
);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1`;
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
  const parameters = parsed(metadata.parameters) ?? {};
  const fields = { ...(isObject(parameters) ? parameters : {}), ...metadata, ...sent };
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
  read('n', firstGiven(fields.n, count), Number);
  read('size', fields.size, String);
  const images = [count ? [] : (fields.images ?? []), fields.image ?? [], fields.input_reference ?? []]
    .flat()
    .filter(isGiven);
  if (images.length > 0) intent.images = images.map(readSource);
  const rest = Object.entries({ ...(isObject(parameters) ? parameters : {}), ...metadata }).filter(
    ([name]) => !OWN.has(stripSeparators(name)),
  );
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  return intent;
}

/** `1328x1328` in the vendor's form; undefined: the model chooses. */
function toSize(size) {
  if (size === undefined || size === 'auto') return undefined;
  const match = /^([1-9]\d{1,3})[x*]([1-9]\d{1,3})$/i.exec(size);
  if (!match) throw new Error('The size is not in the form WIDTHxHEIGHT.');
  const pixels = Number(match[1]) * Number(match[2]);
  if (pixels < PIXELS[0] || pixels > PIXELS[1])
    throw new Error(`An image has from ${PIXELS[0]} to ${PIXELS[1]} pixels.`);
  return `${match[1]}*${match[2]}`;
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const spec = MODELS[model] ?? UNLISTED;
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  if (!order.prompt?.trim()) throw new Error('Please give a prompt.');
  const { images = [], n = 1 } = order;
  const [least, most] = spec.images;
  if (images.length < least || images.length > most) {
    throw new Error(most === 0 ? `${model} takes no images.` : `${model} takes from ${least} to ${most} images.`);
  }
  if (!(Number.isInteger(n) && n >= 1 && n <= spec.most))
    throw new Error(`n is a whole number from 1 to ${spec.most}.`);
  return { model, order, images, n, size: toSize(order.size) };
}

export function buildSubmitRequest(ctx) {
  const { model, order, images, n, size } = plan(ctx);
  const content = images.map((source) => ({
    image: isObject(source) ? { __fileRef: source.ref, encoding: 'dataUrl', maxBytes: MAX_FILE_BYTES } : source,
  }));
  return {
    url: `${apiUrl(ctx)}/services/aigc/multimodal-generation/generation`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    // Members that are undefined are not sent.
    body: {
      model,
      input: { messages: [{ role: 'user', content: [...content, { text: order.prompt }] }] },
      parameters: { ...order.metadata, n, size },
    },
    action: images.length > 0 ? 'image_to_image' : 'text_to_image',
  };
}

export function extractUsage(ctx) {
  const { n, images } = plan(ctx);
  return { images: n, input_images: images.length };
}

const readMessage = (body) => textAt(body, 'message');

/** The addresses in the choices of an answer. */
function readUrls(data) {
  const choices =
    isObject(data) && isObject(data.output) && Array.isArray(data.output.choices) ? data.output.choices : [];
  const parts = choices.flatMap((choice) => (Array.isArray(choice?.message?.content) ? choice.message.content : []));
  return parts.map((part) => textAt(part, 'image')).filter(Boolean);
}

export function parseSubmitResponse(ctx, { body }) {
  if (readUrls(body).length === 0) throw new Error(readMessage(body) || 'Model Studio answered without an image.');
  const taskData = { output: body.output, usage: body.usage };
  return { taskId: textAt(body, 'request_id') || ctx.publicTaskId, taskData, immediate: { status: 'SUCCESS' } };
}

/** What the vendor's codes mean; every kind of throttling is about the rate. */
const REFUSALS = {
  ...{
    Arrearage: 'balance',
    InvalidApiKey: 'credential',
    DataInspectionFailed: 'content',
    InvalidParameter: 'request',
  },
  ...{ AccessDenied: 'credential', ModelNotFound: 'request', 'AllocationQuota.FreeTierOnly': 'balance' },
  'InvalidParameter.DataInspection': 'request',
};

export function parseSubmitError({ body }) {
  const code = textAt(body, 'code');
  const kind = /^Throttling\b/.test(code) ? 'rate' : Object.hasOwn(REFUSALS, code) && REFUSALS[code];
  return kind ? { kind, message: readMessage(body) } : null;
}

export function extractUsageOnSubmit(_ctx, data) {
  const counted = Number(data?.usage?.image_count);
  return { images: counted > 0 ? counted : readUrls(data).length };
}

/**
 * The images are there already. They are only asked for when their end could not be stored, and the
 * vendor has no place to ask: any question that it answers will do.
 */
export const buildQueryRequest = (ctx) => ({
  url: `${apiUrl(ctx)}/tasks/${encodeURIComponent(ctx.taskId)}`,
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
