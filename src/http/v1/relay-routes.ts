import { Elysia } from 'elysia';
import type { ApiPrincipal, RequestOrigin } from '../../auth/index.ts';
import { requestedModel } from '../../tasks/index.ts';
import { readRelayableRequest } from '../bodies/read-client-request.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { fileStorage } from './caller.ts';
import { RELAYED_OPERATIONS } from './describe-relayed.ts';
import { createRelayed, type RelayedKind } from './relay-requests.ts';
import type { V1Deps } from './types.ts';

type CreationScope = {
  request: Request;
  api: ApiPrincipal;
  origin: Pick<RequestOrigin, 'decidingIp'>;
  requestId: string;
  keepOpen: () => void;
};

/** Operations of OpenAI's API that no plugin serves, on models of a relay channel. */
export function relayRoutes(kit: Kit, deps: V1Deps) {
  const { tasks, watchAccess } = deps;

  /** Answers with what the vendor of a relay channel makes of the request. */
  async function relay(kind: RelayedKind, { request, api, origin, requestId, keepOpen }: CreationScope) {
    const { client: read } = await readRelayableRequest(request, fileStorage(deps, api));
    const access = watchAccess(api, request.signal);
    const client = { ...read, signal: access.signal };
    let answer: Response | undefined;
    try {
      const model = requestedModel(client);
      deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
      tasks.relay.assertTakes(kind, model);
      keepOpen();
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
