// Music of MiniMax: https://platform.minimax.io/docs/api-reference/music-generation. The vendor
// answers with the finished song, after a minute or more: a task ends with its submission. It is
// asked for an address of the song; one in hex is kept in the task while it is short.

/** `plain`: makes music without words, and writes words itself. `writes`: only the latter. */
const MODELS = {
  'music-2.6': { plain: true },
  'music-2.5': { writes: true },
  'music-2.0': {},
  'music-1.5': {},
};

export const meta = {
  apiVersion: 1,
  key: 'minimax-music',
  name: 'MiniMax Music',
  version: '1.1.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'MiniMax Music: songs from a description and lyrics, and instrumental music',
    zh: 'MiniMax 音乐：由描述与歌词生成歌曲，或生成纯音乐',
    ja: 'MiniMax Music：説明と歌詞から曲、インストゥルメンタル',
    es: 'MiniMax Music: canciones a partir de una descripción y letra, y música instrumental',
    de: 'MiniMax Music: Songs aus Beschreibung und Songtext sowie Instrumentalmusik',
    pt: 'MiniMax Music: músicas a partir de descrição e letra, e instrumentais',
  },
  icon: 'Minimax.Color',
  sortPriority: 19,
  website: 'https://platform.minimax.io/docs/api-reference/music-generation',
  baseUrl: 'https://api.minimax.io',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: [{ name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // A client of the vendor reaches it with `<gateway>/minimax-music` as its base address.
  routes: [
    {
      method: 'POST',
      path: '/minimax-music/v1/music_generation',
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentSong',
    },
    { method: 'GET', path: '/minimax-music/v1/music_generation/:task_id', type: 'query', render: 'presentSong' },
  ],
  usageSchema: {
    songs: {
      type: 'number',
      unit: 'count',
      description: {
        en: 'Number of songs',
        zh: '歌曲数量',
        ja: '曲数',
        es: 'Número de canciones',
        de: 'Anzahl der Songs',
        pt: 'Número de músicas',
      },
    },
    seconds: {
      type: 'number',
      unit: 'second',
      description: {
        en: 'Song length (seconds)',
        zh: '歌曲时长（秒）',
        ja: '曲の長さ（秒）',
        es: 'Duración de la canción (segundos)',
        de: 'Songlänge (Sekunden)',
        pt: 'Duração da música (segundos)',
      },
    },
    instrumental: {
      type: 'boolean',
      description: {
        en: 'Instrumental',
        zh: '纯音乐',
        ja: 'インストゥルメンタル',
        es: 'Instrumental',
        de: 'Instrumental',
        pt: 'Instrumental',
      },
    },
  },
  usageExamples: [{ label: '3-minute song', facts: { songs: 1, seconds: 180, instrumental: false } }],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    songs: { en: 'Songs', zh: '歌曲', ja: '曲', es: 'Canciones', de: 'Songs', pt: 'Músicas' },
    seconds: { en: 'Duration', zh: '时长', ja: '長さ', es: 'Duración', de: 'Dauer', pt: 'Duração' },
    instrumental: {
      en: 'Instrumental',
      zh: '纯音乐',
      ja: 'インストゥルメンタル',
      es: 'Instrumental',
      de: 'Instrumental',
      pt: 'Instrumental',
    },
    lyrics: { en: 'Lyrics', zh: '歌词', ja: '歌詞', es: 'Letra', de: 'Songtext', pt: 'Letra' },
  },
  keyUrl: 'https://platform.minimax.io/user-center/basic-information/interface-key',
  keyFormat: ['sk-api-…', 'eyJ…'],
  inputs: {
    lyrics: {
      type: 'text',
      description: {
        en: 'Lyrics, one line each; none for instrumental music',
        zh: '歌词，每句一行；纯音乐无需填写',
        ja: '歌詞（1行に1フレーズ）。インストゥルメンタルでは不要',
        es: 'Letra, un verso por línea; vacía para música instrumental',
        de: 'Songtext, Zeile für Zeile; leer für Instrumentalmusik',
        pt: 'Letra, um verso por linha; vazia para música instrumental',
      },
    },
  },
  ranges: {
    songs: null,
    seconds: null,
    instrumental: {
      models: Object.fromEntries(Object.entries(MODELS).map(([model, { plain }]) => [model, plain ? {} : null])),
    },
  },
};

/** Reserved until the length is known. */
const RESERVED_SECONDS = 300;
const MAX_PROMPT = 2000;
const MAX_LYRICS = 3500;
/**
 * The gateway cuts long texts of larger answers to 256 characters; a song that is not longer was
 * cut.
 */
const CUT_TO = 256;
const FORMATS = { mp3: 'audio/mpeg', wav: 'audio/wav', pcm: 'audio/L16' };
/** Fields of the vendor that go to it as they are. */
const PASSED = ['is_instrumental', 'lyrics_optimizer', 'aigc_watermark', 'audio_setting'];
const READ = ['prompt', 'lyrics', 'instrumental'];
/** What the gateway decides. */
const KEPT = ['model', 'metadata', 'stream', 'output_format', 'callback_url', 'webhook_url'];
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
const OWN = new Set([...PASSED, ...READ, ...KEPT].map(stripSeparators));

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

function readText(fields, name, most) {
  const value = fields[name];
  if (!isGiven(value)) return undefined;
  if (typeof value !== 'string' || [...value].length > most) {
    throw new Error(`${name} is a string of at most ${most} characters.`);
  }
  return value;
}

/**
 * Any incoming request as one intent, whatever the model: the vendor's fields, or this intent
 * again.
 */
function normalize(sent) {
  const metadata = isObject(sent.metadata) ? sent.metadata : {};
  const fields = { ...metadata, ...sent };
  const instrumental = firstGiven(fields.is_instrumental, fields.instrumental);
  if (instrumental !== undefined && typeof instrumental !== 'boolean')
    throw new Error('is_instrumental is true or false.');
  const intent = { prompt: readText(fields, 'prompt', MAX_PROMPT), lyrics: readText(fields, 'lyrics', MAX_LYRICS) };
  for (const name of PASSED) if (isGiven(fields[name])) intent[name] = fields[name];
  if (instrumental !== undefined) intent.is_instrumental = instrumental;
  const format = objectAt(intent, 'audio_setting').format;
  if (format !== undefined && !Object.hasOwn(FORMATS, format))
    throw new Error('audio_setting.format is mp3, wav or pcm.');
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(stripSeparators(name)));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  for (const name of Object.keys(intent)) if (!isGiven(intent[name])) delete intent[name];
  return intent;
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const spec = MODELS[model] ?? { plain: true };
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const { prompt = '', lyrics = '', is_instrumental: instrumental = false, lyrics_optimizer: writes } = order;
  if (instrumental && !spec.plain) throw new Error(`${model} makes songs only; leave is_instrumental out.`);
  if (writes && !spec.plain && !spec.writes) throw new Error(`${model} writes no lyrics; leave lyrics_optimizer out.`);
  if (prompt.trim() === '' && (instrumental || writes)) throw new Error('Please give a prompt.');
  if (lyrics.trim() === '' && !instrumental && !writes) {
    throw new Error('Please give lyrics, or is_instrumental, or lyrics_optimizer to have them written.');
  }
  return { model, order, instrumental };
}

export function buildSubmitRequest(ctx) {
  const { model, order, instrumental } = plan(ctx);
  const { metadata, ...fields } = { ...order.metadata, ...order };
  return {
    url: `${apiUrl(ctx)}/music_generation`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json' },
    body: { ...fields, model, output_format: 'url' },
    action: instrumental ? 'instrumental' : 'song',
  };
}

export function extractUsage(ctx) {
  return { songs: 1, seconds: RESERVED_SECONDS, instrumental: plan(ctx).instrumental };
}

/** Errors come with HTTP 200: `base_resp` tells. */
const readCode = (body) => Number(objectAt(body, 'base_resp').status_code ?? 0);
const readMessage = (body) => {
  const message = textAt(objectAt(body, 'base_resp'), 'status_msg');
  return readCode(body) === 0 ? '' : `${message || 'MiniMax refused'} (${readCode(body)})`;
};

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Bytes in hex as Base64: three digits become two. */
function base64OfHex(hex) {
  const pairs = {};
  for (let bits = 0; bits < 4096; bits += 1) {
    pairs[bits.toString(16).padStart(3, '0')] = DIGITS[bits >> 6] + DIGITS[bits & 63];
  }
  const digits = hex.toLowerCase().padEnd(Math.ceil(hex.length / 6) * 6, '0');
  const out = [];
  for (let at = 0; at < digits.length; at += 3) out.push(pairs[digits.slice(at, at + 3)]);
  const missing = (digits.length - hex.length) / 2;
  const text = out.join('');
  return text.slice(0, text.length - missing) + '='.repeat(missing);
}

const isAddress = (audio) => /^https?:\/\//.test(audio.slice(0, 8));

export function parseSubmitResponse(ctx, { body }) {
  const audio = textAt(objectAt(body, 'data'), 'audio');
  if (readCode(body) !== 0 || audio === '') throw new Error(readMessage(body) || 'MiniMax answered without a song.');
  const format = objectAt(plan(ctx).order, 'audio_setting').format ?? 'mp3';
  const song = { taskId: textAt(body, 'trace_id') || ctx.publicTaskId, taskData: body };
  if (isAddress(audio)) return { ...song, immediate: { status: 'SUCCESS', url: audio }, state: { format } };
  const isHex = audio.length > CUT_TO && /^(?:[\da-f]{2})+$/i.test(audio);
  if (!isHex) throw new Error('The song came neither as an address nor as short hex.');
  // The answer is stored without the long hex.
  const data = { ...body, data: { ...body.data, audio: '' } };
  return { ...song, taskData: data, immediate: { status: 'SUCCESS' }, state: { format, base64: base64OfHex(audio) } };
}

/** What the vendor's codes mean. */
const REFUSALS = {
  ...{ 1002: 'rate', 1039: 'rate', 2045: 'rate', 1041: 'capacity', 1008: 'balance', 2056: 'balance' },
  ...{ 1004: 'credential', 2049: 'credential', 1026: 'content', 1027: 'content' },
};

export function parseSubmitError({ body }) {
  const kind = Object.hasOwn(REFUSALS, readCode(body)) ? REFUSALS[readCode(body)] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

/** The length is told in milliseconds. */
export function extractUsageOnSubmit(_ctx, answer) {
  const milliseconds = Number(objectAt(answer, 'extra_info').music_duration);
  return milliseconds > 0 ? { seconds: Math.min(3600, Math.ceil(milliseconds / 1000)) } : {};
}

/**
 * The song is there already. It is only asked for when its end could not be stored, and MiniMax has
 * no place to ask: any question that it
 * answers will do.
 */
export function buildQueryRequest(ctx) {
  return {
    url: `${apiUrl(ctx)}/query/video_generation?task_id=${encodeURIComponent(ctx.taskId)}`,
    headers: bearer(ctx),
  };
}

export function parseTaskResult(ctx) {
  const held = textAt(ctx.state, 'base64') !== '' || isAddress(textAt(objectAt(ctx.data, 'data'), 'audio'));
  return held ? { status: 'SUCCESS' } : { status: 'UNKNOWN', reason: 'the song is not there' };
}

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS') return [];
  return [{ key: 'audio', type: 'audio', mimeType: FORMATS[textAt(task.state, 'format')] ?? FORMATS.mp3 }];
}

/** The address is signed for a day and public until then. */
export function buildContentRequest(ctx) {
  if (ctx.artifactKey !== 'audio') throw new Error('artifact_not_found');
  const [held, audio] = [textAt(ctx.state, 'base64'), textAt(objectAt(ctx.data, 'data'), 'audio')];
  if (held !== '') return { url: `data:${FORMATS[ctx.state.format] ?? FORMATS.mp3};base64,${held}` };
  if (!isAddress(audio)) throw new Error('artifact_not_found');
  return { url: audio, method: ctx.clientRequest.method, credentialless: true };
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

const audioTag = (ctx) => `<audio controls src="${ctx.artifacts.audio.url}"></audio>`;

export const protocols = {
  proto_responses: {
    /** `input` describes the music; `lyrics` and the vendor's other fields stand beside it. */
    decodeRequest(ctx) {
      // What is not read of a client's labels is not for the vendor.
      const { metadata: _labels, ...requestBody } = normalize(decodeResponses(ctx.body));
      return { kind: 'submit', model: ctx.model, requestBody };
    },
    renderEvents(ctx, task, previous) {
      if (task.status === 'SUCCESS') return { events: [{ type: 'output', data: audioTag(ctx) }], done: true };
      if (task.status === 'FAILURE') return { events: [{ type: 'error', message: task.fail_reason }], done: true };
      const state = `${task.status} ${task.progress}`;
      const progress = { type: 'progress', progress: Number.parseInt(task.progress, 10) || 0, message: task.status };
      return { events: state === previous ? [] : [progress], done: false, state };
    },
    renderFinal(ctx) {
      const text = { type: 'output_text', text: audioTag(ctx), annotations: [], logprobs: [] };
      return { output: [{ type: 'message', role: 'assistant', content: [text] }] };
    },
  },
};

export const native = {
  /**
   * Fields that are newer than this plugin go on as they are. The answer has an address, whatever
   * output_format says.
   */
  decodeSubmit({ body }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    const { model, stream } = body.value;
    if (typeof model !== 'string' || model === '') throw new Error('Please name the model.');
    if (stream === true) throw new Error('The gateway does not stream music; leave stream out.');
    return { kind: 'submit', model, requestBody: normalize({ ...body.value, metadata: body.value }) };
  },
  presentSong(_ctx, task) {
    const fine = { status_code: 0, status_msg: 'success' };
    const failed = { status_code: 1000, status_msg: task.fail_reason };
    const base_resp = task.status === 'FAILURE' ? failed : fine;
    return { data: null, ...objectAt(task, 'data'), trace_id: task.task_id, base_resp };
  },
  error: (_ctx, error) => ({ base_resp: { status_code: error.httpStatus, status_msg: error.message } }),
};
