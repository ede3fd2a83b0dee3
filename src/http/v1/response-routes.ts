import { Elysia } from 'elysia';
import { authErrors } from '../../auth/index.ts';
import { requestedModel } from '../../tasks/index.ts';
import { isJsonType, mediaType } from '../bodies/read-body.ts';
import { readRelayableRequest } from '../bodies/read-client-request.ts';
import { httpErrors } from '../errors.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { answersOrStreams } from './answer-schemas.ts';
import { callerOf, fileStorage } from './caller.ts';
import { frameEvents } from './frame-response-events.ts';
import { createIfRelayed } from './relay-requests.ts';
import { sendEvents } from './send-events.ts';
import type { V1Deps } from './types.ts';

/** The members that the gateway reads; the plugin reads all others. */
const REQUEST = {
  type: 'object' as const,
  required: ['model'],
  properties: {
    model: { type: 'string' as const },
    input: { description: 'What to make: a text, or messages.' },
    stream: { type: 'boolean' as const, description: 'Answer with a stream of events.' },
    background: { type: 'boolean' as const, description: 'Answer without waiting for the task; read it later.' },
  },
};

/**
 * OpenAI's responses API: plugins that claim `proto_responses` serve it, the relay serves other
 * models.
 */
export function responseRoutes(kit: Kit, deps: V1Deps) {
  const { tasks, watchAccess } = deps;
  return new Elysia({ normalize: false, tags: ['Responses'] }).use(kit).post(
    '/v1/responses',
    async ({ request, api, origin, requestId, log, keepOpen, set }) => {
      // Checked here, before a form with files would be read.
      const type = mediaType(request.headers);
      if (type !== '' && !isJsonType(type)) {
        throw httpErrors.unsupported_media({ message: 'This route requires a JSON body.' });
      }
      const { client: read, assertForPlugin } = await readRelayableRequest(request, fileStorage(deps, api));
      const access = watchAccess(api, request.signal);
      const client = { ...read, signal: access.signal };
      // A streamed answer stops the access watch itself.
      let isStream = false;
      try {
        deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
        const onEnd = keepOpen();
        const relayed = await createIfRelayed(tasks, { kind: 'response', request, api, requestId, client, access });
        if (relayed) {
          isStream = true;
          return relayed;
        }
        assertForPlugin();
        const answer = await tasks.createResponse(callerOf(api), requestId, client);
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
        operationId: 'createResponse',
        summary: 'Create a response: wait for it, stream it ("stream") or run it in the background ("background")',
        requestBody: { required: true, content: { 'application/json': { schema: REQUEST } } },
        ...answersOrStreams('The response', 'Response', 'RelayedResponse'),
      },
    },
  );
}
