import { Elysia } from 'elysia';
import type { ApiPrincipal } from '../../auth/index.ts';
import { isObject, type JsonObject } from '../../kernel/index.ts';
import { isRelayId } from '../../relay/index.ts';
import { requestedModel, submittedObject, taskCost, taskErrors, taskObject } from '../../tasks/index.ts';
import { readClientRequest } from '../bodies/read-client-request.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { accessEnded, openStream, sendEvents } from '../responses/send-events.ts';
import {
  answers,
  answersDeleted,
  answersPage,
  answersQuote,
  downloads,
  limitsLinks,
  TASK_REQUEST,
  waits,
} from './answer-schemas.ts';
import { readCursor, taskQuery, toPage, toRelayPage } from './list-pages.ts';
import { relayedResponse } from './relay-requests.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';
import { CONTENT_ANSWERS, type ContentScope, contentResponse, sendContent } from './send-content.ts';
import { answerSubmitted, readWait, waitForChange, waitWithAccess, withQueuePosition } from './wait-for-change.ts';

/**
 * The generic task API: submit to a plugin by its key, read, list artifacts, fetch their content.
 */
export function taskRoutes(kit: Kit, deps: V1Deps) {
  const { relay, results, surfaces, tasks } = deps;

  /** The caller's own task, whose artifacts are wanted: relayed requests have none. */
  async function ownWithArtifacts(api: ApiPrincipal, id: string): ReturnType<typeof tasks.own> {
    if (isRelayId(id)) await relay.tasks.refuseArtifacts({ caller: toCaller(api), id });
    return tasks.own(api.user.id, id);
  }

  const sendArtifact = ({ params, ...scope }: ContentScope & { params: { task_id: string; key: string } }) =>
    sendContent(results, scope, {
      artifact: { taskId: params.task_id, artifactKey: params.key },
      byKey: async (api, client) =>
        contentResponse(
          await results.content(await ownWithArtifacts(api, params.task_id), { key: params.key }, client),
          'key',
        ),
    });

  const revokeLinks = async ({ params, api }: { params: { task_id: string; key?: string }; api: ApiPrincipal }) => {
    await results.revokeLinks(await ownWithArtifacts(api, params.task_id), params.key);
    return { id: params.task_id, object: 'task.links.deleted' as const, deleted: true };
  };

  return new Elysia({ normalize: false, tags: ['Tasks'] })
    .use(kit)
    .post(
      '/v1/tasks/:pluginKey',
      async ({ request, params, api, origin, requestId, keepOpen, set }) => {
        const seconds = readWait(request);
        const client = await readClientRequest(request, params, fileStorage(deps, api));
        try {
          deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
          keepOpen();
          const submitted = await surfaces.submitGeneric(toCaller(api), {
            requestId,
            pluginKey: params.pluginKey,
            request: client,
          });
          if (submitted.replayed) set.headers[REPLAYED] = 'true';
          const describe = seconds === 0 ? submittedObject : taskObject;
          const toAnswer = (task: Omit<typeof submitted, 'replayed'>) =>
            withQueuePosition<object>(deps, task, { object: describe(task), set });
          return await answerSubmitted(deps, { request, api, set }, { submitted, seconds, toAnswer });
        } finally {
          await client.release();
        }
      },
      {
        apiKey: true,
        modelRequest: true,
        bodyLimit: 'submission',
        detail: {
          operationId: 'submitTask',
          summary: 'Submit a task to a plugin',
          ...waits,
          ...TASK_REQUEST,
          ...answers('The task; with "Prefer: wait" as it is after that', 'SubmittedTask', 'Task'),
          'x-path': '/v1/tasks/{plugin}',
        } as object,
      },
    )
    .post(
      '/v1/tasks/:pluginKey/quote',
      async ({ request, params, api, origin, requestId }) => {
        const client = await readClientRequest(request, params, fileStorage(deps, api));
        try {
          const { body } = client;
          const model = requestedModel(client);
          deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
          if (body.kind !== 'json' || !isObject(body.value)) {
            throw taskErrors.unsupported_media({ message: 'This route requires a JSON object.' });
          }
          if (model === '') throw taskErrors.model_required({ param: 'model' });
          const { pluginKey } = params;
          const { quota, snapshot } = await surfaces.quote(toCaller(api), requestId, {
            ...{ pluginKey, model, action: '', request: body.value as JsonObject, files: body.extracted },
          });
          const cost = taskCost({ status: 'NOT_START', quota, reserved: null });
          const { facts, groupRatio } = snapshot;
          return { object: 'quote' as const, platform: pluginKey, model, facts, group_ratio: groupRatio, cost };
        } finally {
          await client.release();
        }
      },
      {
        apiKey: true,
        bodyLimit: 'submission',
        detail: {
          operationId: 'quoteTask',
          summary: 'Quote a task: what it would reserve, without sending anything',
          ...TASK_REQUEST,
          ...answersQuote,
          'x-path': '/v1/tasks/{plugin}/quote',
        } as object,
      },
    )
    .get(
      '/v1/tasks',
      async ({ query, api }) =>
        query.relayed === 'true'
          ? toRelayPage(await relay.tasks.page(api.user.id, readCursor(query)))
          : toPage(tasks, await tasks.page(api.user.id, readCursor(query)), taskObject),
      {
        apiKey: true,
        query: taskQuery,
        detail: {
          operationId: 'listTasks',
          summary: 'List tasks',
          ...answersPage('Task'),
        },
      },
    )
    .delete(
      '/v1/tasks/:task_id',
      async ({ params, api }) => {
        if (isRelayId(params.task_id)) await relay.tasks.delete({ caller: toCaller(api), id: params.task_id });
        else await tasks.delete(api.user.id, params.task_id);
        return { id: params.task_id, object: 'task.deleted' as const, deleted: true };
      },
      {
        apiKey: true,
        detail: {
          operationId: 'deleteTask',
          summary: 'Delete a task with its links and content',
          ...answersDeleted('task'),
        },
      },
    )
    .get(
      '/v1/tasks/:task_id',
      async ({ request, params, api, set }) => {
        const seconds = readWait(request);
        if (isRelayId(params.task_id)) {
          const asked = { caller: toCaller(api), id: params.task_id, waitMs: seconds * 1000 };
          const read = (left: AbortSignal) => relay.tasks.read({ ...asked, left });
          const answer = await (seconds > 0 ? waitWithAccess(deps, { request, api }, read) : read(request.signal));
          const response = relayedResponse(answer, 'api');
          if (seconds > 0 && request.headers.has('prefer'))
            response.headers.set('preference-applied', `wait=${seconds}`);
          return response;
        }
        const found =
          seconds === 0
            ? await tasks.ownSummary(api.user.id, params.task_id)
            : await waitForChange(
                deps,
                { request, api, set },
                { task: await tasks.own(api.user.id, params.task_id), seconds },
              );
        return withQueuePosition(deps, found, { object: taskObject(found), set });
      },
      {
        apiKey: true,
        detail: {
          operationId: 'retrieveTask',
          summary: 'Get a task',
          ...waits,
          ...answers('The task', 'Task'),
        },
      },
    )
    .get(
      '/v1/tasks/:task_id/events',
      async ({ request, params, api, requestId, log, keepOpen }) => {
        const access = deps.watchAccess(api, request.signal);
        const { task_id: taskId } = params;
        const events = await openStream(access, (signal) =>
          isRelayId(taskId)
            ? relay.tasks.follow({ caller: toCaller(api), id: taskId, left: signal })
            : tasks.follow(toCaller(api), { taskId, left: signal, requestId }),
        );
        const onEnd = keepOpen();
        const onFailure = (error: unknown) => log.warn({ err: error, task_id: taskId }, 'task event stream failed');
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
          operationId: 'followTask',
          summary: "Stream a task's progress as server-sent events",
          responses: { '200': { description: 'Each event carries the task', content: { 'text/event-stream': {} } } },
        },
      },
    )
    .post(
      // The router allows one name per segment: this `pluginKey` is a task's id.
      '/v1/tasks/:pluginKey/cancel',
      async ({ params: { pluginKey: id }, api }) =>
        isRelayId(id)
          ? relay.tasks.cancel({ caller: toCaller(api), id })
          : taskObject(await tasks.cancel(api.user.id, id)),
      {
        apiKey: true,
        detail: {
          operationId: 'cancelTask',
          summary: 'Cancel a task that no vendor has accepted',
          ...answers('The task, ended', 'Task'),
          'x-path': '/v1/tasks/{task_id}/cancel',
        } as object,
      },
    )
    .get(
      '/v1/tasks/:task_id/artifacts',
      async ({ request, params, api, set }) => {
        set.headers['cache-control'] = 'private, no-store';
        const expiresIn = new URL(request.url).searchParams.get('expires_in');
        return results.artifacts(await ownWithArtifacts(api, params.task_id), expiresIn);
      },
      {
        apiKey: true,
        detail: {
          operationId: 'listArtifacts',
          summary: "List a task's artifacts with shareable links",
          ...limitsLinks,
          ...answers('The artifacts; none until the task has succeeded', 'ArtifactList'),
        },
      },
    )
    .delete('/v1/tasks/:task_id/artifacts/links', revokeLinks, {
      apiKey: true,
      detail: {
        operationId: 'revokeTaskLinks',
        summary: "Revoke all of a task's links",
        ...answersDeleted('task.links'),
      },
    })
    .delete('/v1/tasks/:task_id/artifacts/:key/links', revokeLinks, {
      apiKey: true,
      detail: {
        operationId: 'revokeArtifactLinks',
        summary: "Revoke an artifact's links",
        ...answersDeleted('task.links'),
      },
    })
    .get('/v1/tasks/:task_id/artifacts/:key/content', sendArtifact, {
      apiKeyOrCapability: true,
      detail: {
        operationId: 'downloadArtifact',
        summary: 'Download an artifact, with Range and conditional headers',
        ...downloads,
        responses: CONTENT_ANSWERS,
      },
    })
    .head('/v1/tasks/:task_id/artifacts/:key/content', sendArtifact, {
      apiKeyOrCapability: true,
      detail: {
        operationId: 'checkArtifact',
        summary: "Get an artifact's headers",
        ...downloads,
        responses: CONTENT_ANSWERS,
      },
    });
}
