import { Elysia } from 'elysia';
import { type ApiPrincipal, authErrors, type RequestOrigin } from '../../auth/index.ts';
import { requestedModel } from '../../tasks/index.ts';
import { readRelayableRequest } from '../bodies/read-client-request.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { callerOf, fileStorage } from './caller.ts';
import { RELAYED_OPERATIONS } from './describe-relayed.ts';
import { createRelayed, type RelayedKind } from './relay-requests.ts';
import type { V1Deps } from './types.ts';

type CreationScope = {
  request: Request;
  api: ApiPrincipal;
  origin: Pick<RequestOrigin, 'decidingIp'>;
  requestId: string;
  keepOpen: () => void;
  set: { headers: Record<string, unknown> };
};

/**
 * Operations of OpenAI's API on models of a relay channel. Plugins serve one of them too: those
 * with images make them on `POST /v1/images/generations`.
 */
export function relayRoutes(kit: Kit, deps: V1Deps) {
  const { tasks, watchAccess } = deps;

  /** Answers with what the vendor of a relay channel makes of the request. */
  async function relay(kind: RelayedKind, { request, api, origin, requestId, keepOpen, set }: CreationScope) {
    const { client: read, assertForPlugin } = await readRelayableRequest(request, fileStorage(deps, api));
    const access = watchAccess(api, request.signal);
    const client = { ...read, signal: access.signal };
    let answer: Response | undefined;
    try {
      const model = requestedModel(client);
      deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
      const caller = callerOf(api);
      const isPlugins = kind === 'image' && tasks.makesImages(caller, model);
      if (isPlugins) assertForPlugin();
      else tasks.relay.assertTakes(caller, kind, model);
      keepOpen();
      if (isPlugins) {
        const { images, replayed } = await tasks.createImages(caller, requestId, client);
        // Waiting for the images may have taken long.
        if (access.hasEnded()) throw authErrors.access_ended();
        if (replayed) set.headers[REPLAYED] = 'true';
        return images;
      }
      answer = await createRelayed(tasks, { kind, request, api, requestId, client, access });
      return answer;
    } finally {
      // A streamed answer stops the access watch itself.
      if (!answer) access.stop();
      await client.release();
    }
  }
  const options = (kind: keyof typeof RELAYED_OPERATIONS) =>
    ({ apiKey: true, modelRequest: true, bodyLimit: 'relay', detail: RELAYED_OPERATIONS[kind] }) as const;

  return new Elysia({ normalize: false })
    .use(kit)
    .post('/v1/chat/completions', (scope) => relay('chat', scope), options('chat'))
    .post('/v1/embeddings', (scope) => relay('embedding', scope), options('embedding'))
    .post('/v1/images/generations', (scope) => relay('image', scope), options('image'))
    .post('/v1/images/edits', (scope) => relay('image_edit', scope), options('image_edit'))
    .post('/v1/audio/speech', (scope) => relay('speech', scope), options('speech'))
    .post('/v1/audio/transcriptions', (scope) => relay('transcription', scope), options('transcription'));
}
