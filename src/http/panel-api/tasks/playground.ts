import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal } from '../../../auth/index.ts';
import { scaleSummary, summarizePrice } from '../../../billing/index.ts';
import { AppError, type JsonObject, sentence } from '../../../kernel/index.ts';
import type { CallableModel, RequestOptions } from '../../../surfaces/index.ts';
import { type Caller, forbidUnsafeRetry } from '../../../tasks/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { panelCode } from '../../responses/errors.ts';
import { REPLAYED } from '../../responses/response-headers.ts';
import { accessEnded, openStream, sendEvents } from '../../responses/send-events.ts';
import type { RecordAudit } from '../record-audit.ts';
import { createTaskReader, describeAudited, type TaskReaderDeps } from './read-task.ts';

const submitFields = {
  plugin_key: t.String({ minLength: 1, maxLength: 30 }),
  body: t.Record(t.String(), t.Unknown(), {
    maxProperties: 1000,
    description: 'As for POST /v1/tasks/{plugin_key}; it contains the model.',
  }),
};
const submitBody = strictObject(submitFields);

type PlaygroundDeps = TaskReaderDeps & {
  audit: RecordAudit;
  /** Ends a stream when its user or session may no longer read it. */
  watchAccess: Auth['watchAccess'];
  /** Milliseconds between two keep-alive comments of a stream. */
  heartbeatMs: number;
};

/**
 * The playground: signed-in users submit tasks without an API key. Its models, prices, submission
 * and events.
 */
export function playgroundRoutes(
  kit: Kit,
  { tasks, results, surfaces, channels, audit, heartbeatMs, watchAccess }: PlaygroundDeps,
) {
  const { readDetail } = createTaskReader({ tasks, results, surfaces, channels });
  /** The task is bought: no failure to describe it may make the client order again. */
  const answerOrdered = (panel: PanelPrincipal, { taskId, replayed }: { taskId: string; replayed: boolean }) =>
    forbidUnsafeRetry(async (state) => {
      state.vendorMayHaveJob = !replayed;
      return ok(await readDetail(panel, taskId));
    });
  const readOptions = (request: Request, body: Pick<RequestOptions, 'files' | 'digests'> = {}): RequestOptions => ({
    idempotencyKey: request.headers.get('idempotency-key'),
    signal: request.signal,
    ...body,
  });

  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] })
    .use(kit)
    .get(
      '/api/model',
      ({ panel }) => ok(surfaces.models(toPanelCaller(panel)).map((model) => describeModel(model, isAdmin(panel)))),
      {
        user: true,
        detail: {
          summary: 'List your models with form schemas',
          description:
            "Those that your group and the enabled channels allow. schema is a JSON Schema of the fields that a form can offer: the prompt, the plugin's inputs and the billed facts that a request names; plugins may accept more. x-description, x-enum-labels and labels (short names of fields and facts) are texts by locale, x-unit is second or count, x-input is text, image, video or audio, x-example a value for samples. price.expression is for administrators, null for others. price.summary is the price of your group in parts, null where it is more than an amount or a table of amounts, times facts. requests are examples to begin with. blocked says why a submission would be refused now: no_price, plugin_suspended.",
        },
      },
    )
    .post(
      '/api/task',
      async ({ body, panel, origin, requestId, request, keepOpen, scope, set }) => {
        keepOpen();
        const { plugin_key: pluginKey, body: asked, repeats } = body;
        // Nobody learns by it whether another user's task exists.
        if (repeats !== undefined) await tasks.own(panel.user.id, repeats);
        const task = await surfaces.submitBody(toPanelCaller(panel), {
          requestId,
          pluginKey,
          body: asked as JsonObject,
          repeats,
          options: readOptions(request, { files: scope.body?.extracted, digests: scope.body?.digests }),
        });
        if (task.replayed) set.headers[REPLAYED] = 'true';
        else {
          const detail = { ...describeAudited(panel, task), quota: task.quota };
          await audit({ panel, origin }, { action: 'task.submit', target: `task:${task.taskId}`, detail });
        }
        return answerOrdered(panel, task);
      },
      {
        user: true,
        modelRequest: true,
        bodyLimit: 'request',
        body: strictObject({
          ...submitFields,
          repeats: t.Optional(
            t.String({ minLength: 1, maxLength: 191, description: 'Your task whose request this is, edited.' }),
          ),
        }),
        detail: {
          summary: 'Submit a task from your account',
          description:
            'Send files as data URLs in the body. It may have 16 MiB with them, and 1 MiB, 20,000 values and 64 levels without them.',
        },
      },
    )
    .post(
      '/api/task/quote',
      async ({ body, panel, requestId, scope }) => {
        const { plugin_key: pluginKey, body: request } = body;
        const { model } = request;
        if (typeof model !== 'string' || model.trim() === '')
          throw fieldError('body.model', 'required', sentence('http.body_model'));
        const asked = { pluginKey, model, action: '', request: request as JsonObject, files: scope.body?.extracted };
        const answer = await surfaces.quote(toPanelCaller(panel), requestId, asked).catch(readRefusal);
        if ('refused' in answer) return ok(answer);
        const { usd, quota, steps, snapshot } = answer;
        const { expression, groupRatio, facts } = snapshot;
        const { quota: balance } = panel.user;
        return ok({ refused: null, usd, quota, group_ratio: groupRatio, expression, facts, steps, balance });
      },
      {
        user: true,
        perUser: 'quote',
        bodyLimit: 'request',
        body: submitBody,
        detail: {
          summary: 'Quote a submission',
          description:
            'Like POST /api/price/quote with request: the hooks of the plugin run; nothing is sent, stored or charged. balance is your quota. refused is not null where the submission would be refused, and says why: a request that somebody is still typing is not a failed request.',
        },
      },
    )
    .post(
      '/api/task/:task_id/retry',
      async ({ params, panel, origin, requestId, request, keepOpen, set }) => {
        keepOpen();
        const { task_id: from } = params;
        const task = await surfaces.retry(toPanelCaller(panel), {
          requestId,
          taskId: from,
          options: readOptions(request),
        });
        if (task.replayed) set.headers[REPLAYED] = 'true';
        else {
          const detail = { ...describeAudited(panel, task), quota: task.quota, from };
          await audit({ panel, origin }, { action: 'task.retry', target: `task:${task.taskId}`, detail });
        }
        return answerOrdered(panel, task);
      },
      {
        user: true,
        modelRequest: true,
        detail: {
          summary: 'Run one of your ended tasks again',
          description:
            'At the current price. REQUEST_NOT_KEPT (409): the request had files, referred to earlier tasks or is too large.',
        },
      },
    )
    .get(
      '/api/task/:task_id/events',
      async ({ params, panel, request, requestId, log, keepOpen }) => {
        const { user } = panel;
        const watcher = { user, key: null, anyTask: isAdmin(panel) };
        const access = watchAccess(panel, request.signal);
        const events = await openStream(access, (left) =>
          tasks.follow(watcher, { taskId: params.task_id, left, requestId }),
        );
        const onEnd = keepOpen();
        const onFailure = (error: unknown) =>
          log.warn({ err: error, task_id: params.task_id }, 'task event stream failed');
        const lastEvent = () => ({ event: 'error', data: accessEnded() });
        return sendEvents(access, events, { heartbeatMs, lastEvent, onFailure, onEnd });
      },
      {
        user: true,
        detail: {
          summary: "Stream a task's progress as server-sent events",
          description: 'The events of GET /v1/tasks/{task_id}/events, for its owner and for administrators.',
          responses: { '200': { description: 'Each event carries the task', content: { 'text/event-stream': {} } } },
        },
      },
    );
}

/** Faults of the request itself, which its form shows beside the field. */
const REFUSALS: ReadonlySet<string> = new Set(['invalid', 'not_found', 'forbidden', 'unprocessable', 'unavailable']);

function readRefusal(thrown: unknown) {
  if (!(thrown instanceof AppError) || !REFUSALS.has(thrown.kind)) throw thrown;
  const { code, message, reason, params, param = null } = thrown;
  // Without a sentence of its own, the code is all there is to translate.
  const said = reason === code ? { reason: null, params: null } : { reason, params };
  return { refused: { code: panelCode(code), message, ...said, field: param } };
}

function describeModel(
  { plugin, model, actions, protoVideo, takesImages, responseModes, native, schema, ...offer }: CallableModel,
  showsExpression: boolean,
) {
  const { manifest } = plugin;
  const summary = offer.price === undefined ? null : summarizePrice(offer.price);
  return {
    plugin_key: plugin.key,
    plugin_name: manifest.name,
    plugin_version: plugin.version,
    plugin_description: manifest.description ?? null,
    /** From the manifest; an uploaded image is at /api/plugin/task/:key/icon. */
    icon: manifest.icon ?? null,
    model,
    actions,
    surfaces: {
      generic: `/v1/tasks/${plugin.key}`,
      proto_video: protoVideo ? '/v1/videos' : null,
      images: takesImages ? '/v1/images/generations' : null,
      proto_responses: responseModes ? { path: '/v1/responses', modes: responseModes } : null,
      native,
    },
    schema,
    labels: manifest.vendor?.labels ?? {},
    examples: manifest.usageExamples,
    price: {
      expression: showsExpression ? (offer.price ?? null) : null,
      priced: offer.price !== undefined,
      summary: summary && scaleSummary(summary, offer.groupRatio),
    },
    requests: (manifest.vendor?.examples ?? []).filter(({ models }) => models?.includes(model) !== false),
    channels: offer.channels,
    blocked: offer.blocked ?? null,
  };
}

/** The user pays from the account itself: there is no API key with a budget or lists. */
export const toPanelCaller = ({ user }: PanelPrincipal): Caller => ({
  user,
  key: null,
  walletId: user.walletId,
  group: user.group,
});
