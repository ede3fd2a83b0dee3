import { Elysia } from 'elysia';
import type { ApiPrincipal } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import { type Tasks, videoObject } from '../../tasks/index.ts';
import { readClientRequest, readRelayableRequest, requestedModel } from '../bodies/read-client-request.ts';
import { httpErrors } from '../errors.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { createRelayed, findOrRelay, forwardRelayed } from './relay-requests.ts';
import { CONTENT_ANSWERS, type ContentScope, contentResponse, sendContent } from './send-content.ts';
import { callerOf, formLimits, type V1Deps } from './task-routes.ts';

/** A link to an artifact of this key opens this address too (as in new-api). */
const LINKED_ARTIFACT = 'video';

/**
 * OpenAI's video API over plugins that claim `proto_video`, and over the relay for other models.
 */
export function videoRoutes(kit: Kit, deps: V1Deps) {
  const { tasks } = deps;

  type VideoScope = ContentScope & { params: { task_id: string }; keepOpen: () => void };
  const sendVideo = ({ params, keepOpen, ...scope }: VideoScope): Promise<Response> => {
    const { request, headersOnly } = scope;
    const id = params.task_id;
    return sendContent(scope, { taskId: id, artifactKey: LINKED_ARTIFACT }, tasks, (api, client) =>
      findOrRelay(
        async () => contentResponse(await tasks.content(await ownVideo(tasks, api, id), null, client), 'key'),
        () => forwardRelayed(tasks, 'video', { request, api, keepOpen }, id, { operation: 'content', headersOnly }),
      ),
    );
  };

  return new Elysia({ name: 'v1-videos', tags: ['Videos'] })
    .use(kit)
    .post(
      '/v1/videos',
      async ({ request, api, origin, requestId, keepOpen, set }) => {
        const { client, assertForPlugin } = await readRelayableRequest(request, formLimits(deps, api));
        try {
          deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
          keepOpen();
          const relayed = await createRelayed(tasks, 'video', { request, api, requestId }, client);
          if (relayed) return relayed;
          assertForPlugin();
          const submitted = await tasks.submitVideo(callerOf(api), requestId, client);
          if (submitted.replayed) set.headers[REPLAYED] = 'true';
          return videoObject(submitted);
        } finally {
          await client.release();
        }
      },
      { apiKey: true, modelRequest: true, bodyLimit: 'relay', detail: { summary: 'Create a video' } },
    )
    .get(
      '/v1/videos/:task_id',
      async ({ request, params, api, keepOpen }) => {
        const id = params.task_id;
        return findOrRelay(
          async () => {
            const task = await ownVideo(tasks, api, id);
            return tasks.renderVideo(task, await readClientRequest(request, params, formLimits(deps, api)));
          },
          () => forwardRelayed(tasks, 'video', { request, api, keepOpen }, id, { operation: 'retrieve' }),
        );
      },
      { apiKey: true, detail: { summary: 'Read a video' } },
    )
    .get('/v1/videos/:task_id/content', sendVideo, {
      apiKeyOrCapability: true,
      detail: { summary: 'Download a video; takes Range and conditional headers', responses: CONTENT_ANSWERS },
    })
    .head('/v1/videos/:task_id/content', sendVideo, {
      apiKeyOrCapability: true,
      detail: { summary: 'Headers of a video' },
    });
}

/** One's own task in the words of this surface: what is not there is `not_found`. */
async function ownVideo(tasks: Tasks, api: ApiPrincipal, id: string): ReturnType<Tasks['own']> {
  try {
    return await tasks.own(api.user.id, id);
  } catch (error) {
    if (error instanceof AppError && error.code === 'tasks.task_not_found') {
      throw httpErrors.not_found({ message: 'There is no such video.' });
    }
    throw error;
  }
}
