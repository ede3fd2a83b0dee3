import { Elysia } from 'elysia';
import type { ApiPrincipal, Auth, DecidingIp } from '../../auth/index.ts';
import { type Caller, submittedObject, type Tasks, taskObject } from '../../tasks/index.ts';
import type { FormLimits } from '../bodies/collect-form.ts';
import { readClientRequest, requestedModel } from '../bodies/read-client-request.ts';
import type { UploadFolder } from '../bodies/upload-folder.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { CONTENT_ANSWERS, type ContentScope, contentResponse, sendContent } from './send-content.ts';
import { accessEnded, openStream, sendEvents } from './send-events.ts';

export type V1Deps = Omit<FormLimits, 'uploads'> & {
  uploads: UploadFolder;
  tasks: Tasks;
  /** Throws when the key's own lists leave out the model or the address. */
  assertKeyAllows: (request: { key: ApiPrincipal['key']; model: string; ip: DecidingIp }) => void;
  /** Ends streams with their user and key. */
  watchAccess: Auth['watchAccess'];
  /** Between two keep-alive comments of a stream. */
  heartbeatMs: number;
};

export const callerOf = (api: ApiPrincipal): Caller => ({ user: api.user, key: api.key, group: api.group });

/** Files of whoever has the key. */
export const formLimits = ({ uploads, maxFileBytes }: V1Deps, { user }: ApiPrincipal): FormLimits => ({
  uploads: uploads.of(user.id),
  maxFileBytes,
});

/**
 * The generic task API: submit to a plugin by its key, read, list artifacts, fetch their content.
 */
export function taskRoutes(kit: Kit, deps: V1Deps) {
  const { tasks } = deps;

  const sendArtifact = ({ params, ...scope }: ContentScope & { params: { taskId: string; key: string } }) =>
    sendContent(scope, { taskId: params.taskId, artifactKey: params.key }, tasks, async (api, client) =>
      contentResponse(await tasks.content(await tasks.own(api.user.id, params.taskId), params.key, client), 'key'),
    );

  return new Elysia({ name: 'v1-tasks', tags: ['Tasks'] })
    .use(kit)
    .post(
      '/v1/tasks/:pluginKey',
      async ({ request, params, api, origin, requestId, keepOpen, set }) => {
        const client = await readClientRequest(request, params, formLimits(deps, api));
        try {
          deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
          keepOpen();
          const submitted = await tasks.submitGeneric(callerOf(api), requestId, params.pluginKey, client);
          if (submitted.replayed) set.headers[REPLAYED] = 'true';
          return submittedObject(submitted);
        } finally {
          await client.release();
        }
      },
      { apiKey: true, modelRequest: true, bodyLimit: 'submission', detail: { summary: 'Submit a task to a plugin' } },
    )
    .get('/v1/tasks/:taskId', async ({ params, api }) => taskObject(await tasks.own(api.user.id, params.taskId)), {
      apiKey: true,
      detail: { summary: 'Read a task' },
    })
    .get(
      '/v1/tasks/:taskId/events',
      async ({ request, params, api, requestId, log, keepOpen }) => {
        const access = deps.watchAccess(api, request.signal);
        const events = await openStream(access, (left) => tasks.follow(callerOf(api), params.taskId, left, requestId));
        const onEnd = keepOpen();
        const onFailure = (error: unknown) => log.warn({ err: error, task_id: params.taskId }, 'an event stream broke');
        return sendEvents(access, events, {
          heartbeatMs: deps.heartbeatMs,
          lastEvent: () => ({ event: 'error', data: accessEnded() }),
          onFailure,
          onEnd,
        });
      },
      {
        apiKey: true,
        detail: {
          summary: 'Follow a task by server-sent events: task.updated, then task.finished',
          responses: { '200': { description: 'Each event carries the task', content: { 'text/event-stream': {} } } },
        },
      },
    )
    .post(
      // The router knows one name for this place of a POST; it is a task's id.
      '/v1/tasks/:pluginKey/cancel',
      async ({ params, api }) => taskObject(await tasks.cancel(api.user.id, params.pluginKey)),
      {
        apiKey: true,
        detail: { summary: 'Cancel a task that no vendor has', 'x-path': '/v1/tasks/{taskId}/cancel' } as object,
      },
    )
    .get(
      '/v1/tasks/:taskId/artifacts',
      async ({ params, api, set }) => {
        set.headers['cache-control'] = 'private, no-store';
        return tasks.artifacts(await tasks.own(api.user.id, params.taskId));
      },
      { apiKey: true, detail: { summary: 'List the artifacts of a task, each with a link that works without a key' } },
    )
    .get('/v1/tasks/:taskId/artifacts/:key/content', sendArtifact, {
      apiKeyOrCapability: true,
      detail: { summary: 'Fetch an artifact; takes Range and conditional headers', responses: CONTENT_ANSWERS },
    })
    .head('/v1/tasks/:taskId/artifacts/:key/content', sendArtifact, {
      apiKeyOrCapability: true,
      detail: { summary: 'Headers of an artifact' },
    });
}
