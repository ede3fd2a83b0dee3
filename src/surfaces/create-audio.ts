import { isObject, type Json, type JsonObject, parseJson } from '../kernel/index.ts';
import { type Content, projectArtifacts, requirePlugin } from '../results/index.ts';
import type { TaskRecord } from '../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  forbidUnsafeRetry,
  readFields,
  readModel,
  type SubmissionState,
  submitOnce,
  submitTask,
  taskErrors,
} from '../tasks/index.ts';
import { answerBy, awaitEnd } from './await-end.ts';
import { surfaceErrors } from './errors.ts';
import { findArtifactPlugin, mayMakeAudio } from './find-artifact-plugin.ts';
import type { SurfaceDeps } from './types.ts';

type Creation = { caller: Caller; requestId: string; request: ClientRequest };
/** `replayed`: it answers an earlier request with the same Idempotency-Key. */
export type SpeechAnswer = { replayed: boolean; content: Content };
export type TranscriptionAnswer = { replayed: boolean; text: string; isJson: boolean };

const FAULTS = { failed: surfaceErrors.audio_failed, notReady: surfaceErrors.audio_not_ready };

/**
 * `POST /v1/audio/speech` for a plugin's model: submits, waits for the end and answers with the
 * first artifact that is audio. Plugins find the text under the names of all APIs.
 * @throws tasks.audio_*
 */
export const createSpeech = (deps: SurfaceDeps, creation: Creation): Promise<SpeechAnswer> =>
  forbidUnsafeRetry(async (state) => {
    const { request, requestId } = creation;
    const { stream_format: stream, ...fields } = readFields(request);
    const { input } = fields;
    if (typeof input !== 'string' || input.trim() === '') {
      throw surfaceErrors.audio_request_invalid({ message: 'input must be a string.', param: 'input' });
    }
    if (stream !== undefined && stream !== null && stream !== 'audio') {
      const message = 'stream_format must be "audio": this model has no events.';
      throw surfaceErrors.audio_request_invalid({ message, param: 'stream_format' });
    }
    const body = { ...fields, text: fields.text ?? input, prompt: fields.prompt ?? input };
    const { task, replayed } = await makeFile(deps, { ...creation, body }, state);
    const key = await findArtifact(deps, task, ({ type }) => type === 'audio');
    const client = { method: 'GET' as const, headers: {}, signal: leaving(request), requestId };
    return { replayed, content: await deps.results.content(task, { key }, client) };
  });

/** A larger answer is not a transcript. */
const MAX_TRANSCRIPT_BYTES = 4 * 1024 * 1024;

/**
 * `POST /v1/audio/transcriptions` for a plugin's model: its first artifact that is a text, or JSON
 * with one. The file reaches the plugin like those of its other forms.
 * @throws tasks.audio_*
 */
export const createTranscription = (deps: SurfaceDeps, creation: Creation): Promise<TranscriptionAnswer> =>
  forbidUnsafeRetry(async (state) => {
    const { request, requestId } = creation;
    if (request.body.kind !== 'multipart' || request.body.files.length === 0) {
      throw surfaceErrors.audio_request_invalid({
        message: 'The form must have the recording as file.',
        param: 'file',
      });
    }
    const { fields: texts, files } = request.body;
    const { stream = 'false', ...fields } = Object.fromEntries(
      Object.entries(texts).map(([name, values]) => [name, values[0] ?? '']),
    );
    if (stream !== 'false') {
      const message = 'stream must be "false": this model has no events.';
      throw surfaceErrors.audio_request_invalid({ message, param: 'stream' });
    }
    const body = { ...fields, ...Object.fromEntries(files.map(({ field, ref }) => [field, { ref }])) };
    const { task, replayed } = await makeFile(deps, { ...creation, body }, state);
    const key = await findArtifact(deps, task, ({ type, mimeType = '' }) => type === 'file' && isText(mimeType));
    const client = { method: 'GET' as const, headers: {}, signal: leaving(request), requestId };
    const { body: content } = await deps.results.content(task, { key }, client);
    const sent = await readText(content);
    const parsed = parseJson(sent);
    const said = isObject(parsed) && typeof parsed.text === 'string' ? parsed.text : sent;
    const isJson = ['json', 'verbose_json', undefined].includes(fields.response_format);
    const object = isObject(parsed) && typeof parsed.text === 'string' ? parsed : { text: said };
    return { replayed, isJson, text: isJson ? JSON.stringify(object) : said };
  });

const isText = (mimeType: string): boolean => /^(?:text\/|application\/(?:[\w.-]+\+)?json)/i.test(mimeType);

async function makeFile(
  deps: SurfaceDeps,
  { caller, body, ...client }: Creation & { body: JsonObject },
  state: SubmissionState,
) {
  const { request, requestId } = client;
  const model = readModel(request);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  const untilMs = answerBy(deps, request);
  const pin = deps.pin();
  const held = [() => pin.release()];
  try {
    const { generation } = pin;
    const plugin = findArtifactPlugin(deps.vendors, { generation, model, group: caller.group }, mayMakeAudio)?.plugin;
    if (!plugin) throw taskErrors.model_not_found({ param: 'model' });
    const observer = { pluginKey: plugin.key, userId: caller.user.id, keyId: caller.key?.id ?? null };
    // Requests that wait in the queue do not count.
    const onWaiting = deps.node.limiters.observations.acquire(observer);
    held.push(onWaiting);
    const intent = { model, action: '', requestBody: body as Json };
    const created = await submitOnce(deps, { caller, request, attachedUntilMs: untilMs }, (idempotency) =>
      submitTask(deps, {
        ...{ surface: 'generic', plugin, generation: generation.number },
        ...{ caller, requestId, request, intent, idempotency, attachedUntilMs: untilMs, onWaiting },
      }),
    );
    const { replayed } = created;
    state.vendorMayHaveJob = !replayed;
    return { replayed, task: await awaitEnd(deps, { created, untilMs, left: leaving(request), faults: FAULTS }) };
  } finally {
    for (const release of held) release();
  }
}

const leaving = ({ signal }: ClientRequest): AbortSignal => signal ?? new AbortController().signal;

type Artifacts = Awaited<ReturnType<typeof projectArtifacts>>;

/** @throws tasks.audio_missing */
async function findArtifact(deps: SurfaceDeps, task: TaskRecord, fits: (artifact: Artifacts[number]) => boolean) {
  const pin = deps.pin();
  try {
    const found = (await projectArtifacts(await requirePlugin(pin.generation, task), task)).find(fits);
    if (found) return found.key;
    throw surfaceErrors.audio_missing({ message: `The task ${task.taskId} has succeeded but has no such result.` });
  } finally {
    pin.release();
  }
}

async function readText(body: Content['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const source = body instanceof Blob ? body.stream() : (body ?? []);
  for await (const chunk of source instanceof Uint8Array ? [source] : source) {
    bytes += chunk.byteLength;
    if (bytes > MAX_TRANSCRIPT_BYTES) throw surfaceErrors.audio_missing({ message: 'The transcript is too large.' });
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks).toString('utf8');
}
