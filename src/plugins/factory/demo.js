// Plugin for the built-in demo vendor (`taskgate demo-vendor`). It uses every part of the contract
// that a per-task video plugin has, and nothing clever: a good one to start your own from.

export const meta = {
  apiVersion: 1,
  key: 'demo',
  name: 'Demo vendor',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Sample videos from the built-in demo vendor, no network needed',
    zh: '由内置演示服务商离线生成示例视频',
    ja: '内蔵のデモベンダーによるサンプル動画（ネットワーク不要）',
    es: 'Vídeos de muestra del proveedor de demostración integrado, sin red',
    de: 'Beispielvideos des eingebauten Demo-Anbieters, ohne Netz',
    pt: 'Vídeos de exemplo do fornecedor de demonstração embutido, sem rede',
  },
  icon: 'text:DV',
  models: ['demo-video', 'demo-video-pro'],
  fetchMode: 'per_task',
  baseUrl: 'http://127.0.0.1:4010',
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  routes: [
    { method: 'POST', path: '/demo/v1/videos', type: 'submit', decode: 'decodeSubmit', render: 'presentTask' },
    { method: 'GET', path: '/demo/v1/videos/:task_id', type: 'query', render: 'presentTask' },
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
      enum: ['480p', '720p', '1080p'],
      enumLabels: {
        '480p': {
          en: 'Standard definition',
          zh: '标清',
          ja: '標準画質',
          es: 'Definición estándar',
          de: 'Standardauflösung',
          pt: 'Definição padrão',
        },
        '720p': {
          en: 'High definition',
          zh: '高清',
          ja: '高画質',
          es: 'Alta definición',
          de: 'Hohe Auflösung',
          pt: 'Alta definição',
        },
        '1080p': { en: 'Full HD', zh: '全高清', ja: 'フルHD', es: 'Full HD', de: 'Full HD', pt: 'Full HD' },
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
  },
  usageExamples: [
    { label: '4 sec at 720p', facts: { seconds: 4, resolution: '720p' } },
    { label: '12 sec at 1080p', facts: { seconds: 12, resolution: '1080p' } },
  ],
};

const MIN_SECONDS = 1;
const MAX_SECONDS = 60;

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    resolution: { en: 'Resolution', zh: '分辨率', ja: '解像度', es: 'Resolución', de: 'Auflösung', pt: 'Resolução' },
  },
  keyHelp: {
    en: 'The demo vendor takes any key.',
    zh: '演示服务商接受任意密钥。',
    ja: 'デモベンダーはどのキーでも受け付けます。',
    es: 'El proveedor de demostración acepta cualquier clave.',
    de: 'Der Demo-Anbieter nimmt jeden Schlüssel an.',
    pt: 'O fornecedor de demonstração aceita qualquer chave.',
  },
  listPrices: {
    asOf: '2026-01-01',
    models: {
      'demo-video': '0.02 * u("seconds")',
      'demo-video-pro': '(u("resolution") == "480p" ? 0.02 : u("resolution") == "720p" ? 0.04 : 0.08) * u("seconds")',
    },
  },
  ranges: { seconds: { minimum: MIN_SECONDS, maximum: MAX_SECONDS } },
  examples: [
    {
      label: {
        en: 'Paper boat',
        zh: '纸船',
        ja: '紙の舟',
        es: 'Barco de papel',
        de: 'Papierboot',
        pt: 'Barco de papel',
      },
      request: { prompt: 'A paper boat drifts across a still lake at dawn', seconds: 4, resolution: '720p' },
    },
    {
      label: {
        en: 'City in the rain',
        zh: '雨中城市',
        ja: '雨の街',
        es: 'Ciudad bajo la lluvia',
        de: 'Stadt im Regen',
        pt: 'Cidade na chuva',
      },
      request: { prompt: 'A tram passes a wet street at night, neon on the asphalt', seconds: 8, resolution: '1080p' },
    },
  ],
};

const RESOLUTIONS = ['480p', '720p', '1080p'];
const DEFAULT_SECONDS = 4;
// An image in this field is streamed as a multipart part; one in any other field goes inside the
// JSON body.
const STREAMED_FIELD = 'input_reference';
const MAX_INLINE_BYTES = 10 * 1024 * 1024;

const STATUSES = { queued: 'QUEUED', running: 'IN_PROGRESS', succeeded: 'SUCCESS', failed: 'FAILURE' };

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const jobsUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '')}/v1/jobs`;
const bearer = (ctx) => `Bearer ${ctx.apiKey}`;

/** "1280x720" and "720x1280" are 720p: the shorter side decides. */
function resolutionOfSize(size) {
  const match = /^(\d+)x(\d+)$/.exec(size);
  if (!match) throw new Error(`The size "${size}" is not in the form WIDTHxHEIGHT.`);
  const side = Math.min(Number(match[1]), Number(match[2]));
  return side <= 480 ? '480p' : side <= 720 ? '720p' : '1080p';
}

/**
 * The fields of any incoming request as the intent that the vendor understands. Applied twice it
 * gives the same.
 */
function normalize(fields) {
  if (typeof fields.prompt !== 'string' || fields.prompt.trim() === '') throw new Error('Please give a prompt.');
  const seconds = Number(fields.seconds === undefined || fields.seconds === '' ? DEFAULT_SECONDS : fields.seconds);
  if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS)) {
    throw new Error(`The length of a video is from ${MIN_SECONDS} to ${MAX_SECONDS} seconds.`);
  }
  const resolution = fields.resolution || (fields.size ? resolutionOfSize(String(fields.size)) : '720p');
  if (!RESOLUTIONS.includes(resolution)) throw new Error(`The resolution is one of ${RESOLUTIONS.join(', ')}.`);
  const intent = { prompt: fields.prompt, seconds, resolution };
  if (typeof fields.script === 'string') intent.script = fields.script;
  if (fields.image !== undefined) intent.image = fields.image;
  return intent;
}

/** The fields of a JSON, form or multipart body; the first file becomes `image`. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name] = body.fields[name][0];
  const file = body.kind === 'multipart' ? body.files[0] : undefined;
  if (file) fields.image = { ref: file.ref, field: file.field };
  return fields;
}

/**
 * OpenAI's `input` is a text, or messages whose content is a text or has parts; all of it together
 * is the prompt.
 */
function readPrompt(input) {
  if (!Array.isArray(input)) return input;
  const contents = input.flatMap((message) => (isObject(message) ? message.content : []));
  const texts = contents.map((part) => (isObject(part) ? part.text : part));
  return texts.filter((text) => typeof text === 'string').join('\n');
}

function decodeSubmit(ctx) {
  const fields = readFields(ctx.body);
  const model = fields.model === undefined ? 'demo-video' : fields.model;
  return { kind: 'submit', model, requestBody: normalize(fields) };
}

export function buildSubmitRequest(ctx) {
  const { image, ...intent } = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const order = { model: ctx.upstreamModel || ctx.model, ...intent, reference_id: ctx.publicTaskId };
  const request = {
    url: jobsUrl(ctx),
    method: 'POST',
    headers: { Authorization: bearer(ctx) },
    action: image === undefined ? 'text_to_video' : 'image_to_video',
  };
  if (isObject(image) && image.field === STREAMED_FIELD) {
    const parts = Object.keys(order).map((name) => ({ name, value: order[name] }));
    return { ...request, bodyType: 'multipart', parts: [...parts, { name: 'image', fileRef: image.ref }] };
  }
  request.headers['Content-Type'] = 'application/json';
  if (isObject(image)) order.image = { __fileRef: image.ref, encoding: 'dataUrl', maxBytes: MAX_INLINE_BYTES };
  else if (image !== undefined) order.image = image;
  return { ...request, body: order };
}

export function parseSubmitResponse(_ctx, response) {
  const job = response.body;
  if (!isObject(job) || typeof job.id !== 'string') throw new Error('The demo vendor answered without a job.');
  const result = readJob(job);
  const done = result.status === 'SUCCESS' || result.status === 'FAILURE';
  return done ? { taskId: job.id, taskData: job, immediate: result } : { taskId: job.id, taskData: job };
}

export function buildQueryRequest(ctx) {
  return { url: `${jobsUrl(ctx)}/${encodeURIComponent(ctx.taskId)}`, headers: { Authorization: bearer(ctx) } };
}

export function parseTaskResult(_ctx, body) {
  return readJob(body);
}

/**
 * What is not known is said to be unknown: guessing a status would keep a lost task alive, or end a
 * living one.
 */
function readJob(job) {
  if (!isObject(job) || !Object.hasOwn(STATUSES, job.status)) return { status: 'UNKNOWN' };
  const result = { status: STATUSES[job.status], progress: `${job.progress}%` };
  if (job.status === 'failed') {
    result.reason = isObject(job.error) && job.error.message ? job.error.message : 'The video could not be generated.';
  }
  return result;
}

export function extractUsage(ctx) {
  const { seconds, resolution } = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  return { seconds, resolution };
}

export function extractUsageOnComplete(_ctx, result, body) {
  if (result.status !== 'SUCCESS' || !isObject(body) || !isObject(body.usage)) return null;
  return { seconds: body.usage.seconds, resolution: body.usage.resolution };
}

export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

export function buildContentRequest(ctx) {
  if (ctx.artifactKey !== 'video') throw new Error('artifact_not_found');
  return {
    url: `${jobsUrl(ctx)}/${encodeURIComponent(ctx.upstreamTaskId)}/content`,
    method: ctx.clientRequest.method,
    headers: { ...ctx.clientRequest.headers, Authorization: bearer(ctx) },
  };
}

/** The result as a web page would show it; the address works without a key. */
const videoTag = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

/** What the task's data says about the video. */
function describe(task) {
  const job = isObject(task.data) ? task.data : {};
  const usage = isObject(job.usage) ? job.usage : job;
  return { seconds: usage.seconds, resolution: usage.resolution, prompt: job.prompt };
}

export const protocols = {
  proto_video: {
    decodeRequest(ctx) {
      return { kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) };
    },
    render(_ctx, task) {
      const { seconds, resolution, prompt } = describe(task);
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (seconds !== undefined) video.seconds = String(seconds);
      if (resolution !== undefined) video.metadata = { resolution };
      if (prompt !== undefined) video.prompt = prompt;
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest(ctx) {
      const { input, ...fields } = readFields(ctx.body);
      const request = input === undefined ? fields : { ...fields, prompt: readPrompt(input) };
      return { kind: 'submit', model: ctx.model, requestBody: normalize(request) };
    },
    renderEvents(ctx, task, previous) {
      const state = { status: task.status, progress: task.progress };
      if (task.status === 'SUCCESS') return { events: [{ type: 'output', data: videoTag(ctx) }], done: true, state };
      const moved = !isObject(previous) || previous.status !== state.status || previous.progress !== state.progress;
      const progress = { type: 'progress', progress: Number.parseInt(task.progress, 10) || 0, message: task.status };
      return { events: moved ? [progress] : [], done: false, state };
    },
    renderFinal(ctx, task) {
      const text = { type: 'output_text', text: videoTag(ctx), annotations: [], logprobs: [] };
      const { seconds, resolution } = describe(task);
      return {
        output: [{ type: 'message', role: 'assistant', content: [text] }],
        metadata: { seconds: String(seconds), resolution: String(resolution) },
      };
    },
  },
};

export const native = {
  decodeSubmit,
  presentTask(_ctx, task) {
    const names = Object.keys(STATUSES);
    const status = names.find((name) => STATUSES[name] === task.status) || 'queued';
    const video = { id: task.task_id, status, progress: Number.parseInt(task.progress, 10) || 0, ...describe(task) };
    if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
    return video;
  },
  error(_ctx, error) {
    return { error: { code: error.code, message: error.message, request_id: error.requestId } };
  },
};
