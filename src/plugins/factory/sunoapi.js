// Suno-compatible music: services that speak the open Suno-API format (`/suno/submit/music`,
// `/suno/fetch`). Suno itself has no public API, so there is no address by default. A task makes
// one or two songs or a text; one request asks for many tasks at once.

export const meta = {
  apiVersion: 1,
  key: 'sunoapi',
  name: 'Suno-compatible music',
  version: '1.2.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Songs and lyrics from any Suno-compatible service',
    zh: '兼容 Suno-API 格式的音乐与歌词生成',
    ja: 'Suno-API互換サービスによる曲と歌詞',
    es: 'Canciones y letras de cualquier servicio compatible con Suno',
    de: 'Songs und Songtexte von jedem Suno-kompatiblen Dienst',
    pt: 'Músicas e letras de qualquer serviço compatível com Suno',
  },
  icon: 'Suno',
  sortPriority: 20,
  website: 'https://github.com/Suno-API/Suno-API',
  fetchMode: 'batch',
  upstreams: ['vendor', 'new_api'],
  channelTypes: [36],
  models: ['suno_music', 'suno_lyrics'],
  protocols: [{ name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  routes: [
    {
      method: 'POST',
      path: '/suno/submit/:action',
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentSubmitted',
    },
    { method: 'POST', path: '/suno/fetch', type: 'dynamic', decode: 'decodeFetch', render: 'presentTasks' },
    { method: 'GET', path: '/suno/fetch/:task_id', type: 'query', render: 'presentTask' },
  ],
  usageSchema: {
    clips: {
      type: 'number',
      unit: 'count',
      description: {
        en: 'Number of songs or lyrics',
        zh: '歌曲或歌词数量',
        ja: '曲または歌詞の数',
        es: 'Número de canciones o letras',
        de: 'Anzahl der Songs oder Songtexte',
        pt: 'Número de músicas ou letras',
      },
    },
    seconds: {
      type: 'number',
      unit: 'second',
      description: {
        en: 'Total song length (seconds)',
        zh: '歌曲总时长（秒）',
        ja: '全曲の合計の長さ（秒）',
        es: 'Duración total de las canciones (segundos)',
        de: 'Gesamtlänge der Songs (Sekunden)',
        pt: 'Duração total das músicas (segundos)',
      },
    },
    kind: {
      enum: ['music', 'lyrics'],
      enumLabels: {
        music: { en: 'Songs', zh: '歌曲', ja: '曲', es: 'Canciones', de: 'Songs', pt: 'Músicas' },
        lyrics: { en: 'Lyrics', zh: '歌词', ja: '歌詞', es: 'Letra', de: 'Songtext', pt: 'Letra' },
      },
      description: {
        en: 'Result type',
        zh: '结果类型',
        ja: '結果の種類',
        es: 'Tipo de resultado',
        de: 'Art des Ergebnisses',
        pt: 'Tipo de resultado',
      },
    },
  },
  usageExamples: [
    { label: 'Two 2-minute songs', facts: { clips: 2, seconds: 240, kind: 'music' } },
    { label: 'Lyrics', facts: { clips: 1, seconds: 0, kind: 'lyrics' } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    clips: { en: 'Songs', zh: '歌曲', ja: '曲', es: 'Canciones', de: 'Songs', pt: 'Músicas' },
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    kind: { en: 'Type', zh: '类型', ja: '種類', es: 'Tipo', de: 'Art', pt: 'Tipo' },
  },
  keyUrl: 'https://sunoapi.org/api-key',
  ranges: { clips: null, seconds: null, kind: null },
};

const KINDS = { suno_music: 'music', suno_lyrics: 'lyrics' };
const MODELS = { music: 'suno_music', lyrics: 'suno_lyrics' };
/** The vendor makes two songs of a request. */
const SONGS = 2;
/** Reserved for the two until their length is known; a song is rarely longer than four minutes. */
const RESERVED_SECONDS = 480;

/** Services differ in how they spell them. */
const STATUSES = {
  NOT_START: 'NOT_START',
  SUBMITTED: 'SUBMITTED',
  QUEUED: 'QUEUED',
  QUEUEING: 'QUEUED',
  IN_PROGRESS: 'IN_PROGRESS',
  PROCESSING: 'IN_PROGRESS',
  SUCCESS: 'SUCCESS',
  FAILURE: 'FAILURE',
  FAILED: 'FAILURE',
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
/** What this plugin reads. The vendor gets any other member of `metadata` as it is. */
const READ = new Set(
  `prompt gpt_description_prompt mv title tags negative_tags make_instrumental task_id continue_clip_id continue_at
  model action metadata extra`
    .split(/\s+/)
    .map(stripSeparators),
);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));
const textAt = (value, name) => {
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === 'string' || typeof found === 'number' ? String(found).trim() : '';
};

const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/suno$/, '')}/suno`;
const buildHeaders = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}`, 'Content-Type': 'application/json' });

/** A field that may be missing; `read` gives undefined for a value that breaks the rule. */
function readField([name, given], rule, read) {
  if (!isGiven(given)) return undefined;
  const value = read(given);
  if (value === undefined) throw new Error(`${name} must be ${rule}.`);
  return value;
}

const readText = (fields, name) =>
  readField([name, fields[name]], 'a string', (value) => (typeof value === 'string' ? value : undefined));

/** A form gives everything as text. */
const readFlag = (fields, name) =>
  readField([name, fields[name]], 'true or false', (value) =>
    [true, 'true'].includes(value) ? true : [false, 'false'].includes(value) ? false : undefined,
  );

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

/**
 * Any incoming request as one intent: the vendor's fields, or this intent again. Callback addresses
 * are left out: the gateway polls.
 */
function normalize(request) {
  const fields = withMetadata(request);
  const continueAt = isGiven(fields.continue_at) ? Number(fields.continue_at) : undefined;
  if (continueAt !== undefined && !(continueAt >= 0)) throw new Error('continue_at must be a number of seconds.');
  const intent = {
    prompt: readText(fields, 'prompt'),
    gpt_description_prompt: readText(fields, 'gpt_description_prompt'),
    mv: readText(fields, 'mv'),
    title: readText(fields, 'title'),
    tags: readText(fields, 'tags'),
    negative_tags: readText(fields, 'negative_tags'),
    make_instrumental: readFlag(fields, 'make_instrumental'),
    task_id: readText(fields, 'task_id'),
    continue_clip_id: readText(fields, 'continue_clip_id'),
    continue_at: continueAt,
  };
  if (Object.keys(fields.extra).length > 0) intent.extra = fields.extra;
  for (const name of Object.keys(intent)) if (intent[name] === undefined) delete intent[name];
  return intent;
}

/** A song that another task made is continued by that task's channel. */
function readIntent(model, fields) {
  const requestBody = normalize(fields);
  const intent = { kind: 'submit', model, requestBody };
  return requestBody.task_id === undefined ? intent : { ...intent, originTaskIds: [requestBody.task_id] };
}

const readBody = (ctx) => normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});

/** A model of another name, from a channel's mapping, makes music. */
const toKind = (ctx) => KINDS[ctx.upstreamModel] ?? KINDS[ctx.model] ?? 'music';

export function buildSubmitRequest(ctx) {
  const kind = toKind(ctx);
  const { extra, ...order } = readBody(ctx);
  const {
    prompt = '',
    gpt_description_prompt: idea = '',
    title = '',
    tags = '',
    make_instrumental: instrumental,
  } = order;
  if (kind === 'lyrics' && prompt.trim() === '') throw new Error('Please give a prompt.');
  if (kind === 'music' && prompt.trim() === '' && idea.trim() === '' && !(instrumental && (title || tags))) {
    throw new Error('Please give a gpt_description_prompt, or the words of the song as prompt.');
  }
  if (order.task_id !== undefined) {
    // The vendor knows the task to be continued under its own id.
    const [origin] = ctx.originTasks ?? [];
    if (!origin) throw new Error('The task of task_id cannot be continued here; submit to /suno/submit/music.');
    order.task_id = origin.upstreamTaskId;
  }
  return {
    url: `${apiUrl(ctx)}/submit/${kind}`,
    method: 'POST',
    headers: buildHeaders(ctx),
    body: kind === 'music' ? { ...extra, make_instrumental: false, ...order } : { ...extra, prompt },
    action: kind,
  };
}

const isAccepted = (body) => isObject(body) && (body.code === 'success' || body.code === 200);

export function parseSubmitResponse(_ctx, response) {
  const { body } = response;
  const taskId = textAt(body, 'data');
  if (!isAccepted(body) || taskId === '') {
    throw new Error(textAt(body, 'message') || 'The music service answered without a task.');
  }
  return { taskId, taskData: [] };
}

/** What the codes of sunoapi.org mean: 429 is an empty balance there. */
const REFUSALS = { 401: 'credential', 405: 'rate', 429: 'balance', 430: 'rate' };

export function parseSubmitError({ body }) {
  const code = isObject(body) ? body.code : undefined;
  const kind = Object.hasOwn(REFUSALS, code) ? REFUSALS[code] : undefined;
  return kind ? { kind, message: textAt(body, 'message') || textAt(body, 'msg') } : null;
}

export function buildBatchQueryRequest(ctx, tasks) {
  return {
    url: `${apiUrl(ctx)}/fetch`,
    method: 'POST',
    headers: buildHeaders(ctx),
    body: { ids: tasks.map(({ taskId }) => taskId) },
  };
}

export function parseBatchResult(_ctx, body) {
  if (!isAccepted(body) || !Array.isArray(body.data)) {
    throw new Error(textAt(body, 'message') || 'The music service answered without tasks.');
  }
  return body.data.filter((item) => textAt(item, 'task_id') !== '').map(readTask);
}

/** The same for a single task, in an answer or by itself. */
export function parseTaskResult(_ctx, body) {
  return readTask(isAccepted(body) && isObject(body.data) ? body.data : body);
}

const toList = (data) => (Array.isArray(data) ? data : [data]).filter(isObject);
const numberAt = (value, name) => (isObject(value) && Number(value[name]) > 0 ? Number(value[name]) : 0);

/** What is not known is said to be unknown, and so is a success with nothing in it. */
function readTask(item) {
  const named = textAt(item, 'status').toUpperCase();
  const taskId = textAt(item, 'task_id');
  const reason = textAt(item, 'fail_reason');
  if (!Object.hasOwn(STATUSES, named)) return { taskId, status: 'UNKNOWN', reason };
  const status = STATUSES[named];
  const pieces = toList(item.data);
  if (status === 'SUCCESS' && pieces.length === 0) {
    return { taskId, status: 'UNKNOWN', reason: 'The music service names no result.' };
  }
  const result = { taskId, status, data: pieces };
  const progress = textAt(item, 'progress');
  if (/^\d{1,3}%$/.test(progress) && status === 'IN_PROGRESS') result.progress = progress;
  if (status === 'FAILURE') result.reason = reason || 'The music could not be generated.';
  for (const [name, from] of [
    ['submitTime', 'submit_time'],
    ['startTime', 'start_time'],
    ['finishTime', 'finish_time'],
  ]) {
    if (numberAt(item, from) > 0) result[name] = numberAt(item, from);
  }
  return result;
}

export function extractUsage(ctx) {
  const kind = toKind(ctx);
  return kind === 'lyrics' ? { clips: 1, seconds: 0, kind } : { clips: SONGS, seconds: RESERVED_SECONDS, kind };
}

/** Songs say how long they are; without that the reservation's length stands. */
export function extractUsageOnComplete(_ctx, result, body) {
  const pieces = toList(body);
  if (result.status !== 'SUCCESS' || pieces.length === 0) return null;
  const lengths = pieces.map((piece) => numberAt(piece.metadata, 'duration') || numberAt(piece, 'duration'));
  const facts = { clips: pieces.length };
  if (lengths.every((length) => length > 0)) facts.seconds = lengths.reduce((sum, length) => sum + length, 0);
  return facts;
}

/** A text has no address; it is delivered from the task's own data. */
const readLyrics = (piece) => (textAt(piece, 'audio_url') === '' ? textAt(piece, 'text') : '');

const PARTS = {
  audio: { type: 'audio', mimeType: 'audio/mpeg', at: 'audio_url' },
  video: { type: 'video', mimeType: 'video/mp4', at: 'video_url' },
  cover: { type: 'image', at: 'image_url' },
};

/** "audio-1", "cover-1", "audio-2" and so on; "lyrics-1" for a text. */
export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return toList(task.data).flatMap((piece, index) => {
    if (readLyrics(piece) !== '') return [{ key: `lyrics-${index + 1}`, type: 'file', mimeType: 'text/plain' }];
    return Object.keys(PARTS)
      .filter((name) => textAt(piece, PARTS[name].at) !== '')
      .map((name) => {
        const { type, mimeType } = PARTS[name];
        const key = `${name}-${index + 1}`;
        return mimeType === undefined ? { key, type } : { key, type, mimeType };
      });
  });
}

export function buildContentRequest(ctx) {
  const [, name, number] = /^([a-z]+)-([1-9]\d*)$/.exec(ctx.artifactKey) ?? [];
  const piece = toList(ctx.data)[Number(number) - 1];
  const lyrics = readLyrics(piece);
  if (name === 'lyrics' && lyrics !== '')
    return { url: `data:text/plain;charset=utf-8;base64,${utils.base64(lyrics)}` };
  const url = Object.hasOwn(PARTS, name ?? '') ? textAt(piece, PARTS[name].at) : '';
  if (url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

/**
 * The text parts of a Responses request: a string, or messages whose content is a string or has
 * parts with a text.
 */
function inputText(input) {
  if (typeof input === 'string') return input;
  if (!Array.isArray(input)) return '';
  return input
    .flatMap((item) => (isObject(item) && Array.isArray(item.content) ? item.content : [item]))
    .map((part) => (typeof part === 'string' ? part : textAt(part, 'text') || textAt(part, 'content')))
    .filter((text) => text !== '')
    .join('\n');
}

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Lyrics as they are, songs as players of the gateway's own addresses. */
function outputTexts(ctx, task) {
  return toList(task.data).flatMap((piece, index) => {
    const title = textAt(piece, 'title');
    const lyrics = readLyrics(piece);
    if (lyrics !== '') return [title === '' ? lyrics : `${title}\n\n${lyrics}`];
    const audio = ctx.artifacts?.[`audio-${index + 1}`];
    if (!audio) return [];
    return [`${title === '' ? '' : `${title}\n`}<audio controls src="${escaped(audio.url)}"></audio>`];
  });
}

export const protocols = {
  proto_responses: {
    /**
     * `input` is the idea or, for lyrics, the subject; the vendor's other fields stand beside it
     * or, for clients that allow no more, in `metadata`.
     */
    decodeRequest(ctx) {
      if (ctx.body.kind !== 'json' || !isObject(ctx.body.value)) throw new Error('Please send a JSON object.');
      const { input, metadata, ...request } = ctx.body.value;
      const fields = { ...request, ...(isObject(metadata) ? metadata : {}) };
      const text = inputText(input);
      if (text !== '') fields[toKind(ctx) === 'lyrics' ? 'prompt' : 'gpt_description_prompt'] = text;
      return readIntent(ctx.model, fields);
    },
    renderEvents(ctx, task, previous) {
      if (task.status === 'SUCCESS') {
        return { events: outputTexts(ctx, task).map((data) => ({ type: 'output', data })), done: true };
      }
      if (task.status === 'FAILURE') {
        return {
          events: [{ type: 'error', message: task.fail_reason || 'The music could not be generated.' }],
          done: true,
        };
      }
      const state = `${task.status} ${task.progress}`;
      if (state === previous) return { events: [], done: false, state };
      const progress = Number.parseInt(task.progress, 10);
      return { events: [{ type: 'progress', progress, message: task.status.toLowerCase() }], done: false, state };
    },
    renderFinal(ctx, task) {
      const content = outputTexts(ctx, task).map((text) => ({
        type: 'output_text',
        text,
        annotations: [],
        logprobs: [],
      }));
      return { output: [{ type: 'message', role: 'assistant', content }] };
    },
  },
};

/** A task as the vendor's clients know it. */
function presentOne(task) {
  return {
    task_id: task.task_id,
    action: task.model === MODELS.lyrics ? 'LYRICS' : 'MUSIC',
    status: task.status,
    fail_reason: task.fail_reason,
    submit_time: task.created_at,
    finish_time: task.finished_at ?? 0,
    progress: task.progress,
    data: task.model === MODELS.lyrics ? (toList(task.data)[0] ?? null) : toList(task.data),
  };
}
const success = (data) => ({ code: 'success', message: '', data });

export const native = {
  decodeSubmit(ctx) {
    const kind = ctx.params.action.toLowerCase();
    if (!Object.hasOwn(MODELS, kind)) throw new Error('Please submit to /suno/submit/music or /suno/submit/lyrics.');
    if (ctx.body.kind !== 'json' || !isObject(ctx.body.value)) throw new Error('Please send a JSON object.');
    return readIntent(MODELS[kind], { metadata: ctx.body.value });
  },
  decodeFetch(ctx) {
    const ids = ctx.body.kind === 'json' && isObject(ctx.body.value) ? ctx.body.value.ids : undefined;
    if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string'))
      throw new Error('Please give the ids of your tasks as a list.');
    return { kind: 'query', taskIds: ids };
  },
  presentSubmitted: (_ctx, task) => success(task.task_id),
  presentTasks: (_ctx, tasks) => success(tasks.map(presentOne)),
  presentTask: (_ctx, task) => success(presentOne(task)),
  error: (_ctx, error) => ({ code: error.code, message: error.message, data: null }),
};
