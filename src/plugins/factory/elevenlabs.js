// ElevenLabs: https://elevenlabs.io/docs/api-reference. The vendor answers with the audio itself,
// or with what was said in a recording, so a task ends with its submission. The gateway hands over
// the bytes of a short answer, and the task keeps them. Longer speech is fetched from the vendor's
// history. The vendor keeps no such history for sounds and music, so an order that would be too
// long is refused before it is bought.

const words = (text) => text.split(' ');
/** What the models make; one that is not listed is told by its name. */
const SPEECH = words('eleven_v3 eleven_multilingual_v2 eleven_flash_v2_5 eleven_turbo_v2_5');
const SOUND = 'eleven_text_to_sound_v2';
const MUSIC = words('music_v1 music_v2');
const TRANSCRIPT = words('scribe_v2 scribe_v1');

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));

export const meta = {
  apiVersion: 1,
  key: 'elevenlabs',
  name: 'ElevenLabs',
  version: '1.2.1',
  author: { name: 'Taskgate' },
  description: {
    en: 'ElevenLabs: text to speech, sound effects, music, and speech to text',
    zh: 'ElevenLabs：文字转语音、音效与音乐生成，语音转文字',
    ja: 'ElevenLabs：テキスト読み上げ、効果音、音楽、文字起こし',
    es: 'ElevenLabs: texto a voz, efectos de sonido, música y transcripción',
    de: 'ElevenLabs: Text zu Sprache, Soundeffekte, Musik und Transkription',
    pt: 'ElevenLabs: texto para fala, efeitos sonoros, música e transcrição',
  },
  icon: 'ElevenLabs',
  sortPriority: 18,
  website: 'https://elevenlabs.io/docs/api-reference',
  baseUrl: 'https://api.elevenlabs.io',
  fetchMode: 'per_task',
  models: [...SPEECH, SOUND, ...MUSIC, ...TRANSCRIPT],
  protocols: [
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'], models: [...SPEECH, SOUND, ...MUSIC] },
  ],
  // With `<gateway>/elevenlabs` as base address. Unlike the vendor's, answers name a task; its
  // audio is an artifact.
  routes: [
    ...['text-to-speech/:voice_id', 'sound-generation', 'music'].map((path) => ({
      method: 'POST',
      path: `/elevenlabs/v1/${path}`,
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentItem',
    })),
    { method: 'GET', path: '/elevenlabs/v1/history/:task_id', type: 'query', render: 'presentItem' },
  ],
  usageSchema: {
    characters: {
      type: 'number',
      unit: 'token',
      description: localized`Text length (characters); the vendor’s count applies once it responds | 文本字符数；服务商响应后以其计数为准 | テキストの文字数。応答後はベンダーの計数を適用 | Caracteres del texto; cuando el proveedor responde, vale su recuento | Zeichen des Textes; nach der Antwort gilt die Zählung des Anbieters | Caracteres do texto; após a resposta, vale a contagem do fornecedor`,
    },
    seconds: {
      type: 'number',
      unit: 'second',
      description: localized`Sound or music length (seconds) | 音效或音乐时长（秒） | 効果音または音楽の長さ（秒） | Duración del sonido o de la música (segundos) | Länge von Soundeffekt oder Musik (Sekunden) | Duração do som ou da música (segundos)`,
    },
    kind: {
      enum: ['speech', 'sound', 'music'],
      enumLabels: {
        speech: localized`Speech | 语音 | 音声 | Voz | Sprache | Voz`,
        sound: localized`Sound effect | 音效 | 効果音 | Efecto de sonido | Soundeffekt | Efeito sonoro`,
        music: localized`Music | 音乐 | 音楽 | Música | Musik | Música`,
      },
      description: localized`Result type | 结果类型 | 結果の種類 | Tipo de resultado | Art des Ergebnisses | Tipo de resultado`,
    },
  },
  usageExamples: [
    { label: '80 characters of speech', facts: { characters: 80, seconds: 0, kind: 'speech' } },
    { label: '30 sec of music', facts: { characters: 0, seconds: 30, kind: 'music' } },
  ],
  usageProfiles: [
    {
      models: TRANSCRIPT,
      schema: {
        // Recordings may be longer than the hour that a fact in seconds can have.
        recorded_seconds: {
          type: 'number',
          unit: 'token',
          description: localized`Recording length (seconds): reserved by file size, billed by the vendor’s count | 录音时长（秒）：按文件大小预扣，按服务商的计数计费 | 録音の長さ（秒）：ファイルサイズで予約し、ベンダーの計数で請求 | Duración de la grabación (segundos): se reserva por tamaño del archivo y se cobra por el recuento del proveedor | Länge der Aufnahme (Sekunden): reserviert nach Dateigröße, berechnet nach Zählung des Anbieters | Duração da gravação (segundos): reservada pelo tamanho do arquivo, cobrada pela contagem do fornecedor`,
        },
      },
      examples: [{ label: '10-minute recording', facts: { recorded_seconds: 600 } }],
    },
  ],
};

/**
 * What the gateway hands over is at most 765 KiB; a file may be a little longer than its length
 * says.
 */
const HELD_BYTES = 700_000;
const SOUND_SECONDS = [0.5, 30];
const MUSIC_SECONDS = [3, 600];
/** Tried in this order for music. */
const MUSIC_FORMATS = words('mp3_44100_128 mp3_44100_96 mp3_44100_64 mp3_44100_32');
const FORMAT = /^(mp3|opus|pcm|wav|ulaw|alaw)_(\d{4,5})(?:_(\d{2,3}))?$/;
const MOST_MUSIC = Math.floor(HELD_BYTES / bytesASecond(MUSIC_FORMATS.at(-1)));

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  labels: {
    url: localized`Recording | 录音 | 録音 | Grabación | Aufnahme | Gravação`,
    characters: localized`Characters | 字符数 | 文字数 | Caracteres | Zeichen | Caracteres`,
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    recorded_seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    kind: localized`Type | 类型 | 種類 | Tipo | Art | Tipo`,
    voice_id: localized`Voice | 音色 | ボイス | Voz | Stimme | Voz`,
  },
  keyUrl: 'https://elevenlabs.io/app/settings/api-keys',
  keyFormat: 'sk_…',
  // As https://developer.puter.com/tutorials/elevenlabs-api-pricing quotes it in that month.
  listPrices: {
    url: 'https://elevenlabs.io/pricing/api',
    asOf: '2026-06-01',
    models: Object.fromEntries([
      ...words('eleven_v3 eleven_multilingual_v2').map((model) => [model, '0.0001 * u("characters")']),
      ...words('eleven_flash_v2_5 eleven_turbo_v2_5').map((model) => [model, '0.00005 * u("characters")']),
      [SOUND, '0.12'],
      ...MUSIC.map((model) => [model, '0.005 * u("seconds")']),
      ...TRANSCRIPT.map((model) => [model, '0.22 / 3600 * u("recorded_seconds")']),
    ]),
  },
  inputs: {
    voice_id: {
      type: 'text',
      required: true,
      example: 'JBFqnCBsd6RMkjVDRZzb',
      description: localized`Voice ID, from Voices at elevenlabs.io | 音色 ID，见 elevenlabs.io 的 Voices 页面 | ボイスID（elevenlabs.ioの「Voices」で確認） | ID de la voz, en Voices de elevenlabs.io | ID der Stimme, unter Voices auf elevenlabs.io | ID da voz, em Voices no elevenlabs.io`,
      models: SPEECH,
    },
    url: {
      type: 'text',
      required: true,
      example: 'https://example.com/recording.mp3',
      description: localized`Recording URL; a form uploads it as file | 录音地址；表单可直接上传 file | 録音のURL（フォームではfileとしてアップロード） | URL de la grabación; un formulario la sube como file | URL der Aufnahme; ein Formular lädt sie als file hoch | URL da gravação; um formulário a envia como file`,
      models: TRANSCRIPT,
    },
  },
  ranges: {
    kind: null,
    recorded_seconds: null,
    seconds: {
      models: {
        ...Object.fromEntries(SPEECH.map((model) => [model, null])),
        [SOUND]: { minimum: SOUND_SECONDS[0], maximum: SOUND_SECONDS[1] },
        ...Object.fromEntries(MUSIC.map((model) => [model, { minimum: MUSIC_SECONDS[0], maximum: MOST_MUSIC }])),
      },
    },
  },
};

/** The longest answer that the gateway reads, and characters a second. */
const ANSWER_BYTES = 16 * 1024 * 1024;
const SLOW_SPEECH = 10;
const DEFAULT_MUSIC_SECONDS = 30;
const TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  wav: 'audio/wav',
  pcm: 'audio/L16',
  ulaw: 'audio/basic',
  alaw: 'audio/x-alaw-basic',
};
/** Fields of the vendor that go to it as they are, by what they belong to. */
const PASSED = {
  speech: words(
    'voice_settings language_code seed previous_text next_text apply_text_normalization pronunciation_dictionary_locators',
  ),
  sound: words('duration_seconds prompt_influence loop'),
  music: words('composition_plan seed force_instrumental respect_sections_durations'),
  transcript: words('language_code diarize num_speakers tag_audio_events timestamps_granularity temperature seed'),
};
/** What OpenAI's clients may ask a transcript for. */
const TRANSCRIPT_FORMATS = words('json verbose_json text srt');
/** Bytes of a second of the smallest recordings, which decides what is reserved. */
const SMALL_SECOND = 4000;
const UNSAID_RECORDING = 3600;
/** Words with their times are left out of a transcript that would be larger. */
const TRANSCRIPT_CHARACTERS = 700_000;
const READ = words(
  'text prompt input voice voice_id output_format response_format seconds duration music_length_ms music_prompt ' +
    'file url cloud_storage_url language transcript_format',
);
/** What the gateway decides. Without logging there is no history to fetch from. */
const KEPT = words(
  'model model_id metadata stream enable_logging callback_url webhook_url webhook webhook_id webhook_metadata ' +
    'use_multi_channel additional_formats',
);
const OWN = new Set([...Object.values(PASSED).flat(), ...READ, ...KEPT]);

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const root = (ctx) => ctx.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
const keyHeader = (ctx) => ({ 'xi-api-key': ctx.apiKey });
const toKind = (model) =>
  /scribe/.test(model) ? 'transcript' : /music/.test(model) ? 'music' : /sound/.test(model) ? 'sound' : 'speech';

/**
 * Any incoming request as one intent, whatever the model: OpenAI's fields, the vendor's, or this
 * intent again.
 */
function normalize(sent) {
  const metadata = isObject(sent.metadata) ? sent.metadata : {};
  const fields = { ...metadata, ...sent };
  const text = firstGiven(fields.text, fields.prompt, fields.input);
  if (isGiven(text) && typeof text !== 'string') throw new Error('text must be a string.');
  const milliseconds = firstGiven(fields.music_length_ms);
  const length = firstGiven(
    fields.duration_seconds,
    fields.seconds,
    fields.duration,
    milliseconds && milliseconds / 1000,
  );
  const seconds = length === undefined ? undefined : Number(length);
  if (seconds !== undefined && !(seconds > 0)) throw new Error('The length is a number of seconds.');
  if (fields.response_format === 'vtt') throw new Error(`response_format is one of ${TRANSCRIPT_FORMATS.join(', ')}.`);
  const said = TRANSCRIPT_FORMATS.includes(fields.response_format) ? fields.response_format : fields.transcript_format;
  const format = firstGiven(fields.output_format, said ? undefined : fields.response_format);
  if (format !== undefined && format !== 'mp3' && !FORMAT.test(format)) {
    throw new Error('output_format is a codec with its sample rate and bit rate, such as mp3_44100_128.');
  }
  const voice = firstGiven(fields.voice_id, fields.voice);
  if (voice !== undefined && !/^[\w-]{1,64}$/.test(voice)) throw new Error('voice_id is not in the form of an id.');
  const intent = { text, voice_id: voice, seconds, output_format: format === 'mp3' ? undefined : format };
  Object.assign(intent, { transcript_format: said, language_code: fields.language, ...readRecording(fields) });
  for (const name of Object.values(PASSED).flat()) {
    if (isGiven(fields[name]) && name !== 'duration_seconds') intent[name] = fields[name];
  }
  const rest = Object.entries(metadata).filter(([name]) => !OWN.has(name));
  if (rest.length > 0) intent.metadata = Object.fromEntries(rest);
  for (const name of Object.keys(intent)) if (!isGiven(intent[name])) delete intent[name];
  return intent;
}

/** The recording as `{file: {ref}}` of a form, or as `{url}`. */
function readRecording({ file, url, cloud_storage_url: stored }) {
  if (isObject(file) && typeof file.ref === 'string') return { file: { ref: file.ref } };
  const address = firstGiven(url, stored, file);
  if (address === undefined) return {};
  if (/^https:\/\/\S+$/.test(address)) return { url: address };
  throw new Error('The recording is a file of a form, or an https URL.');
}

/**
 * Bytes of a second: compressed codecs say thousands of bits, the others have samples of one or two
 * bytes.
 */
function bytesASecond(format) {
  const [, codec, rate, kilobits] = FORMAT.exec(format);
  if (kilobits !== undefined) return Number(kilobits) * 125;
  return Number(rate) * (codec === 'ulaw' || codec === 'alaw' ? 1 : 2);
}

function checkLength(seconds, [least, most], what) {
  if (seconds < least || seconds > most) throw new Error(`${what} has from ${least} to ${most} seconds.`);
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const kind = toKind(model);
  const order = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const { text = '', output_format: wanted } = order;
  if (kind === 'transcript') {
    if (!order.file && !order.url) throw new Error('Please give the recording as file, or its address as url.');
    const size = ctx.files?.find(({ ref }) => ref === order.file?.ref)?.size;
    return { model, kind, order, recorded: size > 0 ? Math.ceil(size / SMALL_SECOND) : UNSAID_RECORDING };
  }
  const sections = kind === 'music' ? order.composition_plan : undefined;
  if (text.trim() === '' && !sections) throw new Error('Text is required.');
  if (kind === 'speech') {
    if (order.voice_id === undefined) throw new Error('Please give a voice_id.');
    const [format, characters] = [wanted ?? 'mp3_44100_128', [...text].length];
    if ((characters / SLOW_SPEECH) * bytesASecond(format) > ANSWER_BYTES) {
      throw new Error('The speech would be larger than 16 MiB: send the text in parts, or ask for a lower bit rate.');
    }
    return { model, kind, order, format, seconds: 0, characters };
  }
  const planned = (isObject(sections) && Array.isArray(sections.sections) ? sections.sections : [])
    .map((section) => Number(section?.duration_ms) / 1000)
    .reduce((sum, length) => sum + length, 0);
  const unsaid = kind === 'sound' ? SOUND_SECONDS[1] : DEFAULT_MUSIC_SECONDS;
  const seconds = sections ? planned : (order.seconds ?? unsaid);
  if (!(seconds > 0)) throw new Error('The sections of composition_plan say their duration_ms.');
  if (kind === 'sound') checkLength(seconds, SOUND_SECONDS, 'A sound');
  else checkLength(seconds, MUSIC_SECONDS, 'Music');
  const formats = wanted ? [wanted] : kind === 'music' ? MUSIC_FORMATS : MUSIC_FORMATS.slice(0, 1);
  const format = formats.find((name) => bytesASecond(name) * seconds <= HELD_BYTES);
  if (format === undefined) {
    const most = Math.floor(HELD_BYTES / bytesASecond(formats.at(-1)));
    throw new Error(`In ${formats.at(-1)} the gateway can keep ${most} seconds; ask for less or for a lower bit rate.`);
  }
  return { model, kind, order, format, seconds, characters: 0 };
}

/** Path and body by what is made. */
function buildRequest({ model, kind, order, seconds }) {
  const { text, metadata } = order;
  const passed = Object.fromEntries(PASSED[kind].filter((name) => name in order).map((name) => [name, order[name]]));
  const common = { ...metadata, ...passed, model_id: model };
  if (kind === 'speech') return [`text-to-speech/${encodeURIComponent(order.voice_id)}`, { ...common, text }];
  // A sound's length is left to the vendor unless it is given.
  if (kind === 'sound') return ['sound-generation', { ...common, text, duration_seconds: order.seconds }];
  if (order.composition_plan) return ['music', common];
  return ['music', { ...common, prompt: text, music_length_ms: Math.round(seconds * 1000) }];
}

/** A form: the file goes through the gateway unread. */
function transcriptRequest(ctx, { model, kind, order }) {
  const passed = PASSED.transcript.filter((name) => name in order).map((name) => [name, order[name]]);
  const subtitles = order.transcript_format === 'srt' ? [['additional_formats', [{ format: 'srt' }]]] : [];
  const fields = [['model_id', model], ...Object.entries(order.metadata ?? {}), ...passed, ...subtitles];
  const parts = fields.map(([name, value]) => ({
    name,
    value: typeof value === 'object' ? JSON.stringify(value) : value,
  }));
  const recording = order.file
    ? { name: 'file', fileRef: order.file.ref }
    : { name: 'cloud_storage_url', value: order.url };
  const url = `${root(ctx)}/v1/speech-to-text`;
  const form = { bodyType: 'multipart', parts: [...parts, recording] };
  return { url, method: 'POST', headers: keyHeader(ctx), ...form, action: kind };
}

export function buildSubmitRequest(ctx) {
  const planned = plan(ctx);
  if (planned.kind === 'transcript') return transcriptRequest(ctx, planned);
  const [path, body] = buildRequest(planned);
  return {
    url: `${root(ctx)}/v1/${path}?output_format=${planned.format}`,
    method: 'POST',
    headers: { ...keyHeader(ctx), 'Content-Type': 'application/json' },
    // Members that are undefined are not sent.
    body,
    action: planned.kind,
  };
}

export function extractUsage(ctx) {
  const { kind, seconds, characters, recorded } = plan(ctx);
  return kind === 'transcript' ? { recorded_seconds: recorded } : { characters, seconds, kind };
}

/** The vendor explains in `detail`, as a text, an object with a message, or a list of faults. */
function readMessage(body) {
  const { detail } = isObject(body) ? body : {};
  const faults = (Array.isArray(detail) ? detail : []).map((fault) => textAt(fault, 'msg')).filter(Boolean);
  return faults.join('; ') || textAt(body, 'detail') || textAt(objectAt(body, 'detail'), 'message');
}

/**
 * The audio by one of three ways: its bytes, its item in the history, or a request that is looked
 * up there.
 */
export function parseSubmitResponse(ctx, { headers, body, base64 }) {
  const { kind, format, order } = plan(ctx);
  if (kind === 'transcript') return readTranscript(ctx, order, body);
  const header = (name) => headers[name]?.[0] ?? '';
  const counted = Number(header('character-cost'));
  const taskData = { kind, request_id: header('request-id') };
  if (kind === 'speech' && counted > 0) taskData.characters = counted;
  if (kind !== 'speech' && base64) taskData.seconds = Math.ceil((base64.length * 0.75) / bytesASecond(format));
  const taskId = header('request-id') || ctx.publicTaskId;
  const done = (state) => ({ taskId, taskData, immediate: { status: 'SUCCESS' }, state: { format, ...state } });
  if (base64) return done({ base64 });
  if (body !== '') throw new Error(readMessage(body) || 'ElevenLabs answered without audio.');
  if (kind === 'speech' && header('history-item-id')) return done({ history_item_id: header('history-item-id') });
  if (kind !== 'speech' || header('request-id') === '') {
    throw new Error('The audio is larger than what the gateway keeps; ask for less or for a lower bit rate.');
  }
  return { taskId, taskData, state: { format, voice_id: order.voice_id } };
}

/** What was said, as OpenAI's clients read it, or as subtitles. */
function readTranscript(ctx, { transcript_format: format }, body) {
  if (!isObject(body) || typeof body.text !== 'string')
    throw new Error(readMessage(body) || 'ElevenLabs returned no text.');
  const spoken = (Array.isArray(body.words) ? body.words : []).filter((word) => textAt(word, 'type') !== 'spacing');
  const duration = Number(body.audio_duration_secs) || Number(spoken.at(-1)?.end) || undefined;
  const [subtitles] = Array.isArray(body.additional_formats) ? body.additional_formats : [];
  const list = spoken.map(({ text, start, end, speaker_id }) => ({ word: text, start, end, speaker: speaker_id }));
  const transcript = { text: body.text, language: body.language_code, duration };
  if (JSON.stringify(list).length <= TRANSCRIPT_CHARACTERS) transcript.words = list;
  const taskId = textAt(body, 'transcription_id') || ctx.publicTaskId;
  const taskData = { kind: 'transcript', ...(duration ? { recorded_seconds: duration } : {}) };
  // Paid for in any case: without subtitles the client gets the text.
  const content = format === 'srt' ? textAt(subtitles, 'content') : '';
  const state = content ? { subtitles: content } : { transcript };
  return { taskId, taskData, immediate: { status: 'SUCCESS' }, state };
}

/** What `detail.status` means. */
const REFUSALS = {
  too_many_concurrent_requests: 'capacity',
  system_busy: 'vendor_busy',
  invalid_api_key: 'credential',
  quota_exceeded: 'balance',
};

export function parseSubmitError({ body }) {
  const status = textAt(objectAt(body, 'detail'), 'status');
  const kind = Object.hasOwn(REFUSALS, status) ? REFUSALS[status] : undefined;
  return kind ? { kind, message: readMessage(body) } : null;
}

/** What the vendor counted, and the length of what it made. */
export function extractUsageOnSubmit(_ctx, data) {
  const usage = {};
  for (const name of ['characters', 'seconds', 'recorded_seconds'])
    if (isObject(data) && data[name] > 0) usage[name] = data[name];
  return usage;
}

/** The newest items of the voice. */
export function buildQueryRequest(ctx) {
  const voice = textAt(ctx.state, 'voice_id');
  const narrowed = voice === '' ? '' : `&voice_id=${encodeURIComponent(voice)}`;
  return { url: `${root(ctx)}/v1/history?page_size=50${narrowed}`, headers: keyHeader(ctx) };
}

const isTranscript = (state) => isObject(state) && (isObject(state.transcript) || textAt(state, 'subtitles') !== '');
const isHeld = (state) =>
  textAt(state, 'base64') !== '' || textAt(state, 'history_item_id') !== '' || isTranscript(state);

/** An item that is not there yet counts as a failed poll, so that the search ends. */
export function parseTaskResult(ctx, body) {
  if (isHeld(ctx.state)) return { status: 'SUCCESS' };
  const items = isObject(body) && Array.isArray(body.history) ? body.history : [];
  const item = items.find((candidate) => textAt(candidate, 'request_id') === ctx.taskId);
  const id = textAt(item, 'history_item_id');
  if (id === '')
    return { status: 'UNKNOWN', reason: readMessage(body) || 'The speech is not in the history of ElevenLabs yet.' };
  return { status: 'SUCCESS', state: { ...ctx.state, history_item_id: id } };
}

const readType = (state) => TYPES[FORMAT.exec(textAt(state, 'format'))?.[1]] ?? TYPES.mp3;

export function listArtifacts(task) {
  if (task.status !== 'SUCCESS' || !isHeld(task.state)) return [];
  if (isTranscript(task.state)) {
    return [{ key: 'transcript', type: 'file', mimeType: task.state.transcript ? 'application/json' : 'text/plain' }];
  }
  return [{ key: 'audio', type: 'audio', mimeType: readType(task.state) }];
}

export function buildContentRequest(ctx) {
  const [held, item] = [textAt(ctx.state, 'base64'), textAt(ctx.state, 'history_item_id')];
  if (ctx.artifactKey === 'transcript' && isTranscript(ctx.state)) {
    const { transcript, subtitles } = ctx.state;
    if (!transcript) return { url: `data:text/plain;base64,${utils.base64(subtitles)}` };
    return { url: `data:application/json;base64,${utils.base64(JSON.stringify(transcript))}` };
  }
  if (ctx.artifactKey !== 'audio' || (held === '' && item === '')) throw new Error('artifact_not_found');
  if (held !== '') return { url: `data:${readType(ctx.state)};base64,${held}` };
  const { method, headers } = ctx.clientRequest;
  const url = `${root(ctx)}/v1/history/${encodeURIComponent(item)}/audio`;
  return { url, method, headers: { ...headers, ...keyHeader(ctx) } };
}

/** The texts of a Responses request in order, one a line; further fields stand beside `input`. */
function decodeResponses(body) {
  const { input, ...request } = body.kind === 'json' && isObject(body.value) ? body.value : {};
  if (typeof input === 'string') return { ...request, text: input };
  const parts = (Array.isArray(input) ? input : []).flatMap((item) =>
    isObject(item) && Array.isArray(item.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text').map((part) => textAt(part, 'text'));
  return texts.length === 0 ? request : { ...request, text: texts.join('\n').trim() };
}

const audioTag = (ctx) => `<audio controls src="${ctx.artifacts.audio.url}"></audio>`;

export const protocols = {
  proto_responses: {
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

/** What the vendor takes where `model_id` is left out, by the end of the path. */
const DEFAULTS = { music: MUSIC[0], 'sound-generation': SOUND };

export const native = {
  /** Fields that are newer than this plugin go on as they are. */
  decodeSubmit({ path, params, query, body }) {
    if (body.kind !== 'json' || !isObject(body.value)) throw new Error('Please send a JSON object.');
    const [output_format] = query.output_format ?? [];
    const fields = { ...body.value, metadata: body.value, ...(output_format ? { output_format } : {}) };
    const model = firstGiven(body.value.model_id, DEFAULTS[path.split('/').pop()], 'eleven_multilingual_v2');
    if (typeof model !== 'string') throw new Error('model_id must be a string.');
    const voice = params.voice_id === undefined ? {} : { voice_id: params.voice_id };
    return { kind: 'submit', model, requestBody: normalize({ ...fields, ...voice }) };
  },
  presentItem(_ctx, task) {
    const state = { SUCCESS: 'created', FAILURE: 'failed' }[task.status] ?? 'processing';
    const seen = { history_item_id: task.task_id, model_id: task.model, date_unix: task.created_at, state };
    return task.status === 'FAILURE' ? { ...seen, detail: task.fail_reason } : seen;
  },
  error: (_ctx, error) => ({ detail: { status: error.code, message: error.message } }),
};
