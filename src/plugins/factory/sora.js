// OpenAI's Videos API: https://developers.openai.com/api/docs/guides/video-generation. Also for
// vendors that offer the same API, whose address goes into the channel, and in Azure's form:
// https://learn.microsoft.com/azure/ai-foundry/openai/concepts/video-generation.

export const meta = {
  apiVersion: 1,
  key: 'sora',
  name: 'OpenAI Sora',
  version: '1.4.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'OpenAI Sora: text or first frame to video with sound',
    zh: 'OpenAI Sora：由文字或首帧图片生成有声视频',
    ja: 'OpenAI Sora：テキストまたは最初のフレームから音声付き動画',
    es: 'OpenAI Sora: texto o primer fotograma a vídeo con sonido',
    de: 'OpenAI Sora: Text oder erstes Bild zu Video mit Ton',
    pt: 'OpenAI Sora: texto ou primeiro quadro para vídeo com som',
  },
  icon: 'Sora.Color',
  models: ['sora-2', 'sora-2-pro'],
  fetchMode: 'per_task',
  upstreams: ['vendor', 'new_api'],
  channelTypes: [55, 1],
  sortPriority: 90,
  website: 'https://developers.openai.com/api/docs/guides/video-generation',
  baseUrl: 'https://api.openai.com',
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
      enum: ['720p', '1024p', '1080p'],
      enumLabels: {
        '720p': '1280x720, 720x1280',
        '1024p': '1792x1024, 1024x1792',
        '1080p': '1920x1080, 1080x1920',
      },
      description: {
        en: 'Video resolution',
        zh: '视频分辨率',
        ja: '動画の解像度',
        es: 'Resolución del vídeo',
        de: 'Videoauflösung',
        pt: 'Resolução do vídeo',
      },
    },
    size: {
      enum: ['720x1280', '1280x720', '1024x1792', '1792x1024', '1080x1920', '1920x1080'],
      description: {
        en: 'Video width and height',
        zh: '视频宽高',
        ja: '動画の幅と高さ',
        es: 'Ancho y alto del vídeo',
        de: 'Breite und Höhe des Videos',
        pt: 'Largura e altura do vídeo',
      },
    },
  },
  usageExamples: [
    { label: '4 sec at 720p', facts: { seconds: 4, resolution: '720p', size: '1280x720' } },
    { label: '12 sec at 1080p', facts: { seconds: 12, resolution: '1080p', size: '1920x1080' } },
  ],
};

const SECONDS = ['4', '8', '12', '16', '20'];
const RESOLUTIONS = {
  '720x1280': '720p',
  '1280x720': '720p',
  '1024x1792': '1024p',
  '1792x1024': '1024p',
  '1080x1920': '1080p',
  '1920x1080': '1080p',
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
    size: { en: 'Size', zh: '尺寸', ja: 'サイズ', es: 'Tamaño', de: 'Größe', pt: 'Tamanho' },
  },
  keyUrl: 'https://platform.openai.com/api-keys',
  keyFormat: 'sk-…',
  keyHelp: {
    en: 'OpenAI ended this API on 24 September 2026. Use it for Azure and other vendors with the same API.',
    zh: 'OpenAI 已于 2026 年 9 月 24 日停止此接口。请用于 Azure 或提供相同接口的其他服务商。',
    ja: 'OpenAIは2026年9月24日にこのAPIを終了しました。Azureや、同じAPIを提供するほかのベンダーでお使いください。',
    es: 'OpenAI retiró esta API el 24 de septiembre de 2026. Úsala con Azure y otros proveedores que tengan la misma API.',
    de: 'OpenAI hat diese API am 24. September 2026 eingestellt. Verwenden Sie sie für Azure und andere Anbieter mit derselben API.',
    pt: 'A OpenAI encerrou esta API em 24 de setembro de 2026. Use-a com o Azure e outros fornecedores que tenham a mesma API.',
  },
  ranges: {
    seconds: { values: SECONDS.map(Number) },
    // The size says it.
    resolution: null,
    size: { models: { 'sora-2': { values: Object.keys(RESOLUTIONS).filter((size) => RESOLUTIONS[size] === '720p') } } },
  },
};

const DEFAULT_SECONDS = '4';
const DEFAULT_SIZE = '720x1280';
const IMAGE_FIELD = 'input_reference';
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = new Set(
  `prompt seconds size resolution quality input_reference image metadata extra`.split(/\s+/).map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number and length of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|duration|seconds|length|frames|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));

/** The last three are those of other vendors with this API. */
const STATUSES = {
  queued: 'QUEUED',
  in_progress: 'IN_PROGRESS',
  completed: 'SUCCESS',
  failed: 'FAILURE',
  pending: 'QUEUED',
  processing: 'IN_PROGRESS',
  cancelled: 'FAILURE',
};

/** What can be downloaded of a finished video, by the names of the API's `variant`. */
const VARIANTS = [
  { key: 'video', type: 'video', mimeType: 'video/mp4' },
  { key: 'thumbnail', type: 'image', mimeType: 'image/webp' },
  { key: 'spritesheet', type: 'image', mimeType: 'image/jpeg' },
];

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.trim() !== '';
const given = (value) => value !== undefined && value !== null && value !== '';
const root = (ctx) => ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');

/**
 * Azure's version of the API; undefined at other vendors. The settings may name it, which also says
 * that another address has Azure's form; the state has it for polls and downloads.
 */
function azureVersion(ctx) {
  const named = ctx.userSetting?.api_version ?? ctx.state?.api_version;
  if (isText(named)) return named.trim();
  return /^https:\/\/[\w.-]+\.azure\.com(\/|$)/i.test(ctx.baseUrl) ? 'preview' : undefined;
}

function videosUrl(ctx, path = '', query = '') {
  const version = azureVersion(ctx);
  if (version === undefined) return `${root(ctx)}/v1/videos${path}${query && `?${query}`}`;
  const address = `${root(ctx).replace(/\/openai$/, '')}/openai/v1/videos${path}`;
  return `${address}?api-version=${encodeURIComponent(version)}${query && `&${query}`}`;
}

const keyHeader = (ctx) =>
  azureVersion(ctx) === undefined ? { Authorization: `Bearer ${ctx.apiKey}` } : { 'api-key': ctx.apiKey };

/**
 * The first frame as `{file}` (an upload of this request) or `{image_url}` (an address or data
 * URL).
 */
function readImage(value) {
  if (!given(value)) return undefined;
  if (isText(value)) return { image_url: value };
  if (isObject(value) && isText(value.file)) return { file: value.file };
  if (isObject(value) && isText(value.image_url)) return { image_url: value.image_url };
  throw new Error('input_reference is an image file, an address, or an object with image_url.');
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

/** The fields of any request as the API names them, checked. Applied twice it gives the same. */
function normalize(request) {
  const fields = withMetadata(request);
  if (!isText(fields.prompt)) throw new Error('Please give a prompt.');
  const seconds = String(given(fields.seconds) ? fields.seconds : DEFAULT_SECONDS);
  if (!SECONDS.includes(seconds)) throw new Error(`seconds is one of ${SECONDS.join(', ')}.`);
  const size = given(fields.size) ? fields.size : DEFAULT_SIZE;
  if (!Object.hasOwn(RESOLUTIONS, size)) throw new Error(`size is one of ${Object.keys(RESOLUTIONS).join(', ')}.`);
  if ([request.images].flat().some(given)) throw new Error('images are not taken: give one as input_reference.');
  const image = readImage(given(fields[IMAGE_FIELD]) ? fields[IMAGE_FIELD] : fields.image);
  const extra = Object.keys(fields.extra).length > 0 ? { extra: fields.extra } : {};
  return { prompt: fields.prompt, seconds, size, ...(image ? { [IMAGE_FIELD]: image } : {}), ...extra };
}

/** A remix has the length and size of its video. */
function readOrder(ctx) {
  const fields = isObject(ctx.requestBody) ? ctx.requestBody : {};
  const video = ctx.originTasks?.[0]?.data;
  return normalize(isObject(video) ? { ...fields, seconds: video.seconds, size: video.size } : fields);
}

/**
 * The fields of a JSON or multipart body. OpenAI's own clients send `input_reference[image_url]` in
 * a form.
 */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const [name, values] of Object.entries(body.fields)) {
    fields[name === `${IMAGE_FIELD}[image_url]` ? IMAGE_FIELD : name] = values[0];
  }
  const isImage = ({ field }) => [IMAGE_FIELD, `${IMAGE_FIELD}[]`, 'image'].includes(field);
  const file = body.kind === 'multipart' ? body.files.find(isImage) : undefined;
  if (file) fields[IMAGE_FIELD] = { file: file.ref };
  return fields;
}

export function buildSubmitRequest(ctx) {
  if (ctx.originTaskId) {
    if (ctx.originTasks?.[0]?.status !== 'SUCCESS') throw new Error('Only a finished video can be remixed.');
    return {
      url: videosUrl(ctx, `/${encodeURIComponent(ctx.originTaskId)}/remix`),
      method: 'POST',
      headers: { ...keyHeader(ctx), 'Content-Type': 'application/json' },
      action: 'remix',
      body: { prompt: readOrder(ctx).prompt },
    };
  }
  const model = ctx.upstreamModel || ctx.model;
  const { extra, ...fields } = readOrder(ctx);
  const order = { ...extra, model, ...fields };
  if (model === 'sora-2' && RESOLUTIONS[order.size] !== '720p') {
    throw new Error('sora-2 makes 720x1280 and 1280x720; take sora-2-pro for larger videos.');
  }
  const image = order[IMAGE_FIELD];
  const request = {
    url: videosUrl(ctx),
    method: 'POST',
    headers: keyHeader(ctx),
    action: image ? 'image_to_video' : 'text_to_video',
  };
  if (!image?.file) {
    request.headers['Content-Type'] = 'application/json';
    return { ...request, body: order };
  }
  delete order[IMAGE_FIELD];
  const parts = Object.entries(order).map(([name, value]) => ({
    name,
    value: typeof value === 'object' ? JSON.stringify(value) : value,
  }));
  return { ...request, bodyType: 'multipart', parts: [...parts, { name: IMAGE_FIELD, fileRef: image.file }] };
}

export function parseSubmitResponse(ctx, { body }) {
  if (!isObject(body) || !isText(body.id)) {
    throw new Error(`The answer holds no video${isObject(body) && body.error ? `: ${readMessage(body.error)}` : '.'}`);
  }
  const result = readVideo(body);
  const ended = result.status === 'SUCCESS' || result.status === 'FAILURE';
  const version = azureVersion(ctx);
  const state = version === undefined ? {} : { state: { api_version: version } };
  return { taskId: body.id, taskData: body, ...state, ...(ended ? { immediate: result } : {}) };
}

/** What the vendor's codes mean. */
const REFUSALS = {
  rate_limit_exceeded: 'rate',
  insufficient_quota: 'balance',
  billing_hard_limit_reached: 'balance',
  invalid_api_key: 'credential',
  moderation_blocked: 'content',
  contentFilter: 'content',
  content_filter: 'content',
};
/** Azure's codes are statuses. */
const AZURE_REFUSALS = { 401: 'credential', 403: 'credential', 429: 'rate' };

export function parseSubmitError({ statusCode, body }, ctx) {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const byStatus = azureVersion(ctx) === undefined ? undefined : AZURE_REFUSALS[statusCode];
  const kind = Object.hasOwn(REFUSALS, error.code) ? REFUSALS[error.code] : byStatus;
  return kind ? { kind, message: error.message } : null;
}

export function buildQueryRequest(ctx) {
  return { url: videosUrl(ctx, `/${encodeURIComponent(ctx.taskId)}`), headers: keyHeader(ctx) };
}

export function parseTaskResult(_ctx, body) {
  return readVideo(body);
}

const readMessage = (error) => (isObject(error) && (error.message || error.code)) || String(error);

function readVideo(video) {
  if (!isObject(video)) return { status: 'UNKNOWN', reason: 'the answer is no video' };
  if (!Object.hasOwn(STATUSES, video.status)) {
    return { status: 'UNKNOWN', reason: video.error ? readMessage(video.error) : `unknown status ${video.status}` };
  }
  const status = STATUSES[video.status];
  if (status === 'FAILURE') {
    return { status, reason: video.error ? readMessage(video.error) : 'The video could not be generated.' };
  }
  // The vendor's percentage goes up to 100 before the video can be downloaded.
  return typeof video.progress === 'number' ? { status, progress: video.progress } : { status };
}

export function extractUsage(ctx) {
  const { seconds, size } = readOrder(ctx);
  return { seconds: Number(seconds), resolution: RESOLUTIONS[size], size };
}

/** What was made may differ from what was asked for. */
export function extractUsageOnComplete(_ctx, result, video) {
  if (result.status !== 'SUCCESS' || !isObject(video)) return null;
  const seconds = Number(video.seconds);
  const usage = {};
  if (seconds > 0) usage.seconds = seconds;
  if (Object.hasOwn(RESOLUTIONS, video.size))
    Object.assign(usage, { resolution: RESOLUTIONS[video.size], size: video.size });
  return usage;
}

export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? VARIANTS : [];
}

export function buildContentRequest(ctx) {
  const variant = VARIANTS.find(({ key }) => key === ctx.artifactKey);
  if (!variant) throw new Error('artifact_not_found');
  const query = variant.key === 'video' ? '' : `variant=${variant.key}`;
  return {
    url: videosUrl(ctx, `/${encodeURIComponent(ctx.upstreamTaskId)}/content`, query),
    method: ctx.clientRequest.method,
    headers: { ...ctx.clientRequest.headers, ...keyHeader(ctx) },
  };
}

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
  const fields = { ...request, prompt: texts.join('\n') };
  if (image) fields[IMAGE_FIELD] = { image_url: image.image_url };
  return fields;
}

const videoTag = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

export const protocols = {
  proto_video: {
    decodeRequest(ctx) {
      const intent = { kind: 'submit', model: ctx.model };
      if (!ctx.path.endsWith('/remix')) return { ...intent, requestBody: normalize(readFields(ctx.body)) };
      const { prompt } = readFields(ctx.body);
      if (!isText(prompt)) throw new Error('Please give a prompt.');
      return { ...intent, action: 'remix', requestBody: { prompt }, originTaskIds: [ctx.params.task_id] };
    },
    render(_ctx, task) {
      const video = isObject(task.data) ? task.data : {};
      const out = { id: task.task_id, object: 'video', model: task.model };
      for (const name of ['seconds', 'size', 'expires_at', 'error']) if (given(video[name])) out[name] = video[name];
      return out;
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
