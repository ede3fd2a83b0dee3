import { Elysia } from 'elysia';
import { type ApiPrincipal, authErrors } from '../../auth/index.ts';
import { isJsonType } from '../../kernel/index.ts';
import { requestedModel } from '../../tasks/index.ts';
import { mediaType } from '../bodies/read-body.ts';
import { readAddress, readClientRequest, readRelayableRequest } from '../bodies/read-client-request.ts';
import { readInteger } from '../pipeline/paging.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { httpErrors } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { accessEnded, type ServerEvent, sendEvents } from '../responses/send-events.ts';
import { answerInTime } from './answer-in-time.ts';
import { answers, answersDeleted, answersItems, answersOrStreams, pages, resumes } from './answer-schemas.ts';
import { readCursor } from './list-pages.ts';
import { findOrRelay, forwardIfRelayed, forwardObjectCall } from './relay-requests.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';

/** The members that the gateway reads; the plugin reads all others. */
const REQUEST = {
  type: 'object' as const,
  required: ['model'],
  properties: {
    model: { type: 'string' as const },
    input: { description: 'What to create: a string, or messages.' },
    stream: { type: 'boolean' as const, description: 'Respond with a stream of events.' },
    background: { type: 'boolean' as const, description: 'Respond without waiting for the task; get it later.' },
  },
};

/**
 * OpenAI's responses API: plugins that claim `proto_responses` serve it, the relay serves other
 * models.
 */
export function responseRoutes(kit: Kit, deps: V1Deps) {
  const { relay, surfaces, watchAccess } = deps;
  const { clock } = deps.prices;
  return new Elysia({ normalize: false, tags: ['Responses'] }).use(kit).post(
    '/v1/responses',
    async ({ request, api, origin, requestId, log, keepOpen, set }) => {
      // Checked here, before a form with files would be read.
      const type = mediaType(request.headers);
      if (type !== '' && !isJsonType(type)) {
        throw httpErrors.unsupported_media({ message: 'This route requires a JSON body.' });
      }
      const arrivedMs = clock.monotonicMs();
      const { client: read, assertForPlugin } = await readRelayableRequest(request, fileStorage(deps, api));
      const access = watchAccess(api, request.signal);
      const client = { ...read, signal: access.signal };
      const inTime = answerInTime(clock, request, { read: client, arrivedMs });
      /** Reads the files of the request after the answer. */
      let later: Promise<unknown> | undefined;
      // A streamed answer stops the access watch itself.
      let isStream = false;
      try {
        deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
        const onEnd = keepOpen();
        const creation = { request, api, requestId, client, access, onEnd };
        const relayed = await forwardIfRelayed(relay, { kind: 'response', ...creation });
        if (relayed) {
          isStream = true;
          return relayed;
        }
        assertForPlugin();
        const creating = surfaces.createResponse(toCaller(api), requestId, inTime.client);
        const answer = await inTime.answer(creating, (work) => {
          later = work;
        });
        if (answer.replayed) set.headers[REPLAYED] = 'true';
        if (answer.kind === 'object') {
          // Waiting for the answer may have taken long.
          if (access.hasEnded()) throw authErrors.access_ended();
          return answer.response;
        }
        isStream = true;
        const { events, lastEvent } = frameEvents(answer.events);
        return sendEvents(access, events, {
          lastEvent,
          heartbeatMs: deps.heartbeatMs,
          onFailure: (error) => log.error({ err: error }, 'response event stream failed'),
          onEnd,
        });
      } catch (error) {
        // The access ended while the client waited.
        throw access.hasEnded() ? authErrors.access_ended() : error;
      } finally {
        if (!isStream) access.stop();
        if (later) void Promise.allSettled([later]).then(client.release);
        else await client.release();
      }
    },
    {
      apiKey: true,
      modelRequest: true,
      bodyLimit: 'relay',
      detail: {
        operationId: 'createResponse',
        summary: 'Create a response: synchronous, streamed ("stream") or in the background ("background")',
        requestBody: { required: true, content: { 'application/json': { schema: REQUEST } } },
        ...answersOrStreams('The response', 'Response', 'RelayedResponse'),
      },
    },
  );
}

type Scope = {
  request: Request;
  params: { response_id: string };
  api: ApiPrincipal;
  keepOpen: () => () => void;
  log: { error(fields: object, message: string): void };
};

/** The operations on a response: of a plugin's task, else of a relay channel. */
export function responseObjectRoutes(kit: Kit, deps: V1Deps) {
  const { relay, surfaces, watchAccess } = deps;

  const forward = (scope: Scope, operation: Parameters<typeof forwardObjectCall>[2]['operation']) => () =>
    forwardObjectCall(relay, scope, { kind: 'response', id: scope.params.response_id, operation });
  const read = ({ request, params, api }: Scope) => readClientRequest(request, params, fileStorage(deps, api));

  /** The stream of a plugin's response, or what follows the event that the client has. */
  async function resume({ request, params, api, keepOpen, log }: Scope, startingAfter: number | undefined) {
    const access = watchAccess(api, request.signal);
    try {
      const client = { ...(await readClientRequest(request, params, fileStorage(deps, api))), signal: access.signal };
      const resumption = { id: params.response_id, startingAfter, request: client };
      const { events, lastEvent } = frameEvents(await surfaces.resumeResponse(toCaller(api), resumption));
      return sendEvents(access, events, {
        lastEvent,
        heartbeatMs: deps.heartbeatMs,
        onFailure: (error) => log.error({ err: error }, 'response event stream failed'),
        onEnd: keepOpen(),
      });
    } catch (error) {
      access.stop();
      throw error;
    }
  }

  return new Elysia({ normalize: false, tags: ['Responses'] })
    .use(kit)
    .get(
      '/v1/responses/:response_id',
      async (scope) => {
        const { request, params, api, keepOpen } = scope;
        const { stream, starting_after } = readAddress(request).query;
        const isStream = readFlag('stream', stream?.[0]);
        return findOrRelay<object>(
          async () => {
            if (isStream) return resume(scope, readSequence(starting_after?.[0]));
            keepOpen();
            return surfaces.retrieveResponse(api.user.id, params.response_id, await read(scope));
          },
          () =>
            forwardObjectCall(
              relay,
              { request, api, keepOpen, watchAccess: isStream ? watchAccess : undefined },
              { kind: 'response', id: params.response_id, operation: 'retrieve' },
            ),
        );
      },
      {
        apiKey: true,
        detail: {
          operationId: 'retrieveResponse',
          ...resumes,
          summary: 'Get a response, or resume its stream ("stream", "starting_after")',
          ...answersOrStreams('The response', 'Response', 'RelayedResponse'),
        },
      },
    )
    .post(
      '/v1/responses/:response_id/cancel',
      async (scope) =>
        findOrRelay(
          async () => {
            const client = await read(scope);
            try {
              return await surfaces.cancelResponse(scope.api.user.id, scope.params.response_id, client);
            } finally {
              await client.release();
            }
          },
          forward(scope, 'cancel'),
        ),
      {
        apiKey: true,
        detail: {
          operationId: 'cancelResponse',
          summary: 'Cancel a response that is still waiting or was relayed',
          ...answers('The response, canceled', 'Response', 'RelayedResponse'),
        },
      },
    )
    .get(
      '/v1/responses/:response_id/input_items',
      async (scope) => {
        const { after, limit, order } = readAddress(scope.request).query;
        return findOrRelay(
          async () =>
            surfaces.inputItems(
              scope.api.user.id,
              scope.params.response_id,
              readCursor({ after: after?.[0], limit: limit?.[0], order: order?.[0] === 'asc' ? 'asc' : 'desc' }),
            ),
          forward(scope, 'input_items'),
        );
      },
      {
        apiKey: true,
        detail: {
          operationId: 'listResponseInput',
          summary: "List a response's input items",
          ...pages,
          ...answersItems,
        },
      },
    )
    .delete(
      '/v1/responses/:response_id',
      async (scope) => {
        const id = scope.params.response_id;
        return findOrRelay<object>(
          async () => {
            await surfaces.deleteResponse(scope.api.user.id, id);
            return { id, object: 'response', deleted: true };
          },
          forward(scope, 'delete'),
        );
      },
      {
        apiKey: true,
        detail: {
          operationId: 'deleteResponse',
          summary: 'Delete a response with its links and content',
          ...answersDeleted('response'),
        },
      },
    );
}

/** @throws http.validation_failed */
/** @throws http.validation_failed */
function readFlag(param: string, value: string | undefined): boolean {
  if (value === 'true' || value === '1') return true;
  if (value === undefined || value === 'false' || value === '0') return false;
  throw httpErrors.validation_failed({ param, message: `"${param}" must be true or false.` });
}

function readSequence(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (value.length > 15) throw httpErrors.validation_failed({ param: 'starting_after' });
  return readInteger('starting_after', value, { min: 0, max: Number.MAX_SAFE_INTEGER });
}

/**
 * The events of a response as server-sent events. `lastEvent` is the error to send when the
 * client's access ends; it has the next sequence number.
 */
function frameEvents(events: AsyncIterable<{ type: string; sequence_number: number }>) {
  let sequence = 0;
  async function* framed(): AsyncGenerator<ServerEvent, void, undefined> {
    for await (const data of events) {
      sequence = data.sequence_number + 1;
      yield { event: data.type, data };
    }
  }
  const lastEvent = (): ServerEvent => ({
    event: 'error',
    data: { ...accessEnded().error, type: 'error', sequence_number: sequence },
  });
  return { events: framed(), lastEvent };
}
