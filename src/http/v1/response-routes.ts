import { Elysia } from 'elysia';
import { authErrors } from '../../auth/index.ts';
import { isJsonType, mediaType } from '../bodies/read-body.ts';
import { readClientRequest, readRelayableRequest, requestedModel } from '../bodies/read-client-request.ts';
import { httpErrors } from '../errors.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { createRelayed, findOrRelay, forwardRelayed } from './relay-requests.ts';
import { accessEnded, type ServerEvent, sendEvents } from './send-events.ts';
import { callerOf, formLimits, type V1Deps } from './task-routes.ts';

/** What the gateway itself reads; all other members are the plugin's. */
const REQUEST = {
  type: 'object' as const,
  required: ['model'],
  properties: {
    model: { type: 'string' as const },
    input: { description: 'What to make: a text, or messages.' },
    stream: { type: 'boolean' as const, description: 'The answer is a stream of events.' },
    background: { type: 'boolean' as const, description: 'The answer does not wait for the task; it is read later.' },
  },
};

/**
 * OpenAI's responses API over plugins that claim `proto_responses`, and over the relay for other
 * models.
 */
export function responseRoutes(kit: Kit, deps: V1Deps) {
  const { tasks, watchAccess } = deps;
  return new Elysia({ name: 'v1-responses', tags: ['Responses'] })
    .use(kit)
    .post(
      '/v1/responses',
      async ({ request, api, origin, requestId, log, keepOpen, set }) => {
        // Before a form with files would be read.
        const type = mediaType(request.headers);
        if (type !== '' && !isJsonType(type)) {
          throw httpErrors.unsupported_media({ message: 'This route requires a JSON body.' });
        }
        const { client: read, assertForPlugin } = await readRelayableRequest(request, formLimits(deps, api));
        const access = watchAccess(api, request.signal);
        const client = { ...read, signal: access.signal };
        // Then the answer stops the watch.
        let isStream = false;
        try {
          deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
          const onEnd = keepOpen();
          const relayed = await createRelayed(tasks, 'response', { request, api, requestId, access }, client);
          if (relayed) {
            isStream = true;
            return relayed;
          }
          assertForPlugin();
          const answer = await tasks.createResponse(callerOf(api), requestId, client);
          if (answer.replayed) set.headers[REPLAYED] = 'true';
          if (answer.kind === 'object') {
            // The answer was waited for, which may have taken long.
            if (access.hasEnded()) throw authErrors.access_ended();
            return answer.response;
          }
          isStream = true;
          const { events, lastEvent } = frameEvents(answer.events);
          return sendEvents(access, events, {
            lastEvent,
            heartbeatMs: deps.heartbeatMs,
            onFailure: (error) => log.error({ err: error }, 'the stream of a response broke'),
            onEnd,
          });
        } finally {
          if (!isStream) access.stop();
          await client.release();
        }
      },
      {
        apiKey: true,
        modelRequest: true,
        bodyLimit: 'relay',
        detail: {
          summary: 'Create a response: waited for, streamed ("stream") or in the background ("background")',
          requestBody: { required: true, content: { 'application/json': { schema: REQUEST } } },
        },
      },
    )
    .get(
      '/v1/responses/:response_id',
      async ({ request, params, api, keepOpen }) => {
        keepOpen();
        const client = await readClientRequest(request, params, formLimits(deps, api));
        return findOrRelay(
          () => tasks.retrieveResponse(api.user.id, params.response_id, client),
          () =>
            forwardRelayed(tasks, 'response', { request, api, keepOpen, watchAccess }, params.response_id, {
              operation: 'retrieve',
            }),
        );
      },
      { apiKey: true, detail: { summary: 'Read a response' } },
    );
}

/**
 * The events of a response, and the error that takes the place of the next one when its client may
 * not go on.
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
