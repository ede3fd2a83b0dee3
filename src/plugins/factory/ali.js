// Alibaba Wan through DashScope (Alibaba Cloud Model Studio). Written from
// https://help.aliyun.com/zh/model-studio/text-to-video-api-reference and its sister pages.

const TIERS = ['480P', '720P', '1080P'];
const UP_TO_15 = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const UP_TO_10 = UP_TO_15.slice(0, 9);

/**
 * What each model makes. `tiers`: the first is what a request without a resolution gets. `seconds`:
 * one value: a fixed length. `audio`: 'always', 'never' or 'choice': yes unless a request says no.
 */
const MODELS = {
  'wan2.7-t2v': { tiers: ['1080P', '720P'], seconds: UP_TO_15, audio: 'always' },
  'wan2.7-i2v': { tiers: ['1080P', '720P'], seconds: UP_TO_15, audio: 'always' },
  'wan2.7-r2v': { tiers: ['1080P', '720P'], seconds: UP_TO_15, audio: 'always' },
  'wan2.7-videoedit': { tiers: ['1080P', '720P'], seconds: UP_TO_10, audio: 'always' },
  'wan2.6-t2v': { tiers: ['1080P', '720P'], seconds: UP_TO_15, audio: 'always' },
  'wan2.6-i2v': { tiers: ['1080P', '720P'], seconds: UP_TO_15, audio: 'always' },
  'wan2.6-i2v-flash': { tiers: ['1080P', '720P'], seconds: UP_TO_15, audio: 'choice' },
  'wan2.5-t2v-preview': { tiers: ['1080P', '720P', '480P'], seconds: [5, 10], audio: 'always' },
  'wan2.5-i2v-preview': { tiers: ['1080P', '720P', '480P'], seconds: [5, 10], audio: 'always' },
  'wan2.2-t2v-plus': { tiers: ['1080P', '480P'], seconds: [5], audio: 'never' },
  'wan2.2-i2v-plus': { tiers: ['1080P', '480P'], seconds: [5], audio: 'never' },
  'wan2.2-i2v-flash': { tiers: ['720P', '480P', '1080P'], seconds: [5], audio: 'never' },
  'wan2.2-kf2v-flash': { tiers: ['720P', '480P', '1080P'], seconds: [5], audio: 'never' },
  'wanx2.1-t2v-turbo': { tiers: ['720P', '480P'], seconds: [5], audio: 'never' },
  'wanx2.1-t2v-plus': { tiers: ['720P'], seconds: [5], audio: 'never' },
  'wanx2.1-i2v-turbo': { tiers: ['720P', '480P'], seconds: [3, 4, 5], audio: 'never' },
  'wanx2.1-i2v-plus': { tiers: ['720P'], seconds: [5], audio: 'never' },
  'wanx2.1-kf2v-plus': { tiers: ['720P'], seconds: [5], audio: 'never' },
};

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));
const LENGTH = localized`Billed seconds | 计费秒数 | 課金対象の秒数 | Segundos facturados | Berechnete Sekunden | Segundos cobrados`;
const SOUND = localized`Video with sound | 有声视频 | 音声付き動画 | Vídeo con sonido | Video mit Ton | Vídeo com som`;
const RESOLUTION = localized`Video resolution | 视频分辨率 | 動画の解像度 | Resolución del vídeo | Videoauflösung | Resolução do vídeo`;

export const meta = {
  apiVersion: 1,
  key: 'ali',
  name: 'Alibaba Wan',
  version: '1.3.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Alibaba Wan: text, frames or references to video, and video editing',
    zh: '阿里云百炼通义万相：文生视频、首尾帧生视频、参考生视频与视频编辑',
    ja: 'Alibaba Wan：テキスト、フレーム、参照素材から動画、動画の編集',
    es: 'Alibaba Wan: texto, fotogramas o referencias a vídeo, y edición de vídeos',
    de: 'Alibaba Wan: Text, Bilder oder Referenzen zu Video, und Videobearbeitung',
    pt: 'Alibaba Wan: texto, quadros ou referências para vídeo, e edição de vídeos',
  },
  icon: 'AlibabaCloud.Color',
  sortPriority: 60,
  website: 'https://help.aliyun.com/zh/model-studio/text-to-video-api-reference',
  baseUrl: 'https://dashscope.aliyuncs.com',
  fetchMode: 'per_task',
  channelTypes: [17],
  models: Object.keys(MODELS),
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync', 'background'] }],
  // A DashScope client reaches them with `<gateway>/dashscope/api/v1`, or with `/ali/api/v1` as in
  // new-api, as its base address.
  routes: ['/dashscope/api/v1', '/ali/api/v1'].flatMap((base) => [
    ...['video-generation', 'image2video'].map((service) => ({
      method: 'POST',
      path: `${base}/services/aigc/${service}/video-synthesis`,
      type: 'submit',
      decode: 'decodeSubmit',
      render: 'presentTask',
    })),
    { method: 'GET', path: `${base}/tasks/:task_id`, type: 'query', render: 'presentTask' },
  ]),
  usageSchema: {
    seconds: { type: 'number', unit: 'second', description: LENGTH },
    resolution: { enum: TIERS, description: RESOLUTION },
    audio: { type: 'boolean', description: SOUND },
  },
  usageExamples: [
    { label: '5 sec at 720P with sound', facts: { seconds: 5, resolution: '720P', audio: true } },
    { label: '15 sec at 1080P with sound', facts: { seconds: 15, resolution: '1080P', audio: true } },
    { label: '5 sec at 480P without sound', facts: { seconds: 5, resolution: '480P', audio: false } },
  ],
};

const byModel = (toRange) => ({
  models: Object.fromEntries(Object.entries(MODELS).map(([model, spec]) => [model, toRange(spec)])),
});

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  capacity: { queues: true },
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    resolution: localized`Resolution | 分辨率 | 解像度 | Resolución | Auflösung | Resolução`,
    audio: localized`Sound | 声音 | 音声 | Sonido | Ton | Som`,
    image: localized`First frame | 首帧 | 開始フレーム | Fotograma inicial | Startbild | Quadro inicial`,
    last_image: localized`Last frame | 尾帧 | 終了フレーム | Fotograma final | Endbild | Quadro final`,
    reference_image: localized`Reference | 参考图 | 参照画像 | Referencia | Referenz | Referência`,
    video: localized`Video | 视频 | 動画 | Vídeo | Video | Vídeo`,
  },
  keyUrl: 'https://modelstudio.console.alibabacloud.com/?tab=model#/api-key',
  keyFormat: 'sk-…',
  keyHelp: localized`Each key belongs to one region; the channel’s URL must be in the same one. | 每个密钥只属于一个地域，渠道地址须为同一地域。 | キーは1つのリージョン専用です。チャンネルのURLも同じリージョンにしてください。 | Cada clave pertenece a una región; la URL del canal debe ser de la misma. | Jeder Schlüssel gehört zu einer Region; die URL des Kanals muss zur selben gehören. | Cada chave pertence a uma região; a URL do canal deve ser da mesma.`,
  inputs: {
    image: { type: 'image', required: true, models: meta.models.filter((model) => /i2v|kf2v/.test(model)) },
    last_image: { type: 'image', required: true, models: meta.models.filter((model) => model.includes('kf2v')) },
    reference_image: { type: 'image', required: true, models: ['wan2.7-r2v'] },
    video: { type: 'text', required: true, example: 'https://example.com/a.mp4', models: ['wan2.7-videoedit'] },
  },
  ranges: {
    seconds: byModel(({ seconds }) => ({ values: seconds })),
    resolution: byModel(({ tiers }) => ({ values: tiers })),
    audio: byModel(({ audio }) => (audio === 'choice' ? {} : null)),
  },
};

/** What a list of the 2.7 models may hold, and how often; `needs`: without which it is refused. */
const MEDIA = {
  i2v: { needs: /^first_/, may: { first_frame: 1, last_frame: 1, first_clip: 1, driving_audio: 1 } },
  r2v: { needs: /^reference_/, may: { reference_image: 5, reference_video: 5, first_frame: 1 } },
  videoedit: { needs: /^video$/, may: { video: 1, reference_image: 4 } },
};
const NEEDED = { i2v: 'an image', r2v: 'a reference_image or reference_video', videoedit: 'a video' };
/** Seconds reserved for each given video, which the vendor bills too and which may not be longer. */
const GIVEN_SECONDS = 10;
/** Vendors may read a name in any case, and with other marks between its words. */
const stripSeparators = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, '');
const toNameSet = (names) => new Set(names.split(/\s+/).map(stripSeparators));
/** What this plugin reads. What else `metadata`, `input` and `parameters` have goes on as it is. */
const READ = toNameSet(`prompt negative_prompt image img_url first_frame_url first_frame input_reference
  last_image last_frame_url last_frame reference_image video audio_url template media size resolution ratio
  aspect_ratio duration seconds seed prompt_extend watermark audio shot_type input parameters metadata extra`);
/** Not for clients to choose: model, credential, address for reports, number of results. */
const CLOSED =
  /^(models?(_?(name|id|version))?|(req_?)?key|n|count|(num|sample|number|batch)_?\w*|base_?url|endpoint|headers)$|call_?back|webhook|notif|secret|token|(api|access)_?key|authorization|credential/i;
const isOwn = (name) => READ.has(stripSeparators(name)) || CLOSED.test(stripSeparators(name));

/** A newer model that a channel maps to: the vendor judges its limits. */
const UNLISTED = { tiers: ['720P', '1080P', '480P'], seconds: [], audio: 'choice' };
const DEFAULT_SECONDS = 5;
/** Sizes of text to video, in the order of RATIOS. */
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const SIZES = {
  '480P': ['832*480', '480*832', '624*624'],
  '720P': ['1280*720', '720*1280', '960*960', '1088*832', '832*1088'],
  '1080P': ['1920*1080', '1080*1920', '1440*1440', '1632*1248', '1248*1632'],
};
/** More pixels than this are the next tier; halfway between the vendor's sizes. */
const MOST_PIXELS = { '480P': 600_000, '720P': 1_400_000 };
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const ENDED = { SUCCEEDED: 'SUCCESS', FAILED: 'FAILURE', CANCELED: 'FAILURE' };
const STATUSES = { PENDING: 'QUEUED', RUNNING: 'IN_PROGRESS', ...ENDED };

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');

/** The address of the API; people also enter it with the path that DashScope's own clients want. */
const apiUrl = (ctx) => `${ctx.baseUrl.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1`;
const bearer = (ctx) => ({ Authorization: `Bearer ${ctx.apiKey}` });

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

const readWhole = (fields, name, [least, most]) =>
  readField([name, fields[name]], `a whole number from ${least} to ${most}`, (value) => {
    const number = Number(value);
    return Number.isInteger(number) && number >= least && number <= most ? number : undefined;
  });

/** Reads a URL or a data URL, plain or as OpenAI's `{image_url}`, or the `{ref}` of a file. */
function readImage(fields, names) {
  const name = names.find((candidate) => isGiven(fields[candidate]));
  if (name === undefined) return undefined;
  const value = isObject(fields[name]) && isGiven(fields[name].image_url) ? fields[name].image_url : fields[name];
  if (typeof value === 'string' && /^(https?:\/\/|data:image\/)/i.test(value.trim().slice(0, 16))) return value.trim();
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be an http(s) URL, a data URL of an image, or an uploaded file.`);
}

/** "1280x720", "1280*720" or "720P". */
function readSize(fields) {
  const text = readText(fields, 'size');
  if (text === undefined) return {};
  if (/^\d+p$/i.test(text)) return { resolution: text.toUpperCase() };
  if (!/^\d+[x*]\d+$/i.test(text)) throw new Error(`The size "${text}" is not in the form WIDTH*HEIGHT.`);
  return { size: text.toLowerCase().replace('x', '*') };
}

/** A member with members of its own; in a form it is JSON text. */
function readMembers(value, name) {
  if (!isGiven(value)) return {};
  try {
    const read = typeof value === 'string' ? JSON.parse(value) : value;
    if (isObject(read)) return read;
  } catch {}
  throw new Error(`${name} is a JSON object.`);
}

/** The members that this plugin does not read, without those that no client chooses. */
const unread = (members) =>
  Object.fromEntries(Object.entries(members).filter(([name, value]) => !isOwn(name) && isGiven(value)));

const ADDRESS = /^(https?|oss|data):/i;
const VIDEO = /^(https?|oss):/i;

/** `input.media` of the 2.7 models; `reference_voice` is the voice of who is shown. */
const readMedia = (fields) =>
  readField(['media', fields.media], 'a list of {type, url} with http(s), oss or data URLs', (list) => {
    const items = (Array.isArray(list) ? list : []).map((item) => {
      const voice = textAt(item, 'reference_voice');
      return { type: textAt(item, 'type'), url: textAt(item, 'url'), ...(voice && { reference_voice: voice }) };
    });
    const sound = items.every(({ url, reference_voice = url }) => ADDRESS.test(url) && ADDRESS.test(reference_voice));
    return sound && items.length > 0 && items.length <= 6 ? items : undefined;
  });

/** Makes one flat intent of OpenAI's fields, of `input` and `parameters`, or of an intent. */
function normalize({ metadata, extra, ...given }) {
  const named = readMembers(metadata, 'metadata');
  const former = readMembers(extra, 'extra');
  const input = { ...objectAt(former, 'input'), ...objectAt(named, 'input'), ...objectAt(given, 'input') };
  const parameters = { ...objectAt(named, 'parameters'), ...objectAt(given, 'parameters') };
  const fields = { ...named, ...given, ...input, ...parameters };
  if ([given.images].flat().some(isGiven)) throw new Error('images are not taken: give one as image, or media.');
  const duration = isGiven(fields.duration) ? 'duration' : 'seconds';
  const intent = {
    image: readImage(fields, ['image', 'img_url', 'first_frame_url', 'first_frame', 'input_reference']),
    last_image: readImage(fields, ['last_image', 'last_frame_url', 'last_frame']),
    reference_image: readImage(fields, ['reference_image']),
    video: readField(['video', fields.video], 'an http(s) or oss URL', (it) => (VIDEO.test(it) ? `${it}` : undefined)),
    ...readSize(fields),
    ratio: readText(fields, 'ratio') ?? readText(fields, 'aspect_ratio'),
    duration: readWhole(fields, duration, [1, 60]),
    seed: readWhole(fields, 'seed', [0, 2_147_483_647]),
    media: readMedia(fields),
  };
  for (const name of ['prompt', 'negative_prompt', 'audio_url', 'template', 'shot_type'])
    intent[name] = readText(fields, name);
  for (const name of ['prompt_extend', 'watermark', 'audio']) intent[name] = readFlag(fields, name);
  const others = { ...objectAt(former, 'parameters'), ...named, ...parameters };
  const more = { input: unread(input), parameters: unread(others) };
  for (const name of Object.keys(more))
    if (Object.keys(more[name]).length > 0) intent.extra = { ...intent.extra, [name]: more[name] };
  const resolution = readText(fields, 'resolution');
  if (resolution !== undefined) intent.resolution = resolution.toUpperCase();
  for (const name of Object.keys(intent)) if (intent[name] === undefined) delete intent[name];
  return intent;
}

/** The fields of a JSON, form or multipart body; a file stands under the name of its field. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  // OpenAI's clients write an image's address as `image[image_url]`.
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) fields[field] = { ref };
  return fields;
}

function tierOfSize(size) {
  const [width, height] = size.split('*').map(Number);
  return TIERS.find((tier) => width * height <= (MOST_PIXELS[tier] ?? Number.POSITIVE_INFINITY));
}

function chooseSize(tier, { size, ratio }) {
  if (SIZES[tier].includes(size)) return size;
  if (size !== undefined)
    throw new Error(`The size ${size} is not offered; for ${tier} choose ${SIZES[tier].join(', ')}.`);
  const offered = RATIOS.slice(0, SIZES[tier].length);
  const index = ratio === undefined ? 0 : offered.indexOf(ratio);
  if (index < 0) throw new Error(`The ratio of a ${tier} video is one of ${offered.join(', ')}.`);
  return SIZES[tier][index];
}

function chooseAudio(model, { audio: offered }, wanted) {
  if (offered === 'choice') return wanted ?? true;
  if (wanted !== undefined && wanted !== (offered === 'always'))
    throw new Error(`The model ${model} ${wanted ? 'makes no sound' : 'always makes sound'}; leave audio out.`);
  return offered === 'always';
}

/** These take a list of media, and a ratio in place of a size. */
const isOf27 = (model) => model.startsWith('wan2.7-');

/** The list of the request, else what it names one by one; undefined for other models. */
function toMedia(model, kind, { media, image, last_image, reference_image, video, audio_url }) {
  if (!isOf27(model) || kind === 't2v') return undefined;
  const frames = { first_frame: [image], last_frame: [last_image], driving_audio: [audio_url] };
  const looks = { reference_image: [reference_image, image, last_image] };
  const named = Object.entries({ i2v: frames, r2v: looks, videoedit: { video: [video], ...looks } }[kind]);
  const given = named.flatMap(([type, urls]) => urls.map((url) => ({ type, url: toImage(url) })));
  const list = media ?? given.filter(({ url }) => url !== undefined);
  const { needs, may } = MEDIA[kind];
  const count = (fits) => list.filter(({ type }) => fits(type)).length;
  const references = count((type) => needs.test(type));
  if (references === 0) throw new Error(`The model ${model} needs ${NEEDED[kind]}.`);
  const fits = list.every(({ type }) => count((other) => other === type) <= (may[type] ?? 0));
  if (fits && references <= 5) return list;
  const most = Object.entries(may).map(([type, times]) => `${times} ${type}`);
  throw new Error(`The media of ${model} are at most ${most.join(', ')}, and 5 references in total.`);
}

/** The ratio of a size that one may say as well. */
function chooseRatio(tier, { ratio, size }) {
  if (ratio !== undefined && !RATIOS.includes(ratio)) throw new Error(`The ratio is one of ${RATIOS.join(', ')}.`);
  return ratio ?? (size === undefined ? RATIOS[0] : RATIOS[SIZES[tier].indexOf(chooseSize(tier, { size }))]);
}

/** The facts of the order, of which the bill is made: nothing is left to the vendor's defaults. */
function plan(ctx) {
  const model = ctx.upstreamModel || ctx.model;
  const request = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  const spec = MODELS[model.replace(/-\d{4}-\d\d-\d\d$/, '')] ?? UNLISTED;
  const kinds = ['kf2v', 'i2v', ...(isOf27(model) ? ['r2v', 'videoedit'] : [])];
  const kind = kinds.find((name) => model.includes(name)) ?? 't2v';
  if (/t2v|r2v/.test(kind) && (request.prompt ?? '').trim() === '') throw new Error('Please give a prompt.');
  if (kind === 't2v' && request.image !== undefined)
    throw new Error(`The model ${model} makes videos from text alone; choose an i2v model for an image.`);
  const media = toMedia(model, kind, request);
  if (!media && kind !== 't2v' && request.image === undefined) throw new Error(`The model ${model} needs an image.`);
  if (kind === 'kf2v' && request.last_image === undefined)
    throw new Error(`The model ${model} needs a last_image beside the image.`);
  const tier = request.resolution ?? (request.size === undefined ? spec.tiers[0] : tierOfSize(request.size));
  if (!spec.tiers.includes(tier)) throw new Error(`The resolution of ${model} is one of ${spec.tiers.join(', ')}.`);
  const videos = media?.filter(({ type }) => /^(reference_)?video$/.test(type)).length ?? 0;
  const lengths = videos > 0 ? UP_TO_10 : spec.seconds;
  const usual = kind === 'videoedit' ? GIVEN_SECONDS : DEFAULT_SECONDS;
  const seconds = request.duration ?? (lengths.length === 1 ? lengths[0] : usual);
  if (lengths.length > 0 && !lengths.includes(seconds)) {
    const offered = lengths.length > 4 ? `from 2 to ${lengths.at(-1)}` : lengths.join(' or ');
    throw new Error(`The length of a video of ${model} is ${offered} seconds.`);
  }
  const audio = chooseAudio(model, spec, request.audio);
  const shape = {};
  if (kind === 't2v' && !isOf27(model)) shape.size = chooseSize(tier, request);
  else if (/t2v|r2v/.test(kind) || (kind === 'videoedit' && request.ratio)) shape.ratio = chooseRatio(tier, request);
  return { model, kind, spec, request, tier, seconds, audio, media, videos, ...shape };
}

function decodeSubmit(ctx) {
  const fields = readFields(ctx.body);
  if (typeof fields.model !== 'string' || fields.model === '') throw new Error('Please name the model.');
  return { kind: 'submit', model: fields.model, requestBody: normalize({ metadata: fields }) };
}

const toImage = (image) =>
  isObject(image) ? { __fileRef: image.ref, encoding: 'dataUrl', maxBytes: MAX_IMAGE_BYTES } : image;

const ACTIONS = { t2v: 'text_to_video', r2v: 'reference_to_video', videoedit: 'video_edit' };
function toAction(kind, { media = [], last_image }) {
  if (kind in ACTIONS || media.some(({ type }) => type === 'first_clip')) return ACTIONS[kind] ?? ACTIONS.r2v;
  const tail = last_image !== undefined || media.some(({ type }) => type === 'last_frame');
  return tail ? 'first_tail_to_video' : 'image_to_video';
}

export function buildSubmitRequest(ctx) {
  const { model, kind, spec, request, tier, seconds, size, ratio, media } = plan(ctx);
  const { prompt, negative_prompt, audio_url, template, prompt_extend, watermark, seed, shot_type } = request;
  const images = media
    ? { [kind]: { media, audio_url: kind === 'i2v' ? undefined : audio_url } }
    : {
        t2v: { audio_url },
        i2v: { img_url: toImage(request.image), audio_url },
        kf2v: { first_frame_url: toImage(request.image), last_frame_url: toImage(request.last_image), audio_url },
      };
  const { extra = {} } = request;
  const parameters = { ...extra.parameters, prompt_extend, watermark, seed, shot_type };
  if (ratio !== undefined) parameters.ratio = ratio;
  if (size === undefined) parameters.resolution = tier;
  else parameters.size = size;
  // An edited video keeps its length where none is wanted.
  const keepsLength = kind === 'videoedit' && request.duration === undefined;
  if (spec.seconds.length !== 1 && !keepsLength) parameters.duration = seconds;
  if (spec.audio === 'choice') parameters.audio = request.audio;
  const service = kind === 'kf2v' ? 'image2video' : 'video-generation';
  return {
    url: `${apiUrl(ctx)}/services/aigc/${service}/video-synthesis`,
    method: 'POST',
    headers: { ...bearer(ctx), 'Content-Type': 'application/json', 'X-DashScope-Async': 'enable' },
    // Members that are undefined are not sent.
    body: { model, input: { ...extra.input, prompt, negative_prompt, ...images[kind], template }, parameters },
    action: toAction(kind, request),
  };
}

function readMessage(said) {
  const [message, code] = [textAt(said, 'message'), textAt(said, 'code')];
  return message && code ? `${message} (${code})` : message || code;
}

export function parseSubmitResponse(_ctx, { body }) {
  const taskId = textAt(objectAt(body, 'output'), 'task_id');
  if (taskId === '') throw new Error(readMessage(body) || 'Alibaba Cloud answered without a task.');
  const immediate = readTask(body);
  return /SUCCESS|FAILURE/.test(immediate.status) ? { taskId, taskData: body, immediate } : { taskId, taskData: body };
}

/** What the vendor's codes mean; every kind of throttling is about the rate. */
const REFUSALS = {
  ...{ Arrearage: 'balance', 'AllocationQuota.FreeTierOnly': 'balance' },
  ...{ InvalidApiKey: 'credential', AccessDenied: 'credential', DataInspectionFailed: 'content' },
};

export function parseSubmitError({ body }) {
  const code = textAt(body, 'code');
  const kind = /^Throttling\b/.test(code) ? 'rate' : Object.hasOwn(REFUSALS, code) && REFUSALS[code];
  return kind ? { kind, message: readMessage(body) } : null;
}

export const buildQueryRequest = (ctx) => ({
  url: `${apiUrl(ctx)}/tasks/${encodeURIComponent(ctx.taskId)}`,
  headers: bearer(ctx),
});

export const parseTaskResult = (_ctx, body) => readTask(body);

// The vendor's own UNKNOWN (no such task, or one older than a day) is unknown here too, and so is a
// success without a video: guessing would bill a video that nobody has.
function readTask(body) {
  const output = objectAt(body, 'output');
  const named = textAt(output, 'task_status');
  if (!Object.hasOwn(STATUSES, named)) return { status: 'UNKNOWN', reason: readMessage(output) || readMessage(body) };
  const status = STATUSES[named];
  if (status === 'FAILURE') {
    const fallback = named === 'CANCELED' ? 'The task was canceled.' : 'The video could not be generated.';
    return { status, reason: readMessage(output) || fallback };
  }
  if (status !== 'SUCCESS') return { status };
  const url = textAt(output, 'video_url');
  return url === '' ? { status: 'UNKNOWN', reason: 'Alibaba Cloud names no video.' } : { status, url };
}

/** Length and resolution of the result; the names differ between generations of models. */
function readUsage(body) {
  const usage = objectAt(body, 'usage');
  const facts = {};
  const seconds = Number(usage.output_video_duration || usage.duration || usage.video_duration);
  if (seconds > 0) facts.seconds = seconds;
  const tier = `${Number.parseInt(usage.SR, 10)}P`;
  if (TIERS.includes(tier)) facts.resolution = tier;
  return facts;
}

export function extractUsage(ctx) {
  const { seconds, tier, audio, videos } = plan(ctx);
  return { seconds: seconds + videos * GIVEN_SECONDS, resolution: tier, audio };
}

export function extractUsageOnComplete(ctx, { status }, body) {
  if (status !== 'SUCCESS') return null;
  const facts = readUsage(body);
  const given = Number(objectAt(body, 'usage').input_video_duration);
  const billsGiven = /^wan2\.7-(r2v|videoedit)/.test(ctx.upstreamModel || ctx.model);
  return billsGiven && given > 0 && facts.seconds > 0 ? { ...facts, seconds: facts.seconds + given } : facts;
}

export function listArtifacts(task) {
  const done = task.status === 'SUCCESS' && textAt(objectAt(task.data, 'output'), 'video_url') !== '';
  return done ? [{ key: 'video', type: 'video', mimeType: 'video/mp4' }] : [];
}

/** The address is signed for 24 hours and public until then. */
export function buildContentRequest(ctx) {
  const url = textAt(objectAt(ctx.data, 'output'), 'video_url');
  if (ctx.artifactKey !== 'video' || url === '') throw new Error('artifact_not_found');
  return { url, method: ctx.clientRequest.method, credentialless: true };
}

const toStatusName = (status) => Object.keys(STATUSES).find((name) => STATUSES[name] === status) ?? 'PENDING';

/** `metadata` of a Responses request also holds the client's labels: only known members count. */
const withLabels = ({ metadata, ...request }) => ({ ...(isObject(metadata) ? metadata : {}), ...request });

/** A Responses request as fields: its texts, one a line, are the prompt, its images the frames. */
function decodeResponses(body) {
  const { input, ...fields } = body.kind === 'json' && isObject(body.value) ? withLabels(body.value) : {};
  const items = typeof input === 'string' ? [{ content: input }] : Array.isArray(input) ? input : [];
  const parts = items.flatMap((item) =>
    Array.isArray(item?.content) ? item.content : [{ type: 'input_text', text: item?.content }],
  );
  const texts = parts.filter((part) => part?.type === 'input_text' && isGiven(part.text)).map(({ text }) => text);
  const images = parts.filter((part) => part?.type === 'input_image').map(({ image_url }) => image_url);
  if (texts.length > 0) fields.prompt = texts.join('\n');
  if (isGiven(images[0])) fields.image = images[0];
  if (isGiven(images[1])) fields.last_frame = images[1];
  return fields;
}

const videoTag = (ctx) => `<video controls src="${ctx.artifacts.video.url}"></video>`;

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) }),
    render(_ctx, task) {
      const { seconds, resolution } = readUsage(task.data);
      const prompt = textAt(objectAt(task.data, 'output'), 'orig_prompt');
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (seconds !== undefined) video.seconds = String(seconds);
      if (resolution !== undefined) video.metadata = { resolution };
      if (prompt !== '') video.prompt = prompt;
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_responses: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(decodeResponses(ctx.body)) }),
    renderEvents(ctx, task, previous) {
      const state = { status: task.status, progress: task.progress };
      const { status = '', progress = '' } = isObject(previous) ? previous : {};
      const one = (event, isNew) => ({ events: isNew ? [event] : [], done: event.type !== 'progress', state });
      if (task.status === 'FAILURE') return one({ type: 'error', message: task.fail_reason }, true);
      if (task.status === 'SUCCESS') return one({ type: 'output', data: videoTag(ctx) }, status !== 'SUCCESS');
      const value = { type: 'progress', progress: Number.parseInt(task.progress, 10) || 0, message: task.status };
      return one(value, status !== task.status || progress !== task.progress);
    },
    renderFinal(ctx) {
      const text = { type: 'output_text', text: videoTag(ctx), annotations: [], logprobs: [] };
      return { output: [{ type: 'message', role: 'assistant', content: [text] }] };
    },
  },
};

export const native = {
  decodeSubmit,
  presentTask(_ctx, task) {
    const data = isObject(task.data) ? task.data : {};
    const output = { ...objectAt(data, 'output'), task_id: task.task_id, task_status: toStatusName(task.status) };
    if (task.status === 'FAILURE' && !output.message) output.message = task.fail_reason;
    return { ...data, output };
  },
  error: (_ctx, { requestId, code, message }) => ({ request_id: requestId, code, message }),
};
