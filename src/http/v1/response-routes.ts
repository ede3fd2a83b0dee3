import { Elysia } from 'elysia';
import { httpErrors } from '../errors.ts';
import type { Kit } from '../kit.ts';
import { isJsonType, mediaType } from '../read-body.ts';
import { REPLAYED } from '../response-headers.ts';
import { createRelayed, forwardRelayed, orRelayed } from './answer-relayed.ts';
import { readClientRequest, readRelayableRequest, requestedModel } from './read-client-request.ts';
import { type ServerEvent, sendEvents } from './send-events.ts';
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

/** OpenAI's responses API over plugins that claim `proto_responses`, and over the relay for other models. */
export function responseRoutes(kit: Kit, deps: V1Deps) {
  const { tasks } = deps;
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
        const { client, assertForPlugin } = await readRelayableRequest(request, formLimits(deps, api));
        try {
          deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
          const onEnd = keepOpen();
          const relayed = await createRelayed(tasks, 'response', { request, api, requestId }, client);
          if (relayed) return relayed;
          assertForPlugin();
          const answer = await tasks.createResponse(callerOf(api), requestId, client);
          if (answer.replayed) set.headers[REPLAYED] = 'true';
          if (answer.kind === 'object') return answer.response;
          return sendEvents(request.signal, framed(answer.events), {
            heartbeatMs: deps.heartbeatMs,
            onFailure: (error) => log.error({ err: error }, 'the stream of a response broke'),
            onEnd,
          });
        } finally {
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
        return orRelayed(
          () => tasks.retrieveResponse(api.user.id, params.response_id, client),
          () =>
            forwardRelayed(tasks, 'response', { request, api, keepOpen }, params.response_id, {
              operation: 'retrieve',
            }),
        );
      },
      { apiKey: true, detail: { summary: 'Read a response' } },
    );
}

async function* framed(events: AsyncIterable<{ type: string }>): AsyncGenerator<ServerEvent, void, undefined> {
  for await (const data of events) yield { event: data.type, data };
}
