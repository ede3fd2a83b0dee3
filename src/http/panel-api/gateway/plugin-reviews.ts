/**
 * `/api/plugin/task/:key/`: reviews of a version before it serves, which write nothing (`diff`,
 * `preview`, dry runs), and the move of a plugin's channels, prices and tasks to another (`move`).
 */
import { Elysia, t } from 'elysia';
import type { Billing } from '../../../billing/index.ts';
import { AppError, type Json, sentence, userOwner } from '../../../kernel/index.ts';
import type { PluginMove, PluginService } from '../../../plugins/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { describeDiff, describeReview } from './describe-plugin.ts';
import { activateOptions } from './plugins.ts';

const version = (description: string) => t.String({ minLength: 1, maxLength: 200, description });

type ReviewDeps = { plugins: PluginService; billing: Billing; audit: RecordAudit };

export function pluginReviewRoutes(kit: Kit, { plugins, billing, audit }: ReviewDeps) {
  return new Elysia({ normalize: false, tags: ['Plugins'] })
    .use(kit)
    .use(pluginMoveRoutes(kit, { plugins, audit }))
    .get(
      '/api/plugin/task/:key/diff',
      async ({ params, query }) => ok(describeDiff(await plugins.diff(params.key, query.from, query.to))),
      {
        root: true,
        query: strictObject({
          from: version('A stored version, or factory: the built-in one.'),
          to: version('A stored version, or factory.'),
        }),
        detail: {
          summary: 'Compare two versions',
          description:
            'source is a unified diff, hunks are its parts; texts with too little in common appear as a full replacement. manifest lists each different value by JSON pointer; it is null if one of the sources does not pass the checks.',
        },
      },
    )
    .post(
      '/api/plugin/task/:key/preview',
      async ({ params: { key }, body, panel }) => {
        const { version: stored, source } = body;
        if ((stored === undefined) === (source === undefined))
          throw fieldError('version', 'wrong_value', sentence('http.version_or_source'));
        const { share_models: shareModels } = body;
        const previewed = { ...(source === undefined ? { version: stored ?? '' } : { source }), shareModels };
        return ok(describeReview(billing, key, await plugins.preview(key, previewed, userOwner(panel.user.id))));
      },
      {
        root: true,
        bodyLimit: 'source',
        body: strictObject({
          version: t.Optional(version('A stored version, or factory: the built-in one.')),
          source: t.Optional(
            t.String({ minLength: 1, maxLength: 2 * 1024 * 1024, description: 'A module that is not stored.' }),
          ),
          share_models: activateOptions.share_models,
        }),
        detail: {
          summary: 'Preview an activation',
          description:
            'Compared with the serving version: hosts, models, the models it is narrowed to (narrowed_models; null: all), routes, protocols, channel types, usage facts. prices lists prices of models that disappear (orphaned), prices that read facts which are no longer declared (undeclared), and models without a price (unpriced). channels would serve fewer models; conflict would refuse the activation. replay parses the last 20 stored answers with both versions and marks those whose status changes.',
        },
      },
    )
    .post(
      '/api/plugin/task/:key/dryrun',
      async ({ params, body, panel }) => {
        const run = { ...body, args: (body.args ?? []) as Json[] };
        return ok(await plugins.dryRun(params.key, run, userOwner(panel.user.id)));
      },
      {
        root: true,
        bodyLimit: 'arguments',
        body: strictObject({
          hook: t.String({ minLength: 1, maxLength: 200, description: 'The name of an export.' }),
          member: t.Optional(
            t.String({ maxLength: 200, description: 'A member of the export; the same as a path with one entry.' }),
          ),
          path: t.Optional(
            t.Array(t.String({ maxLength: 200 }), {
              maxItems: 8,
              description: 'The path from the export to the function.',
            }),
          ),
          args: t.Optional(
            t.Array(t.Unknown(), {
              maxItems: 64,
              description: 'At most 1 MiB of JSON, together with the rest of the body.',
            }),
          ),
          version: t.Optional(version('A stored version or factory. Default: the active one, otherwise factory.')),
        }),
        detail: {
          summary: 'Dry-run a hook, without sending a request',
          description:
            'Returns {result, console, ms}. A failing hook is PLUGIN_HOOK_FAILED (422, details: kind, console, line, column).',
        },
      },
    );
}

type MoveDeps = { plugins: PluginService; audit: RecordAudit };

const to = t.String({
  minLength: 1,
  maxLength: 30,
  description: 'The key of the plugin that replaces it: stored or built in.',
});

/** One plugin takes the place of another under a key of its own. */
function pluginMoveRoutes(kit: Kit, { plugins, audit }: MoveDeps) {
  return new Elysia({ normalize: false, tags: ['Plugins'] })
    .use(kit)
    .get(
      '/api/plugin/task/:key/move',
      async ({ params, query }) => ok(describeMove(await plugins.previewMove(params.key, query.to))),
      {
        root: true,
        query: strictObject({ to }),
        detail: {
          summary: 'Preview replacing this plugin with another',
          description:
            'channels with the models that they would lose, prices (kept: the other plugin has one of its own for the model), lost_routes. Tasks stay with the versions that began them and are found under the new key.',
        },
      },
    )
    .post(
      '/api/plugin/task/:key/move',
      async ({ params: { key }, body, panel, origin }) => {
        const move = await withFreshMove(() => plugins.move({ from: key, ...body }));
        await audit(
          { panel, origin },
          {
            action: 'plugin.move',
            target: `plugin:${key}`,
            detail: { before: move.from, after: move.to, channels: move.channels.map(({ id }) => id) },
          },
        );
        return ok(describeMove(move));
      },
      {
        root: true,
        body: strictObject({
          to,
          digest: t.String({ maxLength: 200, description: 'That of the preview that you have read.' }),
        }),
        detail: {
          summary: 'Replace this plugin with another',
          description:
            'Channels, prices and legacy channel types follow, and its tasks are found under the new key, in one step; this plugin is switched off. The way back is the same move from the other key. PLUGIN_MOVE_OUTDATED (409, details.move): it would change something else now, and nothing has changed. PLUGIN_CONFLICT: a third plugin has what the other one claims.',
        },
      },
    );
}

const describeMove = (move: PluginMove) => ({
  from: move.from,
  to: move.to,
  channels: move.channels,
  prices: move.prices,
  lost_routes: move.lostRoutes,
  unfinished_tasks: move.unfinishedTasks,
  conflict: move.conflict,
  digest: move.digest,
});

async function withFreshMove<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'plugins.move_outdated') throw error;
    const { move } = error.details as { move: PluginMove };
    throw new AppError(error.code, error.kind, { message: error, details: { move: describeMove(move) } });
  }
}
