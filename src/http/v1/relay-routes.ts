import { Elysia } from 'elysia';
import { type ApiPrincipal, authErrors, type RequestOrigin } from '../../auth/index.ts';
import type { Logger } from '../../kernel/index.ts';
import { requestedModel, type SubmittedTask, taskObject } from '../../tasks/index.ts';
import { readRelayableRequest } from '../bodies/read-client-request.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { accessEnded, sendEvents } from '../responses/send-events.ts';
import { answerInTime } from './answer-in-time.ts';
import { forwardCreation, type RelayedKind } from './relay-requests.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';
import { contentResponse } from './send-content.ts';

type CreationScope = {
  request: Request;
  api: ApiPrincipal;
  origin: Pick<RequestOrigin, 'decidingIp'>;
  requestId: string;
  keepOpen: () => () => void;
  log: Logger;
  set: { headers: Record<string, unknown> };
};

/**
 * Operations of OpenAI's API on models of a relay channel. Plugins serve some of them too: those
 * with images, speech or texts for results.
 */
export function relayRoutes(kit: Kit, deps: V1Deps) {
  const { relay, surfaces, watchAccess } = deps;
  const { clock } = deps.prices;

  /** Answers with what the vendor of a relay channel makes of the request. */
  async function answerRelayed(
    kind: RelayedKind,
    { request, api, origin, requestId, keepOpen, set, log }: CreationScope,
  ) {
    const arrivedMs = clock.monotonicMs();
    const { client: read, assertForPlugin } = await readRelayableRequest(request, fileStorage(deps, api));
    const access = watchAccess(api, request.signal);
    const client = { ...read, signal: access.signal };
    const inTime = answerInTime(clock, request, { read: client, arrivedMs });
    let answer: Response | undefined;
    /** Reads the files of the request after the answer. */
    const later: Promise<unknown>[] = [];
    const goesOn = (work: Promise<unknown>) => void later.push(work);
    try {
      const model = requestedModel(client);
      deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
      const caller = toCaller(api);
      const operation = kind === 'image' ? 'generate' : kind === 'image_edit' ? 'edit' : undefined;
      const isPlugins =
        (operation && surfaces.makesImages(caller, model, operation)) ||
        ((kind === 'speech' || kind === 'transcription') && surfaces.makesAudio(caller, model));
      if (isPlugins) assertForPlugin();
      else relay.assertTakes(caller, kind, model);
      const onEnd = keepOpen();
      const isAsync = prefersAsync(request);
      if (isPlugins && kind === 'speech') {
        const made = surfaces.createSpeech(caller, requestId, inTime.client);
        const { content, replayed } = await inTime.answer(made, goesOn);
        return markReplayed(contentResponse(content, 'api'), replayed);
      }
      if (isPlugins && kind === 'transcription') {
        const made = surfaces.createTranscription(caller, requestId, inTime.client);
        const { text, isJson, replayed } = await inTime.answer(made, goesOn);
        const type = isJson ? 'application/json' : 'text/plain; charset=utf-8';
        return markReplayed(new Response(text, { headers: { 'content-type': type } }), replayed);
      }
      if (isPlugins && operation) {
        const making = surfaces.createImages(caller, { requestId, request: inTime.client, operation, isAsync });
        const made = await inTime.answer(making, goesOn);
        // Waiting for the images may have taken long.
        if (access.hasEnded()) throw authErrors.access_ended();
        if (made.replayed) set.headers[REPLAYED] = 'true';
        if (made.kind === 'images') return made.images;
        if (made.kind === 'task') return acceptedResponse(made.task, { isAsync, replayed: made.replayed });
        const onFailure = (error: unknown) => log.warn({ err: error }, 'image event stream failed');
        const lastEvent = () => ({ event: 'error', data: accessEnded() });
        const options = { heartbeatMs: deps.heartbeatMs, lastEvent, onFailure, onEnd };
        answer = sendEvents(access, made.events, options);
        return answer;
      }
      const follow = { isPreferred: isAsync, goesOn };
      answer = await forwardCreation(relay, { kind, request, api, requestId, client, access, onEnd, follow });
      return answer;
    } catch (error) {
      // The access ended while the client waited.
      throw access.hasEnded() ? authErrors.access_ended() : error;
    } finally {
      // A streamed answer stops the access watch itself.
      if (!answer) access.stop();
      if (later.length > 0) void Promise.allSettled(later).then(client.release);
      else await client.release();
    }
  }
  const options = (kind: keyof typeof RELAYED_OPERATIONS) =>
    ({ apiKey: true, modelRequest: true, bodyLimit: 'relay', detail: RELAYED_OPERATIONS[kind] }) as const;

  return new Elysia({ normalize: false })
    .use(kit)
    .post('/v1/chat/completions', (scope) => answerRelayed('chat', scope), options('chat'))
    .post('/v1/embeddings', (scope) => answerRelayed('embedding', scope), options('embedding'))
    .post('/v1/images/generations', (scope) => answerRelayed('image', scope), options('image'))
    .post('/v1/images/edits', (scope) => answerRelayed('image_edit', scope), options('image_edit'))
    .post('/v1/audio/speech', (scope) => answerRelayed('speech', scope), options('speech'))
    .post('/v1/audio/transcriptions', (scope) => answerRelayed('transcription', scope), options('transcription'));
}

function markReplayed(response: Response, replayed: boolean): Response {
  if (replayed) response.headers.set(REPLAYED, 'true');
  return response;
}

/** RFC 7240, 4.1. */
const prefersAsync = ({ headers }: Request): boolean =>
  /(?:^|[,;\s])respond-async(?:\s*[,;]|\s*$)/i.test(headers.get('prefer')?.slice(0, 200) ?? '');

type TaskFacts = Omit<SubmittedTask, 'replayed'>;

/** A task that its client follows on its own. */
const acceptedResponse = (task: TaskFacts, { isAsync, replayed }: { isAsync: boolean; replayed: boolean }): Response =>
  Response.json(taskObject(task), {
    status: 202,
    headers: {
      location: `/v1/tasks/${task.taskId}`,
      ...(isAsync ? { 'preference-applied': 'respond-async' } : {}),
      ...(replayed ? { [REPLAYED]: 'true' } : {}),
    },
  });

/** The OpenAPI entries of what only relay channels serve. The vendor reads all other members. */

const MODEL = { type: 'string', description: 'A model of a relay channel.' } as const;
const STREAM = { type: 'boolean', description: 'Respond with a stream of events.' } as const;
const FILE = { type: 'string', format: 'binary' } as const;

const body = (required: readonly string[], properties: Record<string, unknown>) => ({
  type: 'object' as const,
  required: ['model', ...required],
  properties: { model: MODEL, ...properties },
  additionalProperties: true,
});

type Summary = {
  tag: string;
  operationId: string;
  summary: string;
  /** Content types of the body. */
  types?: readonly string[];
  /** Responses besides 200, by status. */
  others?: Record<string, object>;
};

const operation = (
  { tag, operationId, summary, types = ['application/json'], others = {} }: Summary,
  schema: ReturnType<typeof body>,
  answers: Record<string, object>,
) => ({
  tags: [tag],
  operationId,
  summary,
  requestBody: { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) },
  responses: {
    '200': { description: 'The vendor’s response, unchanged; for a plugin’s model, the gateway’s', content: answers },
    ...others,
  },
});

/** With "Prefer: respond-async" or "background": true. */
const ACCEPTED = {
  '202': {
    description: 'The task that makes them; follow it at /v1/tasks/{id}',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Task' } } },
  },
};

const RELAYED = { type: 'object', additionalProperties: true } as const;
const JSON_ANSWER = { 'application/json': { schema: RELAYED } };
const IMAGES = { 'application/json': { schema: { anyOf: [RELAYED, { $ref: '#/components/schemas/ImageList' }] } } };
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } };

const RELAYED_OPERATIONS = {
  chat: operation(
    { tag: 'Chat', operationId: 'createChatCompletion', summary: 'Create a chat completion' },
    body(['messages'], {
      messages: { type: 'array', items: { type: 'object', additionalProperties: true } },
      stream: STREAM,
      max_completion_tokens: { type: ['integer', 'null'], description: 'Maximum output tokens; all are reserved.' },
    }),
    { ...JSON_ANSWER, ...EVENTS },
  ),
  embedding: operation(
    { tag: 'Embeddings', operationId: 'createEmbeddings', summary: 'Create embeddings' },
    body(['input'], { input: { description: 'A string, or a list of strings or of lists of tokens.' } }),
    JSON_ANSWER,
  ),
  image: operation(
    { tag: 'Images', operationId: 'createImages', summary: 'Create images', others: ACCEPTED },
    body(['prompt'], {
      prompt: { type: 'string' },
      n: {
        type: ['integer', 'null'],
        minimum: 1,
        description: 'Number of images; the reservation covers all of them.',
      },
    }),
    { ...IMAGES, ...EVENTS },
  ),
  image_edit: operation(
    {
      ...{ tag: 'Images', operationId: 'editImages', summary: 'Edit images', others: ACCEPTED },
      types: ['multipart/form-data', 'application/json'],
    },
    body(['prompt'], { prompt: { type: 'string' }, image: FILE, mask: FILE }),
    { ...IMAGES, ...EVENTS },
  ),
  speech: operation(
    { tag: 'Audio', operationId: 'createSpeech', summary: 'Text to speech' },
    body(['input'], { input: { type: 'string' }, voice: { description: 'The name of a voice.' } }),
    { 'audio/*': { schema: FILE }, ...EVENTS },
  ),
  transcription: operation(
    {
      tag: 'Audio',
      operationId: 'createTranscription',
      summary: 'Transcribe audio',
      types: ['multipart/form-data'],
    },
    body(['file'], { file: FILE, response_format: { type: 'string' } }),
    { ...JSON_ANSWER, 'text/plain': { schema: { type: 'string' } }, ...EVENTS },
  ),
};
