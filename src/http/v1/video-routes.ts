import { Elysia } from 'elysia';
import type { ApiPrincipal } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import { VIDEO_LINK } from '../../results/index.ts';
import { readEdit, surfaceErrors } from '../../surfaces/index.ts';
import type { ClientRequest, DescribedTask, Tasks } from '../../tasks/index.ts';
import { readClientRequest, readRelayableRequest } from '../bodies/read-client-request.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { httpErrors } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import {
  answers,
  answersDeleted,
  answersPage,
  downloadsVariant,
  REMIX_REQUEST,
  VIDEO_REQUEST,
  waits,
} from './answer-schemas.ts';
import { type CreationScope, createVideo } from './create-video.ts';
import { cursorQuery, readCursor, toPage } from './list-pages.ts';
import { findOrRelay, forwardCreation, forwardObjectCall } from './relay-requests.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';
import { CONTENT_ANSWERS, type ContentScope, contentResponse, sendContent } from './send-content.ts';
import { answerSubmitted, readWait, waitForChange, withQueuePosition } from './wait-for-change.ts';

/** OpenAI's video API: plugins that claim `proto_video` serve it, the relay serves other models. */
export function videoRoutes(kit: Kit, deps: V1Deps) {
  const { relay, results, surfaces, tasks } = deps;

  const describeCreated = async (task: DescribedTask) => (await surfaces.describeVideos(task.userId))(task);

  type VideoScope = ContentScope & { params: { task_id: string }; keepOpen: () => () => void };
  const sendVideo = ({ params, keepOpen, ...scope }: VideoScope): Promise<Response> => {
    const { request, headersOnly } = scope;
    const id = params.task_id;
    return sendContent(results, scope, {
      artifact: { taskId: id, artifactKey: VIDEO_LINK },
      byKey: (api, client) =>
        findOrRelay(
          async () => {
            const variant = new URL(request.url).searchParams.get('variant') || 'video';
            return contentResponse(await results.content(await ownVideo(tasks, api, id), { variant }, client), 'key');
          },
          () =>
            forwardObjectCall(
              relay,
              { request, api, keepOpen },
              { kind: 'video', id, operation: 'content', headersOnly },
            ),
        ),
    });
  };

  /** Makes a new video from a finished one, which `read` finds in the request. */
  async function remix(
    { request, api, origin, requestId, keepOpen, set }: CreationScope,
    read: (client: ClientRequest) => { id: string; client: ClientRequest },
  ) {
    const seconds = readWait(request);
    const { client: sent, assertForPlugin } = await readRelayableRequest(request, fileStorage(deps, api));
    const assertKeyAllows = (model: string) => deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
    try {
      const { id, client: found } = read(sent);
      const client = { ...found, params: { task_id: id } };
      return await findOrRelay(
        async () => {
          const of = await ownVideo(tasks, api, id);
          assertKeyAllows(of.properties.originModelName);
          assertForPlugin();
          keepOpen();
          const submitted = await surfaces.remixVideo(toCaller(api), requestId, { of, request: client });
          if (submitted.replayed) set.headers[REPLAYED] = 'true';
          const toAnswer = async (task: Omit<typeof submitted, 'replayed'>) =>
            withQueuePosition(deps, task, { object: await describeCreated(task), set });
          return answerSubmitted(deps, { request, api, set }, { submitted, seconds, toAnswer });
        },
        async () => {
          const source = await relay.remixSource(api.user.id, id);
          assertKeyAllows(source.model);
          keepOpen();
          return forwardCreation(relay, { kind: 'video', request, api, requestId, client, remix: source });
        },
      );
    } finally {
      await sent.release();
    }
  }

  return new Elysia({ normalize: false, tags: ['Videos'] })
    .use(kit)
    .post('/v1/videos', (scope) => createVideo(deps, scope, { describe: describeCreated }), {
      apiKey: true,
      modelRequest: true,
      bodyLimit: 'relay',
      detail: {
        operationId: 'createVideo',
        summary: 'Create a video',
        ...waits,
        ...VIDEO_REQUEST,
        ...answers('The video', 'Video', 'RelayedVideo'),
      },
    })
    .post('/v1/videos/:task_id/remix', (scope) => remix(scope, (client) => ({ id: scope.params.task_id, client })), {
      apiKey: true,
      modelRequest: true,
      bodyLimit: 'relay',
      detail: {
        operationId: 'remixVideo',
        summary: 'Remix a video',
        ...waits,
        ...REMIX_REQUEST,
        ...answers('The new video', 'Video', 'RelayedVideo'),
      },
    })
    .get(
      '/v1/videos',
      async ({ query, api }) =>
        toPage(
          tasks,
          await tasks.page(api.user.id, { ...readCursor(query), videos: true }),
          await surfaces.describeVideos(api.user.id),
        ),
      {
        apiKey: true,
        query: cursorQuery,
        detail: {
          operationId: 'listVideos',
          summary: 'List videos',
          ...answersPage('Video'),
        },
      },
    )
    .delete(
      '/v1/videos/:task_id',
      ({ request, params: { task_id: id }, api, keepOpen }) =>
        findOrRelay(
          async () => {
            await tasks.delete(api.user.id, id);
            return { id, object: 'video.deleted' as const, deleted: true };
          },
          () => forwardObjectCall(relay, { request, api, keepOpen }, { kind: 'video', id, operation: 'delete' }),
        ),
      {
        apiKey: true,
        detail: {
          operationId: 'deleteVideo',
          summary: 'Delete a video with its links and content',
          ...answersDeleted('video'),
        },
      },
    )
    .get(
      '/v1/videos/:task_id',
      async ({ request, params, api, keepOpen, set }) => {
        const id = params.task_id;
        const seconds = readWait(request);
        return findOrRelay(
          async () => {
            const read = () => readClientRequest(request, params, fileStorage(deps, api));
            if (seconds === 0) {
              const { url } = request;
              const { task, json } = await asVideo(surfaces.renderOwnVideo(api.user.id, { taskId: id, url, read }));
              if (task.status !== 'NOT_START') return jsonResponse(json);
              return withQueuePosition(deps, task, { object: JSON.parse(json) as object, set });
            }
            const found = await ownVideo(tasks, api, id);
            const task = await waitForChange(deps, { request, api, set }, { task: found, seconds });
            return withQueuePosition(deps, task, { object: await surfaces.renderVideo(task, await read()), set });
          },
          () => forwardObjectCall(relay, { request, api, keepOpen }, { kind: 'video', id, operation: 'retrieve' }),
        );
      },
      {
        apiKey: true,
        detail: {
          operationId: 'retrieveVideo',
          summary: 'Get a video',
          ...waits,
          ...answers('The video', 'Video', 'RelayedVideo'),
        },
      },
    )
    .post('/v1/videos/edits', (scope) => remix(scope, readEdit), {
      apiKey: true,
      modelRequest: true,
      bodyLimit: 'relay',
      detail: {
        operationId: 'editVideo',
        summary: 'Edit a video',
        ...waits,
        ...REMIX_REQUEST,
        ...answers('The new video', 'Video', 'RelayedVideo'),
      },
    })
    .post('/v1/videos/extensions', refuseExtension, {
      apiKey: true,
      detail: { hide: true },
    })
    .post('/v1/videos/:task_id', refuseUnknown, { apiKey: true, detail: { hide: true } })
    .get('/v1/videos/:task_id/content', sendVideo, {
      apiKeyOrCapability: true,
      detail: {
        operationId: 'downloadVideo',
        summary: 'Download a video, with Range and conditional headers',
        ...downloadsVariant,
        responses: CONTENT_ANSWERS,
      },
    })
    .head('/v1/videos/:task_id/content', sendVideo, {
      apiKeyOrCapability: true,
      detail: {
        operationId: 'checkVideo',
        summary: "Get a video's headers",
        ...downloadsVariant,
        responses: CONTENT_ANSWERS,
      },
    });
}

/** Other methods take the path; what is posted there is an operation that does not exist. */
const refuseUnknown = (): never => {
  throw httpErrors.not_found();
};

const refuseExtension = (): never => {
  throw surfaceErrors.extension_unsupported();
};

const jsonResponse = (json: string): Response =>
  new Response(json, { headers: { 'content-type': 'application/json;charset=utf-8' } });

/** The caller's own task. A missing one is `not_found`, as OpenAI's API calls it. */
export const ownVideo = (tasks: Tasks, api: ApiPrincipal, id: string): ReturnType<Tasks['own']> =>
  asVideo(tasks.own(api.user.id, id));

async function asVideo<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AppError && error.code === 'tasks.task_not_found') {
      throw httpErrors.not_found({ message: 'There is no such video.' });
    }
    throw error;
  }
}
