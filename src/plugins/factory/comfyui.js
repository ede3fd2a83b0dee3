// ComfyUI on your own machine.
// https://docs.comfy.org/development/comfyui-server/comms_routes
// What a model makes is a workflow in API form, which stands in the channel's settings with the
// places where the fields of a request go. A job is found in the history once it has ended; how
// much is left to do is a number, since the queue itself lists what everybody has asked for.

const words = (text) => text.split(' ');
const MODELS = { 'comfyui-image': 'image', 'comfyui-video': 'video', 'comfyui-audio': 'audio' };

const LANGUAGES = ['en', 'zh', 'ja', 'es', 'de', 'pt'];
/** A text in all of them, one after the other. */
const localized = ([line]) => Object.fromEntries(line.split(' | ').map((text, at) => [LANGUAGES[at], text]));

export const meta = {
  apiVersion: 1,
  key: 'comfyui',
  name: 'ComfyUI',
  version: '1.0.0',
  author: { name: 'Taskgate' },
  description: {
    en: 'Your own ComfyUI workflows: images, video and audio',
    zh: '通过自建 ComfyUI 的工作流生成图片、视频与音频',
    ja: '自前のComfyUIワークフロー：画像・動画・音声',
    es: 'Tus propios flujos de ComfyUI: imágenes, vídeo y audio',
    de: 'Ihre eigenen ComfyUI-Workflows: Bilder, Video und Audio',
    pt: 'Seus próprios fluxos do ComfyUI: imagens, vídeo e áudio',
  },
  icon: 'ComfyUI.Color',
  sortPriority: 36,
  website: 'https://docs.comfy.org',
  baseUrl: 'http://127.0.0.1:8188',
  fetchMode: 'per_task',
  models: Object.keys(MODELS),
  protocols: [
    { name: 'proto_video', models: ['comfyui-video'] },
    { name: 'proto_image', models: ['comfyui-image'] },
    { name: 'proto_responses', supports: ['stream', 'sync', 'background'] },
  ],
  usageSchema: {
    seconds: {
      type: 'number',
      unit: 'second',
      description: localized`Result length (seconds), from the request or workflow settings | 结果时长（秒），取自请求或工作流设置 | 結果の長さ（秒）。リクエストまたはワークフロー設定の値 | Duración del resultado (segundos), según la solicitud o los ajustes del flujo | Länge des Ergebnisses (Sekunden), aus der Anfrage oder den Workflow-Einstellungen | Duração do resultado (segundos), da solicitação ou das configurações do fluxo`,
    },
    images: {
      type: 'number',
      unit: 'count',
      description: localized`Number of images | 图片数量 | 画像の枚数 | Número de imágenes | Anzahl der Bilder | Número de imagens`,
    },
    megapixels: {
      type: 'number',
      unit: 'count',
      description: localized`Total megapixels from width and height; 1 per image without them | 按宽高计的总像素（百万）；未给出时每张按 1 计 | 幅と高さによる合計メガピクセル。指定がなければ1枚につき1 | Megapíxeles en total según ancho y alto; sin ellos, 1 por imagen | Megapixel insgesamt nach Breite und Höhe; ohne Angabe 1 pro Bild | Total de megapixels por largura e altura; sem elas, 1 por imagem`,
    },
    compute_seconds: {
      type: 'number',
      unit: 'second',
      description: localized`Workflow run time: one minute is reserved, the time ComfyUI reports is billed | 工作流运行时间：预扣一分钟，按 ComfyUI 报告的时间计费 | ワークフローの実行時間：1分を予約し、ComfyUIが報告した時間を請求 | Tiempo de ejecución del flujo: se reserva un minuto y se cobra el que indica ComfyUI | Laufzeit des Workflows: Eine Minute wird reserviert, die von ComfyUI gemeldete Zeit berechnet | Tempo de execução do fluxo: reserva-se um minuto e cobra-se o que o ComfyUI informa`,
    },
  },
  usageExamples: [
    { label: '1024x1024 image', facts: { seconds: 0, images: 1, megapixels: 1.048576, compute_seconds: 12 } },
    { label: '5 sec of video', facts: { seconds: 5, images: 0, megapixels: 0, compute_seconds: 140 } },
  ],
};

/** Shown to people who set it up; other hosts ignore this export. */
export const vendorInfo = {
  capacity: { queues: true },
  labels: {
    seconds: localized`Duration | 时长 | 長さ | Duración | Dauer | Duração`,
    images: localized`Images | 图片 | 画像 | Imágenes | Bilder | Imagens`,
    megapixels: localized`Megapixels | 百万像素 | メガピクセル | Megapíxeles | Megapixel | Megapixels`,
    compute_seconds: localized`Compute time | 计算时间 | 計算時間 | Tiempo de cómputo | Rechenzeit | Tempo de computação`,
  },
  keyFormat: 'TOKEN',
  keyHelp: {
    en: 'ComfyUI needs no key: enter none. Anything else is sent as a bearer token, for a proxy in front of it.',
    zh: 'ComfyUI 本身不需要密钥，填写 none 即可；其他内容将作为 Bearer 令牌发送给其前置代理。',
    ja: 'ComfyUIにキーは不要です。noneと入力してください。それ以外は、前段のプロキシ向けのBearerトークンとして送信されます。',
    es: 'ComfyUI no necesita clave: escribe none. Cualquier otro valor se envía como token bearer, para un proxy delante de él.',
    de: 'ComfyUI braucht keinen Schlüssel: Geben Sie none ein. Alles andere wird als Bearer-Token gesendet, für einen vorgeschalteten Proxy.',
    pt: 'O ComfyUI não precisa de chave: digite none. Qualquer outro valor é enviado como token bearer, para um proxy à frente dele.',
  },
  ranges: { seconds: null, images: null, megapixels: null, compute_seconds: null },
  examples: [
    {
      label: localized`Paper boat | 纸船 | 紙の舟 | Barco de papel | Papierboot | Barco de papel`,
      request: { prompt: 'A paper boat drifts across a still lake at dawn' },
    },
  ],
};

const MAX_FILE_BYTES = 50 * 1024 * 1024;
const RESERVED_COMPUTE = 60;
const MAX_IMAGES = 64;
/** A look at the queue's length after so many looks into the history. */
const LOOKS = 4;
/** What clients send that no workflow takes. */
const IGNORED = words(
  'model metadata values user quality style stream store background response_format webhook_url callback_url input',
);
const ALIASES = words('size images input_reference duration seconds');

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isGiven = (value) => value !== undefined && value !== null && value !== '';
const firstGiven = (...values) => values.find(isGiven);
const objectAt = (value, name) => (isObject(value) && isObject(value[name]) ? value[name] : {});
const textAt = (value, name) => (isObject(value) && typeof value[name] === 'string' ? value[name].trim() : '');
const root = (ctx) => ctx.baseUrl.replace(/\/+$/, '').replace(/\/api$/, '');
const keyHeader = ({ apiKey = '' }) => (['', 'none'].includes(apiKey) ? {} : { Authorization: `Bearer ${apiKey}` });

/** A form holds objects as JSON text. */
function parsed(value) {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** A text, a number, a flag, or `{ref}` of an uploaded file; clients wrap addresses of images. */
function readValue(name, given) {
  const value = isObject(given) ? firstGiven(given.image_url, given.url, given) : given;
  if (['string', 'number', 'boolean'].includes(typeof value)) return value;
  if (isObject(value) && typeof value.ref === 'string') return { ref: value.ref };
  throw new Error(`${name} must be a string, a number, true or false, or a file.`);
}

/**
 * Any incoming request as `values` by the names that a workflow can map: OpenAI's fields, those of
 * `metadata`, or this intent again.
 */
function normalize(sent) {
  const metadata = parsed(sent.metadata) ?? {};
  if (!isObject(metadata)) throw new Error('metadata must be a JSON object.');
  const fields = { ...metadata, ...sent };
  const values = {};
  for (const [name, given] of Object.entries(fields)) {
    if (isGiven(given) && !IGNORED.includes(name) && !ALIASES.includes(name)) values[name] = readValue(name, given);
  }
  Object.assign(values, objectAt(sent, 'values'));
  const images = [fields.images ?? [], fields.input_reference ?? []].flat().filter(isGiven);
  for (const [index, image] of images.entries()) {
    const place = index + (isGiven(fields.image) ? 2 : 1);
    values[place === 1 ? 'image' : `image_${place}`] = readValue('images', image);
  }
  const length = firstGiven(fields.seconds, fields.duration);
  if (length !== undefined) values.seconds = Number(length);
  if (values.seconds !== undefined && !(values.seconds > 0 && values.seconds <= 3600)) {
    throw new Error('The length is a number of seconds.');
  }
  if (isGiven(fields.size) && fields.size !== 'auto') {
    const match = /^([1-9]\d{1,4})[x*]([1-9]\d{1,4})$/i.exec(fields.size);
    if (!match) throw new Error('The size is not in the form WIDTHxHEIGHT.');
    Object.assign(values, { width: Number(match[1]), height: Number(match[2]) });
  }
  return { values };
}

/** The workflow behind a model's name. */
function readWorkflow(ctx) {
  const workflows = objectAt(ctx.userSetting, 'workflows');
  const entry = workflows[ctx.model] ?? workflows[ctx.upstreamModel || ctx.model];
  if (!isObject(entry) || !isObject(entry.workflow)) {
    throw new Error(`No workflow stands behind ${ctx.model}: add it to the channel's settings, as "workflows".`);
  }
  return {
    workflow: entry.workflow,
    inputs: objectAt(entry, 'inputs'),
    outputs: entry.outputs,
    seconds: entry.seconds,
  };
}

/** A file in the form that its node takes: the name of an upload, Base64, or an address. */
function toFile(name, value, { as = 'name' }) {
  const isAddress = typeof value === 'string' && /^https?:\/\//i.test(value);
  if (as === 'url' && isAddress) return value;
  if (as === 'base64' && isObject(value)) {
    return { __fileRef: value.ref, encoding: 'base64', maxBytes: MAX_FILE_BYTES };
  }
  const data = typeof value === 'string' ? /^data:[^,]{0,100};base64,/.exec(value) : null;
  if (as === 'base64' && data) return value.slice(data[0].length);
  if (as === 'name' && isObject(value)) return value;
  const takes = { name: 'a file of a form', base64: 'a file of a form or a data URL', url: 'an address' };
  throw new Error(`The workflow takes ${name} as ${takes[as] ?? 'nothing that is known'}.`);
}

/** A value of the kind that stands at its place as `former`, within the bounds of the settings. */
function convert(name, value, { former, times = 1, plus = 0, min, max }) {
  if (typeof former === 'boolean') {
    if (!['true', 'false'].includes(String(value))) throw new Error(`${name} must be true or false.`);
    return String(value) === 'true';
  }
  if (typeof former !== 'number') return String(value);
  const number = Number(value);
  if (!Number.isFinite(number) || number < (min ?? number) || number > (max ?? number)) {
    throw new Error(
      `${name} must be a number${min === undefined ? '' : ` from ${min}`}${max === undefined ? '' : ` to ${max}`}.`,
    );
  }
  return Math.round((number * times + plus) * 1e6) / 1e6;
}

/** The workflow with the request's values in it, and the one file that is uploaded before. */
function fill(ctx, { workflow, inputs }, values) {
  const graph = JSON.parse(JSON.stringify(workflow));
  let upload;
  for (const [name, value] of Object.entries(values)) {
    if (!isGiven(inputs[name])) throw new Error(`The workflow of ${ctx.model} takes no "${name}".`);
    for (const given of [inputs[name]].flat()) {
      const target = isObject(given) ? given : { at: given };
      const [node, input] = [String(target.at).split('.')[0], String(target.at).split('.').slice(1).join('.')];
      const place = objectAt(graph[node], 'inputs');
      if (!Object.hasOwn(place, input)) {
        throw new Error(
          `The workflow of ${ctx.model} has no input "${target.at}", which its settings name for ${name}.`,
        );
      }
      const isFile = target.as !== undefined || /^(image|mask)/.test(name);
      const placed = isFile ? toFile(name, value, target) : convert(name, value, { ...target, former: place[input] });
      if (isFile && isObject(placed) && placed.ref) {
        if (upload && upload.ref !== placed.ref)
          throw new Error('One file can be uploaded: map the others as "base64".');
        upload = { ref: placed.ref, places: [...(upload?.places ?? []), [node, input]] };
      } else place[input] = placed;
    }
  }
  return { graph, upload };
}

/** Reads the facts of the order; the bill is computed from them. */
function plan(ctx) {
  const entry = readWorkflow(ctx);
  const { values } = normalize(isObject(ctx.requestBody) ? ctx.requestBody : {});
  if ('prompt' in entry.inputs && !String(values.prompt ?? '').trim()) throw new Error('Please give a prompt.');
  const kind = MODELS[ctx.upstreamModel || ctx.model] ?? 'image';
  const n = Number(values.n ?? 1);
  if (!(Number.isInteger(n) && n >= 1 && n <= MAX_IMAGES))
    throw new Error(`n is a whole number from 1 to ${MAX_IMAGES}.`);
  // One is what a workflow makes anyhow.
  if (n === 1 && !('n' in entry.inputs)) delete values.n;
  // The same workflow with the same seed is answered from ComfyUI's cache, without a new file.
  if ('seed' in entry.inputs && values.seed === undefined) {
    values.seed = Number.parseInt(utils.sha256(ctx.publicTaskId).slice(0, 12), 16);
  }
  const seconds = values.seconds ?? (kind === 'image' ? 0 : (entry.seconds ?? 0));
  const area = values.width > 0 && values.height > 0 ? (values.width * values.height) / 1e6 : 1;
  const [images, megapixels] = kind === 'image' ? [n, Math.min(128, n * area)] : [0, 0];
  const facts = { seconds, images, megapixels, compute_seconds: RESERVED_COMPUTE };
  return { ...fill(ctx, entry, values), kind, facts, outputs: entry.outputs };
}

/** An id of one's own in the form of a UUID: newer servers take it, others answer with theirs. */
function readId(ctx) {
  const hex = utils.sha256(ctx.publicTaskId);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** With a file to upload that is sent first, and the first poll sends the workflow. */
export function buildSubmitRequest(ctx) {
  const { graph, upload, kind } = plan(ctx);
  const headers = keyHeader(ctx);
  if (upload === undefined) {
    return {
      url: `${root(ctx)}/prompt`,
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: { prompt: graph, prompt_id: readId(ctx) },
      action: kind,
    };
  }
  const { filename = '' } = ctx.files.find(({ ref }) => ref === upload.ref) ?? {};
  const [ending = ''] = /\.\w{1,5}$/.exec(filename) ?? [];
  return {
    url: `${root(ctx)}/upload/image`,
    method: 'POST',
    headers,
    bodyType: 'multipart',
    parts: [
      { name: 'image', fileRef: upload.ref, filename: `${ctx.publicTaskId}${ending}` },
      { name: 'type', value: 'input' },
      { name: 'overwrite', value: 'true' },
    ],
    action: kind,
  };
}

export const extractUsage = (ctx) => plan(ctx).facts;

/** The sentence of a refused workflow, with what its nodes lack. */
function readMessage(body) {
  const error = isObject(body) ? body.error : undefined;
  const nodes = Object.entries(objectAt(body, 'node_errors')).flatMap(([id, { class_type, errors } = {}]) =>
    (Array.isArray(errors) ? errors : []).map((fault) => {
      const details = textAt(fault, 'details');
      return `node ${id} (${class_type}): ${textAt(fault, 'message')}${details && ` (${details})`}`;
    }),
  );
  const said = typeof error === 'string' ? error : textAt(error, 'message');
  return [said, ...nodes].filter(Boolean).join('; ');
}

export function parseSubmitResponse(ctx, { body }) {
  const { graph, upload, outputs } = plan(ctx);
  const shared = Array.isArray(outputs) ? { outputs } : {};
  if (upload === undefined) {
    const taskId = textAt(body, 'prompt_id');
    if (taskId === '') throw new Error(readMessage(body) || 'ComfyUI answered without a job.');
    return { taskId, taskData: { prompt_id: taskId }, state: { ...shared, id: taskId, looks: 0 } };
  }
  const name = textAt(body, 'name');
  if (name === '') throw new Error(readMessage(body) || 'ComfyUI answered without the name of the upload.');
  const folder = textAt(body, 'subfolder');
  for (const [node, input] of upload.places) graph[node].inputs[input] = folder ? `${folder}/${name}` : name;
  return { taskId: readId(ctx), taskData: { upload: name }, state: { ...shared, graph } };
}

/** Its own refusals are about the workflow; those of a proxy before it are about the key. */
const REFUSALS = { 400: 'request', 401: 'credential', 403: 'credential', 413: 'request' };

export function parseSubmitError({ statusCode, body }) {
  const kind = REFUSALS[statusCode];
  return kind ? { kind, message: readMessage(body) } : null;
}

export function buildQueryRequest(ctx) {
  const { graph, id = ctx.taskId, looks = 0 } = isObject(ctx.state) ? ctx.state : {};
  const headers = keyHeader(ctx);
  if (graph) {
    const body = { prompt: graph, prompt_id: ctx.taskId };
    return {
      url: `${root(ctx)}/prompt`,
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body,
    };
  }
  const path = looks % LOOKS === 1 ? 'prompt' : `history/${encodeURIComponent(id)}`;
  return { url: `${root(ctx)}/${path}`, headers };
}

/** What is not known is said to be unknown. */
export function parseTaskResult(ctx, body, { status: code }) {
  const { graph, outputs, ...state } = isObject(ctx.state) ? ctx.state : { id: ctx.taskId, looks: 0 };
  const shared = outputs ? { outputs } : {};
  if (graph) {
    const id = textAt(body, 'prompt_id');
    if (id !== '') return { status: 'QUEUED', state: { ...shared, id, looks: 0 } };
    if (code === 400) return { status: 'FAILURE', reason: readMessage(body) || 'ComfyUI refused the workflow.' };
    return { status: 'UNKNOWN', reason: readMessage(body) };
  }
  if (!isObject(body)) return { status: 'UNKNOWN', reason: 'ComfyUI answered without a job.' };
  const next = { ...shared, ...state, looks: state.looks + 1 };
  if (state.looks % LOOKS === 1) {
    const left = objectAt(body, 'exec_info').queue_remaining;
    if (typeof left !== 'number') return { status: 'UNKNOWN', reason: 'ComfyUI does not tell how much is left to do.' };
    const running = state.running === true || left <= 1;
    return { status: running ? 'IN_PROGRESS' : 'QUEUED', state: { ...next, running, idle: left === 0 } };
  }
  const job = body[state.id];
  if (isObject(job)) return readJob(job, outputs);
  // Nothing is left to do and it has not ended: the server was started anew.
  if (state.idle)
    return { status: 'FAILURE', reason: 'ComfyUI can no longer find the job: it may have been restarted.' };
  return { status: state.running ? 'IN_PROGRESS' : 'QUEUED', state: next };
}

const readMessages = (job) => (Array.isArray(objectAt(job, 'status').messages) ? job.status.messages : []);
const messageAt = (job, name) =>
  readMessages(job).find((message) => Array.isArray(message) && message[0] === name)?.[1];

function readJob(job, outputs) {
  if (textAt(objectAt(job, 'status'), 'status_str') === 'error') {
    const fault = messageAt(job, 'execution_error');
    if (!fault) return { status: 'FAILURE', reason: 'The workflow was interrupted.' };
    const node = textAt(fault, 'node_type');
    return { status: 'FAILURE', reason: `${node && `${node}: `}${textAt(fault, 'exception_message') || 'failed'}` };
  }
  if (readFiles(job, outputs).length === 0)
    return { status: 'FAILURE', reason: 'The workflow ended without a result.' };
  return { status: 'SUCCESS' };
}

const TYPES = {
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', webp: 'image/webp', gif: 'image/gif' },
  ...{ mp4: 'video/mp4', webm: 'video/webm', mov: 'video/quicktime', mkv: 'video/x-matroska' },
  ...{ mp3: 'audio/mpeg', flac: 'audio/flac', opus: 'audio/ogg', ogg: 'audio/ogg', wav: 'audio/wav' },
};

/** What the named nodes have written, or all: kept files before previews, then texts. */
function readFiles(job, wanted) {
  const nodes = Object.entries(objectAt(job, 'outputs')).filter(([id]) => !wanted || wanted.map(String).includes(id));
  const lists = nodes.flatMap(([, output]) => (isObject(output) ? Object.values(output) : [])).filter(Array.isArray);
  const files = lists.flat().filter((file) => textAt(file, 'filename') !== '');
  const kept = files.filter(({ type }) => type === 'output');
  if (files.length > 0) return kept.length > 0 ? kept : files;
  const texts = nodes.flatMap(([, output]) => (Array.isArray(output?.text) ? output.text : []));
  return texts.filter((text) => typeof text === 'string').map((text) => ({ text }));
}

/** With keys such as `image`, `image-2`. */
function toArtifacts({ data, state }) {
  const job = isObject(data) ? (data[textAt(state, 'id')] ?? Object.values(data)[0]) : undefined;
  const counts = {};
  return readFiles(job, state?.outputs)
    .slice(0, 64)
    .map((file) => {
      const ending = /\.(\w{2,4})$/.exec(textAt(file, 'filename'))?.[1]?.toLowerCase();
      const mimeType = file.text === undefined ? TYPES[String(ending)] : 'text/plain';
      const type = mimeType && file.text === undefined ? mimeType.split('/')[0] : 'file';
      counts[type] = (counts[type] ?? 0) + 1;
      const key = counts[type] === 1 ? type : `${type}-${counts[type]}`;
      return { key, type, ...(mimeType ? { mimeType } : {}), file };
    });
}

/** What was made, and for how long the workflow ran. */
export function extractUsageOnComplete(ctx, result, body) {
  if (result.status !== 'SUCCESS') return null;
  const made = toArtifacts({ data: body, state: ctx.state });
  const job = isObject(body) ? body[textAt(ctx.state, 'id')] : undefined;
  const [from, to] = ['execution_start', 'execution_success'].map((name) => messageAt(job, name)?.timestamp);
  const usage = {};
  if (typeof from === 'number' && to >= from) usage.compute_seconds = Math.min(3600, (to - from) / 1000);
  const images = made.filter(({ type }) => type === 'image').length;
  if (ctx.action === 'image' && images > 0) usage.images = images;
  return usage;
}

export function listArtifacts(task) {
  return task.status === 'SUCCESS' ? toArtifacts(task).map(({ file: _file, ...artifact }) => artifact) : [];
}

export function buildContentRequest(ctx) {
  const found = toArtifacts(ctx).find(({ key }) => key === ctx.artifactKey);
  if (!found) throw new Error('artifact_not_found');
  const { text, filename, subfolder = '', type = 'output' } = found.file;
  if (text !== undefined) return { url: `data:text/plain;base64,${utils.base64(text)}` };
  const query = Object.entries({ filename, subfolder, type }).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  const { method, headers } = ctx.clientRequest;
  return { url: `${root(ctx)}/view?${query.join('&')}`, method, headers: { ...headers, ...keyHeader(ctx) } };
}

/** The fields of a body; files of a field that is repeated are a list. */
function readFields(body) {
  if (body.kind === 'json' && isObject(body.value)) return body.value;
  if (body.kind !== 'form' && body.kind !== 'multipart') throw new Error('Please send a JSON object or a form.');
  const fields = {};
  for (const name of Object.keys(body.fields)) fields[name.replace('[image_url]', '')] = body.fields[name][0];
  for (const { field, ref } of body.kind === 'multipart' ? body.files : []) {
    // OpenAI's clients send several images as image[].
    const name = field === 'image[]' ? 'images' : field.replace(/\[\]$/, '');
    fields[name] = name === 'images' ? [...(Array.isArray(fields.images) ? fields.images : []), { ref }] : { ref };
  }
  return fields;
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

const toTag = ({ type, url }) => {
  if (type === 'image') return `<img src="${url}" alt="">`;
  return type === 'file' ? `<a href="${url}">${url}</a>` : `<${type} controls src="${url}"></${type}>`;
};
const shown = (ctx) => Object.values(ctx.artifacts).map(toTag).join('\n');

export const protocols = {
  proto_video: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) }),
    render(_ctx, task) {
      const video = { id: task.task_id, object: 'video', model: task.model };
      if (task.status === 'FAILURE') video.error = { code: 'generation_failed', message: task.fail_reason };
      return video;
    },
  },
  proto_image: {
    decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model, requestBody: normalize(readFields(ctx.body)) }),
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
