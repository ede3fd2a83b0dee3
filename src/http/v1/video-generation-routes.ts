import { Elysia } from 'elysia';
import { isObject, type JsonObject, parseJson } from '../../kernel/index.ts';
import { generationObject, readGeneration } from '../../surfaces/index.ts';
import { readClientRequest } from '../bodies/read-client-request.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { answers, GENERATION_REQUEST, waits } from './answer-schemas.ts';
import { type CreationScope, createVideo } from './create-video.ts';
import { findOrRelay, forwardObjectCall } from './relay-requests.ts';
import { fileStorage, type V1Deps } from './route-dependencies.ts';
import { ownVideo } from './video-routes.ts';
import { readWait, waitForChange, withQueuePosition } from './wait-for-change.ts';

/** The video API that most community apps speak, under both of its addresses. */
export function videoGenerationRoutes(kit: Kit, deps: V1Deps) {
  const { relay, results, surfaces, tasks } = deps;

  /** A relayed video in the flat form. Addresses of its vendor are not part of it. */
  async function flatten(answer: Response): Promise<Response> {
    if (!answer.ok) return answer;
    const text = await answer.text();
    const video = parseJson(text);
    const { headers, status } = answer;
    headers.delete('content-length');
    if (!isObject(video)) return new Response(text, { status, headers });
    const base = results.publicAddress();
    const link = String(video.content_url);
    const isOurs = video.status === 'completed' && base !== undefined && link.startsWith(`${base}/`);
    const flat = generationObject({ ...(video as JsonObject), url: isOurs ? link : null });
    return new Response(JSON.stringify(flat), { status, headers });
  }

  const create = (scope: CreationScope) =>
    createVideo(deps, scope, {
      read: readGeneration,
      describe: async (task) => generationObject((await surfaces.describeVideos(task.userId))(task), task),
      relayed: flatten,
    });

  type RetrieveScope = Omit<CreationScope, 'origin'> & { params: { task_id: string } };
  const retrieve = ({ request, params, api, keepOpen, set }: RetrieveScope) =>
    findOrRelay(
      async () => {
        const found = await ownVideo(tasks, api, params.task_id);
        const seconds = readWait(request);
        const task = await waitForChange(deps, { request, api, set }, { task: found, seconds });
        const client = await readClientRequest(request, params, fileStorage(deps, api));
        const object = generationObject(await surfaces.renderVideo(task, client), task);
        return withQueuePosition(deps, task, { object, set });
      },
      async () =>
        flatten(
          await forwardObjectCall(
            relay,
            { request, api, keepOpen },
            { kind: 'video', id: params.task_id, operation: 'retrieve' },
          ),
        ),
    );

  const creation = (operationId: string) =>
    ({
      apiKey: true,
      modelRequest: true,
      bodyLimit: 'relay',
      detail: {
        ...{ operationId, summary: 'Create a video (flat format)', ...waits, ...GENERATION_REQUEST },
        ...answers('The generation', 'VideoGeneration'),
      },
    }) as const;
  const retrieval = (operationId: string) =>
    ({
      apiKey: true,
      detail: {
        ...{ operationId, summary: 'Get a video (flat format)', ...waits },
        ...answers('The generation', 'VideoGeneration'),
      },
    }) as const;

  return new Elysia({ normalize: false, tags: ['Videos'] })
    .use(kit)
    .post('/v1/video/generations', create, creation('createVideoGeneration'))
    .post('/v1/videos/generations', create, creation('createVideosGeneration'))
    .get('/v1/video/generations/:task_id', retrieve, retrieval('retrieveVideoGeneration'))
    .get('/v1/videos/generations/:task_id', retrieve, retrieval('retrieveVideosGeneration'));
}
